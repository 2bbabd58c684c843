/* SPDX-License-Identifier: MIT */
/*
 * The keeper: the server's parent, which does nothing but wait for its end. What a killed server
 * leaves behind becomes the keeper's (it is their subreaper), and is killed: jobs nobody can ask
 * for any more, with all that they have started. It holds the server's lock until that is done, so
 * nobody sees the end of a server before it is over. Killing the keeper harms nobody.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_SERVER_KEEPER_H
#define PAYLOADS_SANDBOX_TOOLS_SERVER_KEEPER_H

/* Returns in a new process, which is to be the server, while this one keeps it: 'name', a word of
   its command line, becomes "keeper". The new one dies with the keeper until keeper_release().
   Where no process can be had it returns in this one, and the server goes without. */
void keeper_fork(int lock, char *name);
void keeper_release(void);

#endif
