/* SPDX-License-Identifier: MIT */
/* Where the engine is looked for: every setting against every other, in a home of the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/endpoint.h"

#include <ftw.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static char home[64];

static const char *const variables[] = {"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG",
	"DOCKER_TLS_VERIFY", "DOCKER_TLS", "DOCKER_CERT_PATH", "CONTAINER_HOST", "XDG_RUNTIME_DIR"};

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static int clean_home(void **state)
{
	(void)state;
	return home[0] ? nftw(home, remove_one, 8, FTW_DEPTH | FTW_PHYS) : 0;
}

static int fresh_home(void **state)
{
	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(variables); i++)
		unsetenv(variables[i]);
	strcpy(home, "/tmp/sbinject-unit-XXXXXX");
	return mkdtemp(home) ? setenv("HOME", home, 1) : -1;
}

/* Write a file below the home, making its directories. */
static void put(const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", home, name);
	for (char *slash = path + strlen(home) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void put_context(const char *hash, const char *name, const char *endpoint)
{
	char path[256], text[1024];

	snprintf(path, sizeof(path), ".docker/contexts/meta/%s/meta.json", hash);
	snprintf(text, sizeof(text),
		"{\"Name\":\"%s\",\"Metadata\":{},\"Endpoints\":{\"kubernetes\":{\"Host\":\"x\"},"
		"\"docker\":%s}}",
		name, endpoint);
	put(path, text);
}

/* ---- one URL ---- */

static void test_eng_endpoint_parse__takes_urls(void **state)
{
	static const struct {
		const char *url, *socket, *host, *prefix, *shown;
		bool tls;
	} rows[] = {
		{"unix:///run/d.sock", "/run/d.sock", NULL, "", "unix:///run/d.sock", false},
		{"unix://", "/var/run/docker.sock", NULL, "", "unix://", false},
		{"/run/d.sock", "/run/d.sock", NULL, "", "unix:///run/d.sock", false},
		{"tcp://h:1234", NULL, "h:1234", "", "tcp://h:1234", false},
		{"tcp://h", NULL, "h:2375", "", "tcp://h", false},
		{"tcp://", NULL, "localhost:2375", "", "tcp://", false},
		{"http://h:80", NULL, "h:80", "", "http://h:80", false},
		{"https://h", NULL, "h:2376", "", "https://h", true},
		{"https://h:443/", NULL, "h:443", "", "https://h:443/", true},
		{"h", NULL, "h:2375", "", "h", false},
		{"h:1", NULL, "h:1", "", "h:1", false},
		{"192.0.2.1:2375", NULL, "192.0.2.1:2375", "", "192.0.2.1:2375", false},
		{"tcp://[::1]", NULL, "[::1]:2375", "", "tcp://[::1]", false},
		{"tcp://[::1]:99", NULL, "[::1]:99", "", "tcp://[::1]:99", false},
		{"https://[2001:db8::1]/x", NULL, "[2001:db8::1]:2376", "/x",
			"https://[2001:db8::1]/x", true},
		{"tcp://h:1/engine", NULL, "h:1", "/engine", "tcp://h:1/engine", false},
		{"tcp://h:1/a/b//", NULL, "h:1", "/a/b", "tcp://h:1/a/b//", false},
		{"tcp://h/p:q", NULL, "h:2375", "/p:q", "tcp://h/p:q", false},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_auto(eng_endpoint_release) struct eng_endpoint e = ENG_ENDPOINT_INIT;
		struct sb_err err = SB_ERR_INIT;

		assert_int_equal(eng_endpoint_parse(rows[i].url, "why", &e, &err), 0);
		assert_int_equal(e.socket != NULL, rows[i].socket != NULL);
		assert_int_equal(e.host != NULL, rows[i].host != NULL);
		if (e.socket)
			assert_string_equal(e.socket, rows[i].socket);
		if (e.host)
			assert_string_equal(e.host, rows[i].host);
		assert_string_equal(e.prefix, rows[i].prefix);
		assert_string_equal(e.url, rows[i].shown);
		assert_string_equal(e.why, "why");
		assert_int_equal(e.tls, rows[i].tls);
		assert_int_equal(e.tls_verify, rows[i].tls);
	}
}

static void test_eng_endpoint_parse__refuses_urls(void **state)
{
	static const struct {
		const char *url, *says;
	} rows[] = {
		{"ssh://me@host", "forward the socket"},
		{"npipe:////./pipe/docker_engine", "not supported"},
		{"fd://", "not supported"},
		{"ftp://x", "not supported"},
		{"UNIX:///x", "not supported"},
		{"unix://relative/path", "absolute path"},
		{"tcp://me@host", "user name"},
		{"tcp://me:secret@host:1", "user name"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_auto(eng_endpoint_release) struct eng_endpoint e = ENG_ENDPOINT_INIT;
		struct sb_err err = SB_ERR_INIT;

		assert_int_equal(eng_endpoint_parse(rows[i].url, "SETTING", &e, &err), -1);
		assert_int_equal(err.code, SB_USAGE);
		assert_non_null(strstr(err.text, rows[i].says));
		assert_memory_equal(err.text, "SETTING: ", 9);
	}
}

static void test_eng_endpoint_parse__shows_no_password(void **state)
{
	static const struct {
		const char *url, *shown;
	} rows[] = {
		{"tcp://me:s3cret@h:1", "'tcp://***@h:1'"},
		{"tcp://s3cret@h:1/x", "'tcp://***@h:1/x'"},
		{"me:s3cret@h:1", "'***@h:1'"},
		{"http://me:s3c/s3cret@h", "'http://***@h'"},
		{"https://me:s3@s3cret@h", "'https://***@h'"},
		{"ftp://me:s3cret@h", "'***@h'"},
		{"ssh://me:s3cret@h", "'ssh://me:***@h'"},
		{"ssh://me@h", "'ssh://me@h'"},
		{"unix://a:b@c", "'unix://a:b@c'"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_auto(eng_endpoint_release) struct eng_endpoint e = ENG_ENDPOINT_INIT;
		struct sb_err err = SB_ERR_INIT;

		assert_int_equal(eng_endpoint_parse(rows[i].url, "why", &e, &err), -1);
		assert_null(strstr(err.text, "s3c"));
		if (!strstr(err.text, rows[i].shown))
			fail_msg("%s", err.text);
	}
}

static void test_eng_endpoint_parse__knows_how_long_a_socket_path_can_be(void **state)
{
	(void)state;
	for (size_t len = 105; len < 112; len++) {
		sb_auto(eng_endpoint_release) struct eng_endpoint e = ENG_ENDPOINT_INIT;
		struct sb_err err = SB_ERR_INIT;
		char url[200];
		int rc;

		memset(url, 'a', sizeof(url));
		memcpy(url, "unix:///", 8);
		url[7 + len] = '\0';
		rc = eng_endpoint_parse(url, "why", &e, &err);
		assert_int_equal(rc, len <= 107 ? 0 : -1);
		assert_int_equal(err.code, len <= 107 ? SB_OK : SB_USAGE);
		if (len > 107)
			assert_non_null(strstr(err.text, "107 bytes"));
	}
}

/* ---- which setting counts ---- */

static void assert_found(const char *host, const char *url, const char *why)
{
	sb_auto(eng_endpoint_release) struct eng_endpoint e = ENG_ENDPOINT_INIT;
	struct sb_err err = SB_ERR_INIT;

	assert_int_equal(eng_endpoint_find(host, &e, &err), 0);
	assert_string_equal(e.url, url);
	assert_non_null(strstr(e.why, why));
}

static void assert_refused(const char *host, enum sb_code code, const char *says)
{
	sb_auto(eng_endpoint_release) struct eng_endpoint e = ENG_ENDPOINT_INIT;
	struct sb_err err = SB_ERR_INIT;

	assert_int_equal(eng_endpoint_find(host, &e, &err), -1);
	assert_int_equal(err.code, code);
	assert_non_null(strstr(err.text, says));
}

static void test_eng_endpoint_find__asks_the_settings_in_order(void **state)
{
	(void)state;
	put_context("aa", "one", "{\"Host\":\"unix:///one\"}");
	put_context("bb", "two", "{\"Host\":\"unix:///two\"}");
	put(".docker/config.json", "{\"auths\":{},\"currentContext\":\"two\"}");
	setenv("CONTAINER_HOST", "unix:///podman", 1);
	setenv("DOCKER_CONTEXT", "one", 1);
	setenv("DOCKER_HOST", "unix:///env", 1);
	assert_found("unix:///given", "unix:///given", "--host");
	assert_found(NULL, "unix:///env", "DOCKER_HOST");
	setenv("DOCKER_HOST", "", 1);
	assert_found(NULL, "unix:///one", "DOCKER_CONTEXT");
	unsetenv("DOCKER_HOST");
	assert_found(NULL, "unix:///one", "DOCKER_CONTEXT");
	setenv("DOCKER_CONTEXT", "", 1);
	assert_found(NULL, "unix:///two", "the current context of '");
	put(".docker/config.json", "{\"auths\":{}}");
	assert_found(NULL, "unix:///podman", "CONTAINER_HOST");
}

static void test_eng_endpoint_find__never_falls_through_an_explicit_setting(void **state)
{
	(void)state;
	setenv("CONTAINER_HOST", "unix:///podman", 1);
	setenv("DOCKER_CONTEXT", "gone", 1);
	assert_refused(NULL, SB_USAGE, "'gone', which does not exist");
	setenv("DOCKER_HOST", "ssh://host", 1);
	assert_refused(NULL, SB_USAGE, "DOCKER_HOST: 'ssh://host'");
	assert_refused("npipe://x", SB_USAGE, "--host: 'npipe://x'");
	unsetenv("DOCKER_HOST");
	unsetenv("DOCKER_CONTEXT");
	put(".docker/config.json", "{\"currentContext\":\"gone\"}");
	assert_refused(NULL, SB_USAGE, "'gone', which does not exist");
	put_context("aa", "gone", "{\"Host\":\"ssh://me@host\"}");
	assert_refused(NULL, SB_USAGE, "ssh:// is not supported");
	put_context("aa", "gone", "{\"SkipTLSVerify\":false}");
	assert_refused(NULL, SB_USAGE, "has no docker endpoint");
	put_context("aa", "gone", "[]");
	assert_refused(NULL, SB_USAGE, "has no docker endpoint");
	put(".docker/contexts/meta/aa/meta.json", "{\"Name\":7}");
	assert_refused(NULL, SB_USAGE, "does not exist");
	put(".docker/contexts/meta/aa/meta.json", "{");
	assert_refused(NULL, SB_USAGE, "is not valid JSON");
}

static void test_eng_endpoint_find__takes_default_for_no_context(void **state)
{
	(void)state;
	setenv("CONTAINER_HOST", "unix:///podman", 1);
	put_context("aa", "default", "{\"Host\":\"unix:///wrong\"}");
	put_context("bb", "two", "{\"Host\":\"unix:///two\"}");
	setenv("DOCKER_CONTEXT", "default", 1);
	put(".docker/config.json", "{\"currentContext\":\"two\"}");
	assert_found(NULL, "unix:///podman", "CONTAINER_HOST");
	unsetenv("DOCKER_CONTEXT");
	put(".docker/config.json", "{\"currentContext\":\"default\"}");
	assert_found(NULL, "unix:///podman", "CONTAINER_HOST");
	put(".docker/config.json", "{\"currentContext\":\"\"}");
	assert_found(NULL, "unix:///podman", "CONTAINER_HOST");
	put(".docker/config.json", "{\"currentContext\":7}");
	assert_found(NULL, "unix:///podman", "CONTAINER_HOST");
}

static void test_eng_endpoint_find__tells_of_a_broken_configuration(void **state)
{
	static const char *const texts[] = {"", "{", "null", "{\"currentContext\":\"x\",}"};
	char path[128];

	(void)state;
	setenv("CONTAINER_HOST", "unix:///podman", 1);
	for (size_t i = 0; i < SB_ARRAY_SIZE(texts); i++) {
		put(".docker/config.json", texts[i]);
		assert_refused(NULL, SB_USAGE, "config.json is not valid JSON");
		assert_found("unix:///given", "unix:///given", "--host");
	}
	snprintf(path, sizeof(path), "%s/.docker/config.json", home);
	remove(path);
	mkdir(path, 0700);
	assert_refused(NULL, SB_USAGE, "docker configuration");
}

static void test_eng_endpoint_find__reads_the_directory_of_docker_config(void **state)
{
	char dir[128];

	(void)state;
	put(".docker/config.json", "{\"currentContext\":\"wrong\"}");
	put("other/config.json", "{\"currentContext\":\"two\"}");
	put("other/contexts/meta/.hidden/meta.json", "{");
	put("other/contexts/meta/file", "no directory");
	put("other/contexts/meta/cc/meta.json",
		"{\"Name\":\"two\",\"Endpoints\":{\"docker\":{\"Host\":\"unix:///two\"}}}");
	snprintf(dir, sizeof(dir), "%s/other", home);
	setenv("DOCKER_CONFIG", dir, 1);
	assert_found(NULL, "unix:///two", "/other/config.json'");
}

static void test_eng_endpoint_find__is_not_stopped_by_another_contexts_file(void **state)
{
	char name[64];

	(void)state;
	put_context("bb", "two", "{\"Host\":\"unix:///two\"}");
	/* Many, as they are read in no particular order. */
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), ".docker/contexts/meta/a%d/meta.json", i);
		put(name, "{");
	}
	setenv("DOCKER_CONTEXT", "two", 1);
	assert_found(NULL, "unix:///two", "DOCKER_CONTEXT");
}

/* ---- TLS ---- */

static void test_eng_endpoint_find__takes_tls_of_a_context(void **state)
{
	static const struct {
		const char *endpoint;
		bool with_files, tls, verify;
	} rows[] = {
		{"{\"Host\":\"tcp://h:2376\",\"SkipTLSVerify\":false}", true, true, true},
		{"{\"Host\":\"tcp://h:2376\",\"SkipTLSVerify\":true}", true, true, false},
		{"{\"Host\":\"tcp://h:2376\"}", false, false, true},
		{"{\"Host\":\"https://h:2376\"}", false, true, true},
		{"{\"Host\":\"unix:///s\"}", true, false, false},
	};

	(void)state;
	setenv("DOCKER_CONTEXT", "remote", 1);
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_auto(eng_endpoint_release) struct eng_endpoint e = ENG_ENDPOINT_INIT;
		struct sb_err err = SB_ERR_INIT;

		put_context("aa", "remote", rows[i].endpoint);
		clean_home(NULL);
		mkdir(home, 0700);
		put_context("aa", "remote", rows[i].endpoint);
		if (rows[i].with_files) {
			put(".docker/contexts/tls/aa/docker/ca.pem", "ca");
			put(".docker/contexts/tls/aa/docker/cert.pem", "cert");
			put(".docker/contexts/tls/aa/docker/key.pem", "key");
		}
		assert_int_equal(eng_endpoint_find(NULL, &e, &err), 0);
		assert_int_equal(e.tls, rows[i].tls);
		assert_int_equal(e.tls_verify, rows[i].verify);
		assert_int_equal(e.ca != NULL, rows[i].with_files && !e.socket);
		assert_int_equal(e.cert != NULL, rows[i].with_files && !e.socket);
		if (e.key)
			assert_non_null(strstr(e.key, "/contexts/tls/aa/docker/key.pem"));
	}
}

