/* SPDX-License-Identifier: MIT */
/*
 * What an engine's refusal means: the exit code and, where its words are known, the cause. There is
 * one table for each situation; another wording of an engine is one more line in it. Pure.
 */
#ifndef ENGINE_REFUSAL_H
#define ENGINE_REFUSAL_H

#include "engine/err.h"

#include <stdbool.h>

enum eng_situation {
	ENG_AT_CONNECT, /* connecting failed */
	ENG_AT_INSPECT, /* a container is looked up */
	ENG_AT_PUT,	/* a tar is unpacked in it */
	ENG_AT_PAUSE,
	ENG_AT_UNPAUSE,
	ENG_AT_EXEC, /* an exec is made, started or asked for its status */
	ENG_AT_RUN,  /* an exec was started, but words came instead of output */
};

struct eng_refusal {
	int number;	   /* an HTTP status; at ENG_AT_CONNECT an errno; 0: any */
	const char *words; /* contained in the text, in upper or lower case; "": any text */
	enum sb_code code;
	const char *cause; /* NULL: report the engine's own words */
};

/* The first row of the situation's table that fits; never NULL, as the last one fits everything. */
const struct eng_refusal *eng_refusal_find(
	enum eng_situation situation, int number, const char *text);

/* Whether the text reports something that passes: another run is working on the container. */
bool eng_refusal_is_passing(const char *text);

#endif
