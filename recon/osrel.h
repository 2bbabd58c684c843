/* SPDX-License-Identifier: MIT */
/*
 * The os-release file: assignments with shell quoting, one on a line. Pure; nothing is expanded.
 *
 * The last assignment of a name counts, even if it is malformed: then the value is "". So is an
 * identifier that is not made of [a-z0-9._-], and a value that does not fit; only free text is cut.
 */
#ifndef RECON_OSREL_H
#define RECON_OSREL_H

#include "engine/base.h"

struct osrel {
	char id[64];
	char id_like[192]; /* the valid ones, separated by one blank */
	char version_id[64];
	char pretty_name[256]; /* free text, made printable, cut */
};

void osrel_parse(const void *data, size_t len, struct osrel *ret);

#endif