/* A name that leads to itself is what root cannot open, either. */
static void put_loop(const char *name)
{
	char path[512];

	put(name, "");
	snprintf(path, sizeof(path), "%s/%s", home, name);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(path, path), 0);
}

static void test_eng_endpoint_find__takes_no_tls_that_cannot_be_read_for_none(void **state)
{
	static const char *const loops[] = {
		"tls/aa/docker/ca.pem", "tls/aa/docker/key.pem", "tls/aa/docker", "tls/aa", "tls"};

	(void)state;
	setenv("DOCKER_CONTEXT", "remote", 1);
	for (size_t i = 0; i < SB_ARRAY_SIZE(loops); i++) {
		char name[128];

		clean_home(NULL);
		mkdir(home, 0700);
		put_context("aa", "remote", "{\"Host\":\"tcp://h:2376\"}");
		assert_found(NULL, "tcp://h:2376", "DOCKER_CONTEXT");
		snprintf(name, sizeof(name), ".docker/contexts/%s", loops[i]);
		put_loop(name);
		assert_refused(NULL, SB_USAGE, "docker configuration: cannot open '");
	}
}

static void test_eng_endpoint_find__tells_of_contexts_that_cannot_be_read(void **state)
{
	(void)state;
	setenv("DOCKER_CONTEXT", "remote", 1);
	assert_refused(NULL, SB_USAGE, "which does not exist");
	put_loop(".docker/contexts/meta");
	assert_refused(NULL, SB_USAGE, "/contexts/meta': ");
}

