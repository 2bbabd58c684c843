/* SPDX-License-Identifier: MIT */
/*
 * The flag that a signal handler of cmd/ raises to stop whatever waits, with SB_INTERRUPTED, in all
 * clients but those that clean up (eng_begin_cleanup).
 */
#ifndef ENGINE_INTERRUPT_H
#define ENGINE_INTERRUPT_H

#include <signal.h>

extern volatile sig_atomic_t eng_interrupted;

#endif
