/* SPDX-License-Identifier: MIT */
/*
 * What is to be done to one container, decided before anything is done: the container as
 * inspected, the facts, the one rule, the payload's bytes and the place for them.
 */
#ifndef PAYLOADS_PLAN_H
#define PAYLOADS_PLAN_H

#include "conf/rule.h"
#include "payloads/catalogue.h"
#include "payloads/hosts.h"
#include "payloads/key.h"
#include "payloads/fetch.h"
#include "recon/recon.h"

/* What the caller insists on: fields that are NULL ask nothing. */
struct plan_require {
	const char *release;
	const char *wire;
	const char *sha256;
};

struct plan_opts {
	const struct conf *conf;
	const char *client; /* --client, or NULL */
	struct plan_require require;
	bool start;				 /* a container that does not run will be started */
	const struct key *key;			 /* for names that only this user knows */
	bool graft;				 /* --graft */
	bool no_pause;				 /* --no-pause */
	const struct conf_payload *const *trees; /* --with, --tree: besides those of the rule */
	size_t tree_count;
	const char *bundle;		/* --bundle, or NULL */
	const struct fetch_opts *fetch; /* --fetch: how; NULL: use no network */
	bool unpack; /* the trees are to be unpacked, so that their archives are needed */
};

/* A tree of files that is to be unpacked in the container. */
struct plan_tree {
	const struct conf_payload *what; /* borrowed */
	const char *path;		 /* of its directory; borrowed */
	const char *sha256, *tree;	 /* the digests that pin it; borrowed */
	struct store_found archive;	 /* if they are to be unpacked */
};

struct plan {
	struct eng_client *client; /* borrowed */
	const struct conf *conf;   /* borrowed */
	struct eng_container container;
	struct eng_image image;	 /* the platform, in OCI's words */
	const char *engine_arch; /* of the engine's machine; borrowed */
	struct sb_facts facts;
	const struct host *host; /* what the client expects; NULL: as any does, or not known */
	const struct conf_rule *rule;
	struct payload_bytes payload; /* the program; with a service that is a tree, our own */
	struct plan_tree *trees;      /* owned; the service comes first, if it is one */
	size_t tree_count;
	bool service_is_tree;
	char service_dir[256]; /* of conf's path */
	struct recon_home home;
	bool as_user;	     /* the service is the container's own user's, who is not root */
	bool may_graft;	     /* a helper container is allowed */
	bool must_start;     /* before anything can be run in it */
	char home_path[64];  /* "/.sbinject" */
	char user_home[300]; /* the home that such a user makes beside the program's directory */
	char keep[KEY_NAME_SIZE];      /* name of a program for root that may be run again; or "" */
	char keep_user[KEY_NAME_SIZE]; /* the same for that user */
};

#define PLAN_INIT                                                              \
	{                                                                      \
		.container = ENG_CONTAINER_INIT, .payload = PAYLOAD_BYTES_INIT \
	}
void plan_release(struct plan *plan);

/*
 * Decide. Two requests (container, image), one more where the engine's architecture is not plain,
 * and some for files where the rules ask for more than the engine's records tell; none of them
 * changes anything. Fails with the code that says why this container cannot be served.
 */
int plan_make(struct eng_client *client, const struct plan_opts *opts, const char *ref,
	struct plan *ret, struct sb_err *err) sb_must_check;

/*
 * Labelled for another architecture than the engine's machine has: such a container runs under
 * emulation, or its image's label lies.
 */
bool plan_is_foreign(const struct plan *plan);

/* The caller is inspect_ai, of whatever release, as --client says. */
bool plan_is_for_inspect_ai(const struct plan *plan);

/* The path where the client looks for the program, if that is not the rules': a further link. */
const char *plan_host_link(const struct plan *plan);

/* Whose the service is to be: "root" or "user". */
const char *plan_service(const struct plan *plan);

/* The digest that the rules pin for the service: of the program, or of the tree's archive. */
const char *plan_sha256(const struct plan *plan);

/* Only what the facts are: container, image and facts; no rule, no payload. */
int plan_look(struct eng_client *client, const struct plan_opts *opts, const char *ref,
	struct plan *ret, struct sb_err *err) sb_must_check;

#endif
