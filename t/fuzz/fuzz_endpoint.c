/* SPDX-License-Identifier: MIT */
/* Any bytes as the docker command's config.json and, after a NUL, as the meta.json of a context. */
#include "engine/endpoint.h"

#include "t/fuzz/check.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[] = "/tmp/sbinject-fuzz-XXXXXX";
static const char *const below[] = {"contexts", "contexts/meta", "contexts/meta/x"};
static int config = -1, meta = -1;

static void need(bool good)
{
	if (!good)
		abort();
}

static void clean_up(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	need(system(command) == 0);
}

/* In memory: a disk would be most of the work. */
static int make_file(const char *name)
{
	int fd = memfd_create("json", MFD_CLOEXEC);
	char path[128], target[64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
	need(fd >= 0 && symlink(target, path) == 0);
	return fd;
}

static void start(void)
{
	char path[128];

	need(mkdtemp(dir) != NULL);
	for (size_t i = 0; i < SB_ARRAY_SIZE(below); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, below[i]);
		need(mkdir(path, 0700) == 0);
	}
	config = make_file("config.json");
	meta = make_file("contexts/meta/x/meta.json");
	clearenv();
	setenv("DOCKER_CONFIG", dir, 1);
	/* Instead of the sockets of this machine. */
	setenv("CONTAINER_HOST", "tcp://none:1", 1);
	atexit(clean_up);
}

static void put(int fd, const uint8_t *data, size_t len)
{
	need(ftruncate(fd, 0) == 0 && pwrite(fd, data, len, 0) == (ssize_t)len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sb_auto(eng_endpoint_release) struct eng_endpoint endpoint = ENG_ENDPOINT_INIT;
	const uint8_t *cut = memchr(data, 0, size);
	size_t len = cut ? (size_t)(cut - data) : size;
	struct sb_err err = SB_ERR_INIT;

	if (config < 0)
		start();
	put(config, data, len);
	put(meta, data + len + (cut != NULL), size - len - (cut != NULL));
	if (eng_endpoint_find(NULL, &endpoint, &err) < 0) {
		check_error(&err);
		need(err.code == SB_USAGE);
		return 0;
	}
	need(endpoint.url && endpoint.why && endpoint.prefix);
	need(!endpoint.socket != !endpoint.host);
	need(endpoint.socket ? endpoint.socket[0] == '/' && !endpoint.tls_verify : *endpoint.host);
	return 0;
}
