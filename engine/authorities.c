/* SPDX-License-Identifier: MIT */
#include "engine/authorities.h"

#include "engine/base.h"

#include <stddef.h>
#include <unistd.h>

const char *eng_authorities(void)
{
	static const char *const files[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine, Arch, NixOS */
		"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, RHEL before 10 */
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* the same, and later */
		"/etc/ssl/ca-bundle.pem",			     /* SUSE */
		"/etc/ssl/cert.pem", /* Alpine without the package */
	};

	for (size_t i = 0; i < SB_ARRAY_SIZE(files); i++)
		if (access(files[i], R_OK) == 0)
			return files[i];
	return NULL;
}
