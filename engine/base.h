/* SPDX-License-Identifier: MIT */
/*
 * The few things that every file may use: compiler attributes under names of our own, scope-bound
 * cleanup, and all limits on foreign bytes in one place. No functions beyond the trivial.
 */
#ifndef ENGINE_BASE_H
#define ENGINE_BASE_H

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define sb_printf(fmt, args) __attribute__((format(printf, fmt, args)))
#define sb_must_check __attribute__((warn_unused_result))
#define sb_auto(cleanup_fn) __attribute__((cleanup(cleanup_fn)))

#define SB_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Take the value out of an owning pointer variable: the variable becomes NULL. */
#define sb_steal(var)                              \
	(__extension__({                           \
		__typeof__(var) sb_stolen = (var); \
		(var) = NULL;                      \
		sb_stolen;                         \
	}))

static inline void sb_freep(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

static inline void sb_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define sb_autofree sb_auto(sb_freep)
#define sb_autoclose sb_auto(sb_closep)

/* Limits on what others send us. Going over one is an ordinary error; data is cut only where a
 * contract says so. */
enum {
	SB_MAX_JSON_REPLY = 16 << 20,  /* one JSON document from an engine */
	SB_MAX_LIST = 256 << 20,       /* the list of all containers, labels and all */
	SB_MAX_ERROR_REPLY = 64 << 10, /* the body of an HTTP error */
	SB_MAX_HEADERS = 64 << 10,     /* one HTTP header block */
	SB_MAX_FRAME_TEXT = 64 << 10,  /* diagnostics of an exec: the newest are kept */
	SB_MAX_RECEIPT = 64 << 10,     /* one line from our own program in a container */
	SB_MAX_FILE_PROBE = 64 << 10,  /* what recon reads of a file in a container */
	SB_MAX_CONFIG = 1 << 20,       /* a rules file, an engine's client configuration */
	SB_MAX_PAYLOAD = 64 << 20,     /* a payload from a file */
	SB_MAX_RPC = 1 << 30,	       /* one JSON-RPC reply passed through `call` */
	SB_MAX_NAME = 256,	       /* a container's name or id as given */
	SB_MAX_URL = 8 << 10,	       /* a URL, also one found in a document */
	SB_MAX_PAGE = 64 << 20,	       /* the page of a package index */
};

/* One archive that is read where it is, or downloaded. */
#define SB_MAX_ARCHIVE (1ull << 32)

#endif
