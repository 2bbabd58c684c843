/* SPDX-License-Identifier: MIT */
/*
 * An engine that serves one fake container (t/unit/fake_container.c), and can be told to do one
 * thing wrong with one request. With it comes a clock that is put forward where a program would
 * wait. A test that includes fake_docker.c says so:
 *
 *	wrap: clock_gettime nanosleep poll eng_http_do
 */
#ifndef T_UNIT_FAKE_DOCKER_H
#define T_UNIT_FAKE_DOCKER_H

#include "t/unit/fake_container.h"
#include "t/unit/fake_engine.h"

/* The requests, by the words that tables use. */
#define FAKE_KINDS(X)               \
	X(FAKE_PING, "ping")        \
	X(FAKE_INSPECT, "inspect")  \
	X(FAKE_IMAGE, "image")      \
	X(FAKE_LOOK, "look")        \
	X(FAKE_PUT, "put")          \
	X(FAKE_EXEC, "exec")        \
	X(FAKE_START, "start")      \
	X(FAKE_ENDED, "ended")      \
	/* of a helper container */ \
	X(FAKE_CREATE, "create")    \
	X(FAKE_ATTACH, "attach")    \
	X(FAKE_LAUNCH, "launch")    \
	X(FAKE_DELETE, "delete")
#define FAKE_KIND_NAME(name, word) name,
enum fake_kind { FAKE_KINDS(FAKE_KIND_NAME) FAKE_KIND_COUNT };

enum { FAKE_MAX_LOG = 256, FAKE_MAX_EXECS = 64 };

/* What is done wrong: a row of a table in fake_docker.c. */
struct fake_harm;

struct fake_fault {
	const struct fake_harm *harm; /* NULL: nothing */
	enum fake_kind kind;
	int nth;      /* with this request of that kind */
	bool lasting; /* and with all that come after */
};

struct fake_exec {
	char path[FAKE_PATH_SIZE], command[32];
	bool as_user;
	int status;
};

struct fake_docker {
	struct fake_container container;
	struct fake_container helper;
	const char *user; /* of the container: "" is root */
	bool read_only;	  /* its root */
	bool is_gone, is_stopped;
	int started; /* how often */
	bool has_helper;
	bool spares_question; /* a fault of frames is one of the receipt after a tree, not before */
	char helper_run[40];  /* its label */
	struct fake_exec execs[FAKE_MAX_EXECS];
	size_t exec_count;

	struct fake_fault fault;
	int applied; /* times that the fault was */
	int counts[FAKE_KIND_COUNT];
	char log[FAKE_MAX_LOG][16]; /* the requests: "put", "put2" */
	size_t log_count;
	pthread_mutex_t mutex; /* of all above */
	struct fake_engine *engine;
};

#define FAKE_ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/*
 * Begin to serve, with that fault. The container is as the caller, or what was run before, has left
 * it; the counts begin anew.
 */
void fake_docker_start(struct fake_docker *docker, struct fake_fault fault);

/* To be called when no client is open any more: whatever was to be done is done then. */
void fake_docker_stop(struct fake_docker *docker);

/* The fault that a table calls so: NULL where there is none of that name. */
const struct fake_harm *fake_harm_find(const char *name);

/* It does something to the container. */
bool fake_changes(const struct fake_harm *harm);

#endif