static void test_eng_endpoint_find__does_not_wait_for_a_file(void **state)
{
	static const char *const fifos[] = {".docker/config.json",
		".docker/contexts/meta/aa/meta.json", ".docker/contexts/tls/aa/docker/ca.pem"};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(fifos); i++) {
		char path[512];

		clean_home(NULL);
		mkdir(home, 0700);
		put(".docker/config.json", "{\"currentContext\":\"remote\"}");
		put_context("aa", "remote", "{\"Host\":\"tcp://h:2376\"}");
		put(fifos[i], "");
		snprintf(path, sizeof(path), "%s/%s", home, fifos[i]);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(mkfifo(path, 0600), 0);
		assert_refused(NULL, SB_USAGE, "' is not a regular file");
	}
}

static void test_eng_endpoint_find__chooses_the_port_of_a_context_by_its_tls(void **state)
{
	sb_auto(eng_endpoint_release) struct eng_endpoint e = ENG_ENDPOINT_INIT;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	setenv("DOCKER_CONTEXT", "remote", 1);
	put_context("aa", "remote", "{\"Host\":\"tcp://h\"}");
	put(".docker/contexts/tls/aa/docker/ca.pem", "ca");
	assert_int_equal(eng_endpoint_find(NULL, &e, &err), 0);
	assert_true(e.tls);
	assert_string_equal(e.host, "h:2376");
}

