/* SPDX-License-Identifier: MIT */
/* Help texts, made from the command objects and the option table. */
#ifndef CMD_USAGE_H
#define CMD_USAGE_H

#include "cmd/cmd.h"

#include <stdio.h>

/* Help for sbinject as a whole, and for one sub-command. */
void usage_all(FILE *to);
void usage_one(const struct cmd *cmd, FILE *to);

/* "usage: sbinject inject [OPTIONS] CONTAINER..." without a newline. */
void usage_line(const struct cmd *cmd, FILE *to);

#endif
