/* SPDX-License-Identifier: MIT */
/*
 * Removing an installation. Every step may be missing already, and the record of what is to be
 * removed goes last, so that an interrupted removal can be repeated.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_INSTALL_ERASE_H
#define PAYLOADS_SANDBOX_TOOLS_INSTALL_ERASE_H

#include <jansson.h>
#include <stdbool.h>

#include "payloads/lib/fail.h"
#include "payloads/sandbox-tools/install/home.h"
#include "payloads/sandbox-tools/install/spec.h"

struct erase {
	struct home *home;
	const json_t *state;	 /* NULL if there is none */
	const struct spec *spec; /* path and links where the state says nothing */
	const char *own_digest;
	bool keep_deliveries; /* see home_erase() */
};

/* Stops the service and removes everything. 0 and the number of things removed, or -1 with
   'fail' when the service could not be stopped; then nothing was removed. */
int erase_run(const struct erase *erase, int *ret_removed, struct fail *fail);

#endif
