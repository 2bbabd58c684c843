/* SPDX-License-Identifier: MIT */
/*
 * The line that sbinject writes to install, unpack, uninstall and status, and the receipt they
 * answer with: one line of ASCII JSON each. Only syntax; what is asked for is done elsewhere.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_INSTALL_SPEC_H
#define PAYLOADS_SANDBOX_TOOLS_INSTALL_SPEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "payloads/lib/fail.h"
#include "payloads/lib/wire.h"

#define SPEC_LINE_MAX 65536
#define SPEC_PATH_MAX 1024
#define SPEC_LINKS_MAX 17 /* those of a rules file, and one for the client */
#define SPEC_ARGS_MAX 16
#define SPEC_NEEDS_MAX 32
#define RECEIPT_MAX 16384

struct spec {
	json_t *doc; /* owned; the strings below borrow from it */
	const char *nonce;
	const char *home;
	const char *sha256; /* install, graft, unpack: of the program */
	const char *staged; /* install; NULL if not staged; graft: the name to be given */
	bool beside;	    /* we were delivered beside the home, not into it; see beside.h */
	int when;	    /* graft: enum wire_when */
	const char *keep;   /* install; further name in the home, NULL for none */
	const char *path;   /* install, status; optional for uninstall */
	const char *cwd;    /* optional: where the service is to be started, "/" otherwise */
	const char *born;   /* uninstall: see uninstall.c */
	bool own_home;	    /* install: we make the home and bring the program into it ourselves */
	const char *name;   /* unpack: of the tree, for people */
	const char *tree;   /* unpack: its digest */
	const char *launcher; /* unpack: path in it, NULL for none */
	bool service;	      /* unpack: it is the service, which 'start' starts */
	bool service_only;    /* uninstall: trees that are no service stay */
	bool user_gone;	      /* uninstall: what WIRE_USER_NAME is for has been removed */
	json_t *discard;      /* uninstall: array of names in the home, NULL to remove everything */
	json_t *trees;	      /* uninstall: array of paths of trees, nothing else; or NULL */
	json_t *links;	      /* array of absolute paths, NULL if none */
	json_t *start;	      /* array of arguments, NULL for start-server */
	json_t *needs;	      /* install: array of what a client runs here, NULL if none */
	int64_t deadline;
};

enum spec_kind { SPEC_INSTALL, SPEC_UNINSTALL, SPEC_STATUS, SPEC_GRAFT, SPEC_UNPACK };

/* Reads the line from 'fd' and checks every member it knows; others are ignored. 0 or -1 with
   'fail'; the nonce is set as soon as it is known, so that a failure can carry it. */
int spec_read(struct spec *spec, enum spec_kind kind, int fd, struct fail *fail);
/* Parses the line itself; pure but for the clock. */
int spec_parse(
	struct spec *spec, enum spec_kind kind, const char *text, size_t len, struct fail *fail);
void spec_release(struct spec *spec);

/* Start of a receipt: a new object with the members that all have. */
json_t *receipt_new(const struct spec *spec, int ok);
/* What was there before. */
void receipt_put_was(json_t *receipt, enum wire_was was);
/* Prints a receipt, stolen, and returns the exit status. */
int receipt_print(json_t *receipt, int status);
/* The receipt of a failure: its word is that of fail->code, or follows from fail->error. */
int receipt_fail(const struct spec *spec, const struct fail *fail);
const char *receipt_code(const struct fail *fail);

#endif
