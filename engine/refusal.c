/* SPDX-License-Identifier: MIT */
#include "engine/refusal.h"

#include <errno.h>
#include <string.h>

static const struct eng_refusal at_connect[] = {
	{ENOENT, "", SB_NO_ENGINE, "no such socket; is the engine running?"},
	{ECONNREFUSED, "", SB_NO_ENGINE, "nothing is listening there; is the engine running?"},
	{EACCES, "", SB_NO_ENGINE,
		"permission denied; use sudo, or join the group that owns the socket"},
	{EPERM, "", SB_NO_ENGINE,
		"permission denied; use sudo, or join the group that owns the socket"},
	{ENOTSOCK, "", SB_NO_ENGINE, "it is not a socket"},
	{EPROTOTYPE, "", SB_NO_ENGINE, "it is not a stream socket"},
	{0, "", SB_NO_ENGINE, NULL},
};

static const struct eng_refusal at_inspect[] = {
	{0, "multiple IDs", SB_NO_CONTAINER, "more than one id begins with it"},
	{0, "more than one", SB_NO_CONTAINER, "more than one id begins with it"},
	{0, "ambiguous", SB_NO_CONTAINER, "more than one id begins with it"},
	{404, "", SB_NO_CONTAINER, NULL},
	/* Podman, with 500, of one that is deleted between its own two looks. */
	{0, "no such container", SB_NO_CONTAINER, NULL},
	{0, "", SB_FAILED, NULL},
};

static const struct eng_refusal at_put[] = {
	{0, "read-only", SB_UNSUPPORTED, "its file system is read-only"},
	{0, "no space left", SB_UNSUPPORTED, "no space left"},
	{0, "quota", SB_UNSUPPORTED, "its disk quota is used up"},
	{0, "not a directory", SB_UNSUPPORTED, "part of the path is not a directory"},
	{0, "no such container", SB_NO_CONTAINER, "it no longer exists"},
	{0, "does not exist", SB_NO_CONTAINER, "it no longer exists"},
	/* Docker, of a container that is there, while something else looks into it or ends it. */
	{0, "could not find the file / in", SB_FAILED, "its root could not be opened"},
	{404, "", SB_NO_CONTAINER, NULL},
	{0, "", SB_FAILED, NULL},
};

static const struct eng_refusal at_pause[] = {
	{404, "", SB_NO_CONTAINER, NULL},
	{0, "is not running", SB_NO_CONTAINER, NULL},
	{0, "", SB_UNSUPPORTED, NULL},
};

static const struct eng_refusal at_unpause[] = {
	{404, "", SB_NO_CONTAINER, NULL},
	{0, "is not running", SB_NO_CONTAINER, NULL},
	{0, "", SB_FAILED, NULL},
};

static const struct eng_refusal at_exec[] = {
	{404, "", SB_NO_CONTAINER, NULL},
	{409, "", SB_NO_CONTAINER, NULL},
	{0, "on running containers", SB_NO_CONTAINER, NULL},
	{0, "is not running", SB_NO_CONTAINER, NULL},
	{0, "unable to find user", SB_UNSUPPORTED, NULL},
	{0, "", SB_FAILED, NULL},
};

static const struct eng_refusal at_run[] = {
	{0, "exec format error", SB_UNSUPPORTED,
		"it is for another architecture than the container's"},
	{0, "permission denied", SB_UNSUPPORTED,
		"execution is not permitted (a noexec mount, or a security policy)"},
	{0, "operation not permitted", SB_UNSUPPORTED, "a security policy forbids it"},
	{0, "no such file or directory", SB_UNSUPPORTED,
		"it no longer exists, or a mount hides it"},
	{0, "is not running", SB_NO_CONTAINER, "the container stopped"},
	{0, "not in running state", SB_NO_CONTAINER, "the container stopped"},
	{0, "cannot allocate memory", SB_UNSUPPORTED, "no memory left"},
	{0, "resource temporarily unavailable", SB_UNSUPPORTED,
		"the limit on processes is reached"},
	/* The two ways in which runc tells that its own process inside did not live to run ours. */
	{0, "procReady not received", SB_UNSUPPORTED,
		"a limit on processes or memory stopped the runtime"},
	{0, "read init-p: connection reset", SB_UNSUPPORTED,
		"a limit on processes or memory stopped the runtime"},
	{0, "no space left", SB_UNSUPPORTED, "no space left"},
	{0, "unable to find user", SB_UNSUPPORTED, "the image has no such user"},
	{0, "unable to find group", SB_UNSUPPORTED, "the image has no such group"},
	{0, "", SB_NO_SERVICE, NULL},
};

static const struct eng_refusal *const tables[] = {
	[ENG_AT_CONNECT] = at_connect,
	[ENG_AT_INSPECT] = at_inspect,
	[ENG_AT_PUT] = at_put,
	[ENG_AT_PAUSE] = at_pause,
	[ENG_AT_UNPAUSE] = at_unpause,
	[ENG_AT_EXEC] = at_exec,
	[ENG_AT_RUN] = at_run,
};

/* Not every strcasestr() finds no words in no text. */
static bool fits(const struct eng_refusal *row, int number, const char *text)
{
	return (!row->number || row->number == number) &&
	       (!*row->words || strcasestr(text, row->words));
}

const struct eng_refusal *eng_refusal_find(
	enum eng_situation situation, int number, const char *text)
{
	const struct eng_refusal *row = tables[situation];

	while (!fits(row, number, text))
		row++;
	return row;
}

static const char *const passing[] = {
	"no such file or directory",
	"paused container",
	"could not find the file / in",
	/* Podman, when what it started ended before it listened; another try tells the cause. */
	"read unixpacket",
};

bool eng_refusal_is_passing(const char *text)
{
	for (size_t i = 0; i < SB_ARRAY_SIZE(passing); i++)
		if (strcasestr(text, passing[i]))
			return true;
	return false;
}