static void test_eng_endpoint_find__takes_tls_of_the_environment(void **state)
{
	static const struct {
		const char *host, *verify, *plain;
		bool tls, tls_verify;
		const char *address;
	} rows[] = {
		{"tcp://h", NULL, NULL, false, false, "h:2375"},
		{"tcp://h", "1", NULL, true, true, "h:2376"},
		{"tcp://h", "0", NULL, true, true, "h:2376"},
		{"tcp://h", "", NULL, false, false, "h:2375"},
		{"tcp://h", NULL, "1", true, false, "h:2376"},
		{"tcp://h", "1", "1", true, true, "h:2376"},
		{"tcp://h:99", "1", NULL, true, true, "h:99"},
		{"https://h", NULL, NULL, true, true, "h:2376"},
		{"unix:///s", "1", "1", false, false, NULL},
	};

	(void)state;
	put(".docker/ca.pem", "ca");
	put(".docker/key.pem", "key");
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_auto(eng_endpoint_release) struct eng_endpoint e = ENG_ENDPOINT_INIT;
		struct sb_err err = SB_ERR_INIT;

		unsetenv("DOCKER_TLS_VERIFY");
		unsetenv("DOCKER_TLS");
		if (rows[i].verify)
			setenv("DOCKER_TLS_VERIFY", rows[i].verify, 1);
		if (rows[i].plain)
			setenv("DOCKER_TLS", rows[i].plain, 1);
		assert_int_equal(eng_endpoint_find(rows[i].host, &e, &err), 0);
		assert_int_equal(e.tls, rows[i].tls);
		assert_int_equal(e.tls_verify, rows[i].tls_verify);
		if (rows[i].address)
			assert_string_equal(e.host, rows[i].address);
		assert_int_equal(e.ca != NULL, rows[i].tls);
		assert_int_equal(e.key != NULL, rows[i].tls);
		assert_null(e.cert);
	}
}

