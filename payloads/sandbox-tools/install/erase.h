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
#include "payloads/sandbox-tools/server/place.h"

/* What the service could be started by goes first (see home_retire()), then links and program, so
   that nobody starts it again once it is stopped. */
struct erase {
	struct home *home;
	const json_t *state;	 /* NULL if there is none */
	const struct spec *spec; /* path and links where the state says nothing */
	const struct sys_self *self;
	const struct place *place; /* where the service is if the state does not say */
	const char *tmpdir;	   /* where tools may have left files; NULL for none */
	bool keep_deliveries;	   /* see home_erase() */
	bool service_only;	   /* trees that are no service stay, and the home for them */
};

/* Removes everything and stops the service. 0 and the number of things removed, or -1 with
   'fail' when the service could not be stopped or something could not be deleted; then the record
   is still there. A server of another PID namespace is none of ours and left alone. */
int erase_run(const struct erase *erase, int *ret_removed, struct fail *fail);

#endif
