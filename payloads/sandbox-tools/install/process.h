/* SPDX-License-Identifier: MIT */
/* The surroundings in which install, uninstall and status work. */
#ifndef PAYLOADS_SANDBOX_TOOLS_INSTALL_PROCESS_H
#define PAYLOADS_SANDBOX_TOOLS_INSTALL_PROCESS_H

/* Nothing inherited but stdio, umask 077, cwd '/', no core dumps, an empty environment. Returns
   the environment as it was, for programs to be started. Call it after everything that reads
   variables or depends on the working directory. */
char **process_start_installer(void);

#endif
