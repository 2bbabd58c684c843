/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for a container: the paths in it, and what our program does there when it is run, in
 * the words of payloads/lib/wire.h. It knows nothing of an engine; t/unit/fake_docker.c serves it.
 */
#ifndef T_UNIT_FAKE_CONTAINER_H
#define T_UNIT_FAKE_CONTAINER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { FAKE_PATH_SIZE = 320, FAKE_MAX_PATHS = 40 };

enum fake_type { FAKE_DIR, FAKE_FILE, FAKE_LINK };

struct fake_path {
	char path[FAKE_PATH_SIZE];
	enum fake_type type;
	bool ours; /* of a file: it is our program, whole */
	/* of a link: where it leads; of a state: who has made it; of a tree: its digest */
	char text[FAKE_PATH_SIZE];
};

enum fake_service { FAKE_NO_SERVICE, FAKE_OF_ROOT, FAKE_OF_USER };

struct fake_container {
	const char *place;  /* where clients look for the program */
	const char *sha256; /* of the program */
	const void *program;
	size_t size;
	struct fake_path paths[FAKE_MAX_PATHS];
	size_t count;
	enum fake_service service;
	bool overflow; /* more paths came than there is room for */
	bool is_other; /* it says that a service of another kind is there */
};

/* The path, or NULL. */
struct fake_path *fake_find(struct fake_container *container, const char *path);

/* Make it, or make it anew. */
struct fake_path *fake_make(
	struct fake_container *container, const char *path, enum fake_type type);

/* Delete it, with all that is below. Whether there was something. */
bool fake_delete(struct fake_container *container, const char *path);

/* Unpack an archive below a directory, as far as it goes: a file that is cut off is none of ours.
 */
void fake_unpack(struct fake_container *container, const char *dir, const void *tar, size_t len);

/* All that is there, as sorted lines, and whose the service is. The caller frees it. */
char *fake_describe(const struct fake_container *container);

/* What our program does first when it is run: where it was delivered it deletes itself. */
void fake_forget_delivery(
	struct fake_container *container, const char *program, const char *command);

/*
 * What our program answers to the question after it has done what it was asked for: one line, which
 * the caller frees; NULL: it has no such command.
 */
char *fake_answer(struct fake_container *container, const char *command, bool as_user,
	const json_t *question);

/*
 * The answer to `unpack` after the stream, which was that of a tree with that digest; NULL: it
 * ended before its end.
 */
char *fake_unpacked(struct fake_container *container, const json_t *question, const char *digest);

/* What it takes back when the input of `graft` ends. */
void fake_take_back(struct fake_container *container, const json_t *question);

/* What `sbinject remove` of another run does. */
void fake_remove_all(struct fake_container *container);

#endif
