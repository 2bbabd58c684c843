/* SPDX-License-Identifier: MIT */
/* The table of shell sessions. */
#include "payloads/sandbox-tools/bash_session/controller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/sandbox-tools/bash_session/session.h"

#define UNREAD_PART 4

struct bash {
	struct bash_host host;
	struct memory_share unread;
	unsigned long count;
	struct bash_session *sessions;
};

struct bash *bash_open(struct loop *loop, struct children *children, size_t memory)
{
	struct bash *bash = calloc(1, sizeof(*bash));

	if (!bash)
		return NULL;
	bash->host = (struct bash_host){loop, children, &bash->unread};
	bash->unread.max = memory_part(memory, UNREAD_PART, BASH_UNREAD_MAX);
	return bash;
}

static void free_session(struct bash_session *session)
{
	bash_session_close(session);
	free(session);
}

/* Copies what a restart will need again. */
static bool keep_user(struct bash_session *session, const struct user *user)
{
	if (!user)
		return true;
	session->user = malloc(sizeof(*user));
	if (session->user)
		*session->user = *user;
	return session->user != NULL;
}

const struct bash_session *bash_new_session(
	struct bash *bash, const struct user *user, struct fail *fail)
{
	struct bash_session *session = calloc(1, sizeof(*session));

	if (!session || !keep_user(session, user)) {
		fail_set(fail, "MemoryError()");
		if (session)
			free_session(session);
		return NULL;
	}
	session->host = &bash->host;
	if (bash_session_start(session, fail) < 0) {
		free_session(session);
		return NULL;
	}
	if (bash->count == 0)
		snprintf(session->name, sizeof(session->name), "BashSession");
	else
		snprintf(session->name, sizeof(session->name), "BashSession_%lu", bash->count);
	bash->count++;
	session->next = bash->sessions;
	bash->sessions = session;
	return session;
}

struct bash_session *bash_find(struct bash *bash, const char *name)
{
	struct bash_session *session = bash->sessions;

	while (session && strcmp(session->name, name) != 0)
		session = session->next;
	return session;
}

void bash_stop(struct bash *bash)
{
	for (struct bash_session *session = bash->sessions; session; session = session->next)
		bash_session_stop(session);
}

void bash_close(struct bash *bash)
{
	struct bash_session *next;

	for (struct bash_session *session = bash->sessions; session; session = next) {
		next = session->next;
		free_session(session);
	}
	free(bash);
}