static void test_eng_endpoint_find__needs_a_ca_to_verify_with(void **state)
{
	char dir[128];

	(void)state;
	setenv("DOCKER_TLS_VERIFY", "1", 1);
	assert_refused("tcp://h:1", SB_USAGE, "/.docker/ca.pem'");
	snprintf(dir, sizeof(dir), "%s/certs", home);
	setenv("DOCKER_CERT_PATH", dir, 1);
	put(".docker/ca.pem", "ca");
	assert_refused("tcp://h:1", SB_USAGE, "/certs/ca.pem'");
	put("certs/ca.pem", "ca");
	assert_found("tcp://h:1", "tcp://h:1", "--host");
}

/* ---- well-known sockets ---- */

static bool somebody_listens(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	sb_autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
}

static int make_socket(const char *name, bool listening)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", home, name);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	if (listening)
		assert_int_equal(listen(fd, 4), 0);
	return fd;
}

static void test_eng_endpoint_find__tries_the_well_known_sockets(void **state)
{
	char url[128];

	(void)state;
	if (somebody_listens("/var/run/docker.sock") || somebody_listens("/run/podman/podman.sock"))
		skip(); /* An engine of this machine is in front of ours. */
	assert_refused(NULL, SB_NO_ENGINE, "no engine found");
	setenv("XDG_RUNTIME_DIR", home, 1);
	put("podman/x", "");
	{
		sb_autoclose int dead = make_socket("docker.sock", false);

		assert_true(dead >= 0);
		assert_refused(NULL, SB_NO_ENGINE, "/docker.sock': Connection refused");
		{
			sb_autoclose int fd = make_socket("podman/podman.sock", true);

			assert_true(fd >= 0);
			snprintf(url, sizeof(url), "unix://%s/podman/podman.sock", home);
			assert_found(NULL, url, "well-known");
		}
	}
	put(".docker/run/x", "");
	{
		sb_autoclose int fd = make_socket(".docker/run/docker.sock", true);

		assert_true(fd >= 0);
		snprintf(url, sizeof(url), "unix://%s/.docker/run/docker.sock", home);
		assert_found(NULL, url, "well-known");
	}
}

