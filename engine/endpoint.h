/* SPDX-License-Identifier: MIT */
/*
 * Where the engine is: the order in which users of docker and podman expect it to be found.
 * Reads the environment and the docker configuration; connects to nothing but, for the well-known
 * sockets, to see whether somebody listens.
 */
#ifndef ENGINE_ENDPOINT_H
#define ENGINE_ENDPOINT_H

#include "engine/err.h"

#include <stdbool.h>

struct eng_endpoint {
	char *socket; /* path of a Unix socket, or NULL */
	char *host;   /* "name:port" of a TCP endpoint, or NULL */
	char *prefix; /* path in front of every request ("" or "/engine") */
	char *url;    /* as shown to people, without a password: unix:///run/docker.sock */
	char *why;    /* which setting chose it */
	bool tls, tls_verify;
	char *ca, *cert, *key; /* PEM files, or NULL */
};

#define ENG_ENDPOINT_INIT \
	{                 \
		0         \
	}
void eng_endpoint_release(struct eng_endpoint *endpoint);

/*
 * In this order: `host` (--host), DOCKER_HOST, DOCKER_CONTEXT, the docker configuration's
 * currentContext, CONTAINER_HOST, then the first of the well-known sockets, rootful and rootless,
 * that accepts a connection. An explicit setting never falls through to the next. With none:
 * SB_NO_ENGINE that lists what was tried.
 */
int eng_endpoint_find(const char *host, struct eng_endpoint *ret, struct sb_err *err) sb_must_check;

/* Parse one host URL (unix, tcp, http, https); `why` is kept for messages. */
int eng_endpoint_parse(const char *url, const char *why, struct eng_endpoint *ret,
	struct sb_err *err) sb_must_check;

#endif
