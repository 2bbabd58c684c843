/* SPDX-License-Identifier: MIT */
/* Help texts, made from the command objects and the option table. */
#ifndef CMD_USAGE_H
#define CMD_USAGE_H

#include "cmd/cmd.h"

#include <stdio.h>

/* Help for sbinject as a whole, and for one sub-command. */
void usage_all(FILE *to);
void usage_one(const struct cmd *cmd, FILE *to);

/* Write "sbinject inject [OPTIONS] CONTAINER..." to text; returns text. */
const char *usage_line(const struct cmd *cmd, char *text, size_t size);

#endif