static void test_eng_endpoint_find__does_not_wait_for_one_that_hangs(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, waiting[16], count = 0;
	char url[128];

	(void)state;
	if (somebody_listens("/var/run/docker.sock"))
		skip();
	setenv("XDG_RUNTIME_DIR", home, 1);
	put("x", "");
	fd = make_socket("docker.sock", true);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/docker.sock", home);
	/* What nobody accepts stays in the queue, until it is full. */
	do
		waiting[count] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	while (connect(waiting[count++], (struct sockaddr *)&address, sizeof(address)) == 0 &&
		count < 16);
	assert_in_range(count, 1, 15);
	alarm(20); /* instead of for ever */
	snprintf(url, sizeof(url), "unix://%s/docker.sock", home);
	assert_found(NULL, url, "well-known");
	alarm(0);
	while (count)
		close(waiting[--count]);
	close(fd);
}

static void test_eng_endpoint_find__refuses_an_empty_host(void **state)
{
	sb_auto(eng_endpoint_release) struct eng_endpoint e = ENG_ENDPOINT_INIT;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(eng_endpoint_find("", &e, &err), -1);
	assert_int_equal(err.code, SB_USAGE);
}

static void test_eng_endpoint_release__takes_an_empty_one_twice(void **state)
{
	struct eng_endpoint e = ENG_ENDPOINT_INIT;

	(void)state;
	eng_endpoint_release(&e);
	eng_endpoint_release(&e);
	assert_null(e.url);
}

#define WITH_HOME(test) cmocka_unit_test_setup_teardown(test, fresh_home, clean_home)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eng_endpoint_parse__takes_urls),
		cmocka_unit_test(test_eng_endpoint_parse__refuses_urls),
		cmocka_unit_test(test_eng_endpoint_parse__shows_no_password),
		cmocka_unit_test(test_eng_endpoint_parse__knows_how_long_a_socket_path_can_be),
		cmocka_unit_test(test_eng_endpoint_release__takes_an_empty_one_twice),
		WITH_HOME(test_eng_endpoint_find__asks_the_settings_in_order),
		WITH_HOME(test_eng_endpoint_find__never_falls_through_an_explicit_setting),
		WITH_HOME(test_eng_endpoint_find__takes_default_for_no_context),
		WITH_HOME(test_eng_endpoint_find__tells_of_a_broken_configuration),
		WITH_HOME(test_eng_endpoint_find__reads_the_directory_of_docker_config),
		WITH_HOME(test_eng_endpoint_find__is_not_stopped_by_another_contexts_file),
		WITH_HOME(test_eng_endpoint_find__takes_tls_of_a_context),
		WITH_HOME(test_eng_endpoint_find__takes_no_tls_that_cannot_be_read_for_none),
		WITH_HOME(test_eng_endpoint_find__tells_of_contexts_that_cannot_be_read),
		WITH_HOME(test_eng_endpoint_find__does_not_wait_for_a_file),
		WITH_HOME(test_eng_endpoint_find__chooses_the_port_of_a_context_by_its_tls),
		WITH_HOME(test_eng_endpoint_find__takes_tls_of_the_environment),
		WITH_HOME(test_eng_endpoint_find__needs_a_ca_to_verify_with),
		WITH_HOME(test_eng_endpoint_find__tries_the_well_known_sockets),
		WITH_HOME(test_eng_endpoint_find__does_not_wait_for_one_that_hangs),
		WITH_HOME(test_eng_endpoint_find__refuses_an_empty_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
