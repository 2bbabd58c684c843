/* SPDX-License-Identifier: MIT */
/*
 * JSON from a form. In a form ' stands for ", and a % for the next argument:
 *   %j  const struct jsontext *, a value; null for what is absent
 *   %s  const char *, a string of it
 *   %b  const char * and size_t, a string of these bytes
 *   %p  struct spell_pieces *, the next piece as a string
 *   %n  size_t, a number
 *   %t  const char *, JSON as it is
 *   %'  none: ' itself
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_FORM_H
#define PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_FORM_H

#include <stdarg.h>

#include "payloads/sandbox-tools/model_proxy/spell.h"

/* Appends it: 0, -ENOMEM or -EMSGSIZE. */
int form_add(struct buf *out, enum spelling spelling, const char *form, ...);
int form_add_list(struct buf *out, enum spelling spelling, const char *form, va_list arguments);

#endif
