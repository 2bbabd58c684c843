/* SPDX-License-Identifier: MIT */
/*
 * The public face of the client for the Docker and Podman REST API: open an endpoint, look at
 * containers, read and write their file systems, run programs in them.
 *
 * A client is one connection with its state: use one per thread. Everything that waits obeys the
 * client's deadlines and the interrupt flag, and ends in one error with a code of err.h.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "engine/buf.h"
#include "engine/endpoint.h"
#include "engine/interrupt.h"
#include "engine/json.h"

#include <stdint.h>

enum eng_kind { ENG_DOCKER, ENG_PODMAN };

struct eng_client; /* opaque */

/* Once per process, before threads. */
int eng_global_init(struct sb_err *err) sb_must_check;

/*
 * Connect, ping, and settle the API version. `endpoint` must outlive the client. timeout_ms limits
 * everything done with this client from now on; 0 is no limit, except for the ping.
 */
int eng_open(const struct eng_endpoint *endpoint, int timeout_ms, struct eng_client **ret,
	struct sb_err *err) sb_must_check;
void eng_close(struct eng_client *client);
void eng_closep(struct eng_client **client);

enum eng_kind eng_client_kind(const struct eng_client *client);
const char *eng_client_kind_name(const struct eng_client *client); /* "docker", "podman" */
const char *eng_client_version(const struct eng_client *client);   /* "28.5.2"; "" if not said */
const struct eng_endpoint *eng_client_endpoint(const struct eng_client *client);

/*
 * The architecture of the engine's own machine, as an OCI word; "" if it does not say. The first
 * call makes one request.
 */
int eng_client_arch(struct eng_client *client, const char **ret, struct sb_err *err) sb_must_check;

/* Start the time limit of the next piece of work; 0 is no limit. */
void eng_begin_work(struct eng_client *client, int timeout_ms);

/* Milliseconds left until then, at most `cap`. */
int eng_time_left(const struct eng_client *client, int cap);

/*
 * From now on this client cleans up, and an interrupt no longer stops it. The time for it starts
 * with the first such call in a piece of work: all steps of the cleanup together end ENG_CLEANUP_MS
 * later. The next step may use all of that time except the last `spare_ms`, which are kept for a
 * later step.
 */
enum { ENG_CLEANUP_MS = 20 * 1000 };
void eng_begin_cleanup(struct eng_client *client, int spare_ms);

/* Whether the user asked to stop and this client obeys that. */
bool eng_is_interrupted(const struct eng_client *client);

/* ---- containers and images (container.c) ---- */

enum eng_mount_type { ENG_MOUNT_BIND, ENG_MOUNT_VOLUME, ENG_MOUNT_TMPFS, ENG_MOUNT_OTHER };

struct eng_mount {
	enum eng_mount_type type;
	const char *destination;
	const char
		*options; /* of a tmpfs: "rw,noexec,size=64k"; else the mode string; never NULL */
	bool writable;
	bool noexec; /* as far as the engine says */
};

/* An inspected container. Strings are borrowed from `doc`; absent ones are "". */
struct eng_container {
	json_t *doc;	/* owned */
	const char *id; /* 64 hex digits */
	const char *name;
	const char *state; /* "running", "paused", "exited", … in Docker's words */
	const char *image_id;
	const char *image; /* as named when the container was created */
	const char *user;  /* Config.User */
	const char *cwd;   /* Config.WorkingDir */
	const char *path;  /* the program of pid 1 */
	const char *arch;  /* of the image manifest, if the engine reports it; else "" */
	json_t *labels;	   /* borrowed, may be NULL */
	int64_t told_at;   /* when this was said: seconds since 1970 by the engine's clock, or 0 */
	bool read_only;	   /* the root file system */
	bool privileged;
	uint64_t root_caps;	  /* what root gets in it: caps.h */
	struct eng_mount *mounts; /* owned; --tmpfs entries included */
	size_t mount_count;
};

#define ENG_CONTAINER_INIT \
	{                  \
		0          \
	}
void eng_container_release(struct eng_container *container);

