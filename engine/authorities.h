/* SPDX-License-Identifier: MIT */
/* The certificates of authorities that the system trusts, wherever its distribution keeps them. */
#ifndef ENGINE_AUTHORITIES_H
#define ENGINE_AUTHORITIES_H

/* The file of them, PEM; NULL: there is none, and no server is trusted by default. */
const char *eng_authorities(void);

#endif
