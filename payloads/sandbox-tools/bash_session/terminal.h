/* SPDX-License-Identifier: MIT */
/*
 * Removes what a terminal would act on instead of showing: the escape sequences and control
 * characters of protocol §5.4. Pure; keeps TAB, LF and CR. It understands no more sequences than
 * the protocol names: of the others only the ESC goes.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_BASH_SESSION_TERMINAL_H
#define PAYLOADS_SANDBOX_TOOLS_BASH_SESSION_TERMINAL_H

#include <stddef.h>

/* Works in place on any bytes; the new length. */
size_t terminal_strip(char *text, size_t len);

#endif
