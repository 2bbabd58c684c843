/* SPDX-License-Identifier: MIT */
/* From a request that has been read to who answers it. */
#ifndef PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_ROUTES_H
#define PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_ROUTES_H

#include "payloads/sandbox-tools/model_proxy/peer.h"

/* Answers it, or begins to. */
void routes_run(struct peer *peer);

#endif
