/* SPDX-License-Identifier: MIT */
/* MCP over HTTP: tools that the host has, offered as servers, one per path. */
#ifndef PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_BRIDGE_H
#define PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_BRIDGE_H

#include "payloads/lib/jsontext.h"
#include "payloads/sandbox-tools/model_proxy/peer.h"

/* Answers a request, which is an object, or asks the host. */
void bridge_run(struct peer *peer, const struct jsontext *body);
/* There is no stream from the server's side. */
void bridge_refuse_get(struct peer *peer, const struct jsontext *body);

#endif