/*
 * Look a container up by name, id or unique id prefix; a leading slash is ignored. An unknown or
 * ambiguous reference is SB_NO_CONTAINER, one that cannot be a container's name is SB_USAGE.
 */
int eng_container_inspect(struct eng_client *client, const char *ref, struct eng_container *ret,
	struct sb_err *err) sb_must_check;

/* Whether it runs as root, by its Config.User: a name or number, and after a colon a group. */
bool eng_container_is_roots(const struct eng_container *container);

/* Whether a program can be run in it now. */
bool eng_container_runs(const struct eng_container *container);

/* How many seconds it has been running, by the engine's clock; 0 if the engine does not say. */
int64_t eng_container_uptime(const struct eng_container *container);

/* 0 when it runs; else SB_NO_CONTAINER naming the state. */
int eng_container_need_running(
	const struct eng_container *container, struct sb_err *err) sb_must_check;

/* Never started, or ended: neither paused nor about to be restarted or removed. */
bool eng_container_can_start(const struct eng_container *container);

struct eng_image {
	char os[32];
	char arch[32]; /* "" is unknown in all three */
	char variant[32];
};

/*
 * The platform that the container's image is labelled with. 1: the engine no longer has the image.
 */
int eng_image_inspect(struct eng_client *client, const struct eng_container *container,
	struct eng_image *ret, struct sb_err *err) sb_must_check;

/* All containers (running ones only unless `all`): the engine's array, a new reference. */
int eng_container_list(
	struct eng_client *client, bool all, json_t **ret, struct sb_err *err) sb_must_check;

/* ---- containers of our own (create.c) ---- */

/*
 * Create a container from `spec`, the JSON that the engine takes, without starting it; its id goes
 * to ret. 1: the name is taken. SB_UNSUPPORTED when the engine refuses.
 */
int eng_container_create(struct eng_client *client, const char *name, const json_t *spec,
	char ret[65], struct sb_err *err) sb_must_check;

/* Start it; it may be running already. If the engine refuses, fail with the code `refused`. */
int eng_container_start(struct eng_client *client, const char *id, enum sb_code refused,
	struct sb_err *err) sb_must_check;

/* Kill it if it runs, delete it and its anonymous volumes, and wait until it is gone. */
int eng_container_delete(
	struct eng_client *client, const char *id, struct sb_err *err) sb_must_check;

/* ---- the archive API (archive.c) ---- */

enum eng_type { ENG_FILE, ENG_DIR, ENG_LINK, ENG_SPECIAL };

struct eng_stat {
	enum eng_type type;
	unsigned mode; /* the twelve permission bits */
	uint64_t size;
	char link[4096]; /* of a link: its target as the engine resolved it, "" if that is longer */
};

/* lstat by HEAD. 1: nothing is there. */
int eng_archive_stat(struct eng_client *client, const char *id, const char *path,
	struct eng_stat *ret, struct sb_err *err) sb_must_check;

/*
 * Add the first max_bytes of a regular file to out by GET, following links inside the container.
 * 1: nothing is there, or it is not a regular file.
 */
int eng_archive_read(struct eng_client *client, const char *id, const char *path, size_t max_bytes,
	struct sb_buf *out, struct sb_err *err) sb_must_check;

/* Unpack an uncompressed tar below `path`, which must be a directory. */
int eng_archive_put(struct eng_client *client, const char *id, const char *path, const void *tar,
	size_t len, struct sb_err *err) sb_must_check;

/* ---- the archive API and hostile containers (hold.c) ---- */

/*
 * Docker before 29.5.1 can be made to mount a volume of a container over a directory of the host
 * while it carries out any of the requests above (race.h). Only a running container with mounts can
 * do that: it is called exposed.
 */
int eng_is_exposed(
	struct eng_client *client, const char *id, bool *ret, struct sb_err *err) sb_must_check;

/*
 * What to do about a request for an exposed container. ENG_PAUSE, the default: pause the container
 * meanwhile; if that is not possible, fail with SB_UNSUPPORTED. ENG_REFUSE: fail with
 * SB_UNSUPPORTED. ENG_DARE: make the request all the same.
 */
