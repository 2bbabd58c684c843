/* SPDX-License-Identifier: MIT */
/* What is common to the interfaces of all providers: a request for the host's model, and its result
   as a reply or a stream. */
#ifndef PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_GENERATE_H
#define PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_GENERATE_H

#include "payloads/lib/jsontext.h"
#include "payloads/sandbox-tools/model_proxy/peer.h"
#include "payloads/sandbox-tools/model_proxy/provider.h"

/* Answers the peer's request, or asks the host. */
void generate_run(struct peer *peer, const struct provider *provider, const struct jsontext *body);

#endif
