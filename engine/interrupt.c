/* SPDX-License-Identifier: MIT */
#include "engine/interrupt.h"

volatile sig_atomic_t eng_interrupted;
