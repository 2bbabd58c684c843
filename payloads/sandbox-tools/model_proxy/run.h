/* SPDX-License-Identifier: MIT */
/*
 * The bridge by which programs in the container reach a model that the host has: an HTTP server on
 * the loopback interface that speaks the interfaces of three providers, and passes on what it is
 * asked through files (channel.h). One thread, one event loop. Works until it is killed, or until
 * the host says that it cannot go on.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_RUN_H
#define PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_RUN_H

#include "payloads/lib/fail.h"

/* Works as above; 'port' in decimal and 'instance' may be NULL. Prints one line with its address
   when it listens. 0 when the host could not go on, which has been said; -1 with 'fail'. */
int proxy_run(const char *port, const char *instance, struct fail *fail);

#endif
