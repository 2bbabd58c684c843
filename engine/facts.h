/* SPDX-License-Identifier: MIT */
/*
 * What can be known about a container and tested by a rule. recon/ fills it, conf/ matches on it.
 * An empty value is "unknown": no rule that tests the fact matches.
 */
#ifndef ENGINE_FACTS_H
#define ENGINE_FACTS_H

#include "engine/base.h"

#include <jansson.h>

enum sb_fact {
	SB_FACT_OS,	      /* "linux" */
	SB_FACT_ARCH,	      /* the OCI word: "amd64", "arm64" */
	SB_FACT_VARIANT,      /* "v8" */
	SB_FACT_LIBC,	      /* "glibc", "musl", "none" (nothing dynamic in there) */
	SB_FACT_LIBC_VERSION, /* "2.36" */
	SB_FACT_DISTRO,	      /* os-release ID: "debian" */
	SB_FACT_VERSION,      /* os-release VERSION_ID: "12" */
	SB_FACT_FAMILY,	      /* ID and ID_LIKE, blank-separated: "ubuntu debian" */
	SB_FACT_IMAGE,	      /* the image's name as the container was made from it */
	SB_FACT_USER,	      /* whose it runs as: "root", or a name or number */
	SB_FACT_CAPS,	      /* what root has in it: "chown setgid setuid", "none" */
	SB_FACT_ENGINE,	      /* "docker" or "podman" */
	SB_FACT_CLIENT,	      /* --client: "inspect_ai 0.3.252" */
	SB_FACT_LABEL,	      /* the container's labels: in `labels`, not in `value` */
	SB_FACT_COUNT
};

enum { SB_FACT_MAX = 512 };

struct sb_facts {
	char value[SB_FACT_COUNT][SB_FACT_MAX];
	json_t *labels; /* object of strings, borrowed from the inspected container; may be NULL */
};

/* A set of facts: bit 1u << fact. */
typedef unsigned sb_fact_set;

/* The key of a fact in a rule, in reports and in JSON: "os", "arch", "libc_version", … */
const char *sb_fact_name(enum sb_fact fact);

/* The fact of that key, or SB_FACT_COUNT. */
enum sb_fact sb_fact_by_name(const char *name);

/* Set one value. If it does not fit, the fact becomes unknown. */
void sb_fact_put(struct sb_facts *facts, enum sb_fact fact, const char *value);

#endif
