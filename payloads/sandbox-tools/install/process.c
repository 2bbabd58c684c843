/* SPDX-License-Identifier: MIT */
/* Hygiene of the installer. */
#include "payloads/sandbox-tools/install/process.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/sys.h"

char **process_start_installer(void)
{
	static char *nothing[] = {NULL};
	struct rlimit limit;
	char **env;

	sys_close_from(3, -1);
	umask(077);
	if (chdir("/") < 0)
		_exit(1);
	if (getrlimit(RLIMIT_CORE, &limit) == 0) {
		limit.rlim_cur = 0;
		setrlimit(RLIMIT_CORE, &limit);
	}
	env = environ;
	environ = nothing;
	return env;
}
