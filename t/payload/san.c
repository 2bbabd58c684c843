/* SPDX-License-Identifier: MIT */
/* What the program says to the sanitizers when the black-box tests run it under them: its
   environment is the tests' own, so nothing can be said there. */
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__lsan_default_options(void);
const char *__lsan_default_suppressions(void);
int __lsan_is_turned_off(void);

/* Reports go where lib.sh looks for them in the end, whoever wrote them. What the program does when
   memory is short is part of what is tested. */
const char *__asan_default_options(void)
{
	return "log_path=/mnt/report:detect_leaks=1:allocator_may_return_null=1:"
	       "handle_abort=1";
}

const char *__ubsan_default_options(void)
{
	return "print_stacktrace=1";
}

const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

/* Lives until the last writer of a pipe has gone, which may be after the server. */
const char *__lsan_default_suppressions(void)
{
	return "leak:mcp_stderr_open\n";
}

static const char *command = "";

__attribute__((constructor)) static void note(int argc, char **argv)
{
	if (argc > 1)
		command = argv[1];
}

/* Looking for leaks takes /proc, and the right to trace oneself. What runs for one request and then
   ends leaves its memory to the system. */
int __lsan_is_turned_off(void)
{
	static const char *const brief[] = {"install", "uninstall", "status", "graft"};

	for (size_t i = 0; i < sizeof(brief) / sizeof(brief[0]); i++)
		if (strcmp(command, brief[i]) == 0)
			return 1;
	if (access("/proc/self/task", F_OK) < 0)
		return 1;
	return geteuid() != 0 && prctl(PR_GET_DUMPABLE) != 1;
}