enum eng_caution { ENG_PAUSE, ENG_REFUSE, ENG_DARE };
void eng_set_caution(struct eng_client *client, enum eng_caution caution);

/*
 * The requests between these two calls share one pause, which begins with the first request that
 * needs it. They must all be about one container, and nothing may be run in it meanwhile. The calls
 * can be nested. eng_hold_end returns `ret`, or -1 if the container could not be unpaused.
 */
void eng_hold_begin(struct eng_client *client);
int eng_hold_end(struct eng_client *client, int ret, struct sb_err *err) sb_must_check;

/* Each request between them begins with this: pause the container now, if necessary. */
int eng_hold_for(struct eng_client *client, const char *id, struct sb_err *err) sb_must_check;

/* Whether a paused container may have been paused by another run of this program, for a moment. */
int eng_may_be_paused_by_us(struct eng_client *client, const struct eng_container *container,
	bool *ret, struct sb_err *err) sb_must_check;

/* ---- running a program (exec.c) ---- */

struct eng_exec; /* opaque: one started program with its three streams */

enum eng_exec_user {
	ENG_AS_ROOT, /* 0:0, never by a name that the container's own passwd would resolve */
	ENG_AS_USER, /* the container's own user, as for an exec that names no user */
};

/*
 * Run argv (NULL-terminated, argv[0] absolute) in "/", with the environment that the engine sets.
 */
int eng_exec_start(struct eng_client *client, const char *id, enum eng_exec_user user,
	const char *const *argv, struct eng_exec **ret, struct sb_err *err) sb_must_check;

/*
 * Attach to a container's own program before it is started; what is written waits for it.
 * eng_exec_status needs the container to exist still.
 */
int eng_exec_attach(struct eng_client *client, const char *id, struct eng_exec **ret,
	struct sb_err *err) sb_must_check;

/* Close the streams. This does not kill the program; it sees EOF on stdin. */
void eng_exec_close(struct eng_exec *exec);
void eng_exec_closep(struct eng_exec **exec);

/*
 * Send to stdin: as much of data as can be sent at once, or all of it (eng_exec_write). The next
 * call must begin with all of the data that was not sent. 1: the program has gone.
 */
int eng_exec_send(struct eng_exec *exec, const void *data, size_t len, size_t *ret_len,
	struct sb_err *err) sb_must_check;
int eng_exec_write(
	struct eng_exec *exec, const void *data, size_t len, struct sb_err *err) sb_must_check;
/*
 * The same until there is output, which is added to `out`, empty before: 1. A program that ends
 * early may leave its input where it is, and then no more of it can be sent.
 */
int eng_exec_write_until(struct eng_exec *exec, const void *data, size_t len, struct sb_buf *out,
	struct sb_err *err) sb_must_check;
int eng_exec_close_stdin(struct eng_exec *exec, struct sb_err *err) sb_must_check;

/*
 * Wait for output and add it to `out`; stderr goes to a bounded buffer (eng_exec_stderr), whose
 * oldest bytes are dropped when it is full. Returns 0 after some output or when timeout_ms passed
 * (-1: until the client's deadline), 1 at the end of the stream; an end within a frame is an error.
 */
int eng_exec_read(struct eng_exec *exec, int timeout_ms, struct sb_buf *out,
	struct sb_err *err) sb_must_check;
struct sb_buf *eng_exec_stderr(struct eng_exec *exec); /* borrowed */

/*
 * The same without waiting, for one piece of what is there. *ret_came: there was something, even if
 * nothing of it was for `out`.
 */
int eng_exec_take(struct eng_exec *exec, struct sb_buf *out, bool *ret_came,
	struct sb_err *err) sb_must_check;

/* The descriptor to poll for input. Data may be buffered already, so take until nothing comes. */
int eng_exec_fd(const struct eng_exec *exec);

/* After the end of the stream: the exit status (one more request, repeated until it is known). */
int eng_exec_status(struct eng_exec *exec, int *ret, struct sb_err *err) sb_must_check;

#endif
