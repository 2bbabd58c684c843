/* SPDX-License-Identifier: MIT */
/*
 * The rules: which payload goes into which container, and where. Parsed from YAML, then constant.
 */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include "engine/facts.h"
#include "engine/err.h"
#include "engine/buf.h"

#include <stdbool.h>

enum conf_source {
	CONF_EMBEDDED,
	CONF_FILE,
	CONF_STORE,    /* by its digest, in a bundle or the cache */
	CONF_UPSTREAM, /* a tree of inspect_ai's: name and digests are in a table of sbinject's */
	CONF_OWN,      /* a tree in a file that is no rule's: its digests were just taken of it */
};

enum conf_format { CONF_PROGRAM, CONF_TREE };

struct conf_payload {
	char *name;
	enum conf_source source;
	enum conf_format format;
	char *path;	 /* CONF_FILE: absolute, or made so relative to the rules file */
	char sha256[65]; /* of the file; CONF_EMBEDDED: optional pin, else "" */
	char tree[65];	 /* CONF_TREE: digest of what is in it (payloads/lib/treesum.h) */
	char *install;	 /* CONF_TREE: the directory that it becomes, or NULL */
	char *launcher;	 /* CONF_TREE: path in it of a program, or NULL */
	int line, column;
};

/*
 * One tested fact: it holds if any of the values is the container's. Values of SB_FACT_IMAGE and
 * SB_FACT_CLIENT are globs in which `*` stands for any text; of SB_FACT_FAMILY and SB_FACT_CAPS, it
 * is enough to be one of the words; all others are compared as they are.
 */
struct conf_test {
	enum sb_fact fact;
	char *label; /* SB_FACT_LABEL: the label's key */
	char **values;
	size_t count;
};

/* The user that the service runs as. */
enum conf_service {
	CONF_UNSAID, /* CONF_AUTO for inspect_ai, CONF_ROOT for all other clients */
	CONF_ROOT,   /* root; other users cannot reach it */
	CONF_USER,   /* the user that the container itself runs as */
	CONF_AUTO,   /* root, or that user if root could not switch to others */
};

struct conf_rule {
	struct conf_test *tests;
	size_t count;			  /* 0: `when: {}`, holds for every container */
	sb_fact_set facts;		  /* union of the tests' facts */
	const struct conf_payload *use;	  /* a tree: it takes the place of the service */
	const struct conf_payload **with; /* trees beside it, NULL-terminated; or NULL */
	enum conf_service service;
	bool graft; /* a helper container may be used */
	int line, column;
};

/* Trees that one container can be given at once. */
enum { CONF_MAX_TREES = 8 };

struct conf {
	char *text;	 /* as it was parsed */
	char *file;	 /* "built-in" or the path */
	const char *why; /* which of the search places it came from: constant text */
	struct conf_payload *payloads;
	size_t payload_count;
	struct conf_rule *rules;
	size_t rule_count;
	char *path;   /* install.path: absolute, clean */
	char **links; /* install.links, NULL-terminated; NULL if there are none */
	char **start; /* arguments of the program, NULL-terminated */
};

/*
 * Load the rules in force: `file` (--config), $SBINJECT_CONFIG, $XDG_CONFIG_HOME/sbinject/
 * sbinject.yaml (default ~/.config), /etc/sbinject/sbinject.yaml, built-in. A file replaces the
 * built-in rules. Errors are SB_USAGE and read "file:line:column: what".
 */
int conf_load(const char *file, struct conf **ret, struct sb_err *err) sb_must_check;

/*
 * Parse the text of a rules file; `name` stands in messages, relative paths are below `dir` (NULL:
 * they are errors). No memory is SB_FAILED, everything else SB_USAGE.
 */
int conf_parse(const char *text, size_t len, const char *name, const char *dir, struct conf **ret,
	struct sb_err *err) sb_must_check;

/* Where the program goes if the rules do not say. */
extern const char conf_default_path[];

/* The payload of that name; NULL if the rules have none. */
const struct conf_payload *conf_payload_by_name(const struct conf *conf, const char *name);

/*
 * Why trees cannot be installed together, beside the program at the conf's path: a directory of one
 * overlaps that of the program, a link, or that of another, or is not said. SB_USAGE.
 */
int conf_check_trees(const struct conf *conf, const struct conf_payload *const *trees, size_t count,
	struct sb_err *err) sb_must_check;

/* "root", "user" or "auto"; "" for CONF_UNSAID. */
const char *conf_service_name(enum conf_service service);

void conf_free(struct conf *conf);
void conf_freep(struct conf **conf);

/* The facts that any rule tests, and what tells which program unpacks the tree that one uses: those
   that must be known to decide. */
sb_fact_set conf_facts(const struct conf *conf);

#endif
