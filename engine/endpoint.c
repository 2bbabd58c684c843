/* SPDX-License-Identifier: MIT */
#include "engine/endpoint.h"

#include "engine/buf.h"
#include "engine/file.h"
#include "engine/json.h"
#include "engine/log.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

void eng_endpoint_release(struct eng_endpoint *endpoint)
{
	char *owned[] = {endpoint->socket, endpoint->host, endpoint->prefix, endpoint->url,
		endpoint->why, endpoint->ca, endpoint->cert, endpoint->key};

	for (size_t i = 0; i < SB_ARRAY_SIZE(owned); i++)
		free(owned[i]);
	*endpoint = (struct eng_endpoint)ENG_ENDPOINT_INIT;
}

/* asprintf into a fresh string, or NULL with *err filled. */
static sb_printf(2, 3) char *make_text(struct sb_err *err, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n >= 0)
		return text;
	sb_err_nomem(err);
	return NULL;
}

static const char *env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* ---- host URLs ---- */

enum scheme { SCHEME_UNIX, SCHEME_TCP, SCHEME_HTTPS, SCHEME_SSH, SCHEME_OTHER };

static const struct {
	const char *prefix;
	enum scheme scheme;
} schemes[] = {
	{"unix://", SCHEME_UNIX},
	{"tcp://", SCHEME_TCP},
	{"http://", SCHEME_TCP},
	{"https://", SCHEME_HTTPS},
	{"ssh://", SCHEME_SSH},
	{"npipe://", SCHEME_OTHER},
	{"fd://", SCHEME_OTHER},
};

static enum scheme split_scheme(const char *url, const char **rest)
{
	for (size_t i = 0; i < SB_ARRAY_SIZE(schemes); i++) {
		size_t len = strlen(schemes[i].prefix);

		if (!strncmp(url, schemes[i].prefix, len)) {
			*rest = url + len;
			return schemes[i].scheme;
		}
	}
	*rest = url;
	if (*url == '/')
		return SCHEME_UNIX;
	return strstr(url, "://") ? SCHEME_OTHER : SCHEME_TCP;
}

#define HOST_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_%"

static int fail_url(const char *why, const char *url, struct sb_err *err)
{
	return sb_err_set(err, SB_USAGE,
		"%s: '%s' is not supported; use unix:///PATH or tcp://HOST:PORT", why, url);
}

static bool has_port(const char *host, size_t len)
{
	const char *colon = memrchr(host, ':', len);

	return colon && !memchr(colon, ']', (size_t)(host + len - colon));
}

static bool is_port(const char *text, size_t len)
{
	long port = strtol(text, NULL, 10);

	return strspn(text, "0123456789") >= len && port >= 1 && port <= 65535;
}

/* What libcurl would take for something else, or for nothing at all. */
static bool is_address(const char *host, size_t len)
{
	const char *colon = has_port(host, len) ? memrchr(host, ':', len) : NULL;
	size_t name_len = colon ? (size_t)(colon - host) : len;

	if (colon && !is_port(colon + 1, len - name_len - 1))
		return false;
	if (*host == '[')
		return name_len > 2 && host[name_len - 1] == ']' &&
		       strspn(host + 1, HOST_CHARS ":") == name_len - 2;
	return name_len > 0 && strspn(host, HOST_CHARS) >= name_len;
}

static int set_host(struct eng_endpoint *ret, const char *rest, struct sb_err *err)
{
	size_t len = strcspn(rest, "/");
	const char *prefix = rest + len;
	size_t prefix_len = strlen(prefix);

	if (memchr(rest, '@', len))
		return sb_err_set(err, SB_USAGE, "%s: the user name in '%s' is not supported",
			ret->why, ret->url);
	if ((len && !is_address(rest, len)) || prefix[strspn(prefix, HOST_CHARS ":/~")])
		return fail_url(ret->why, ret->url, err);
	while (prefix_len && prefix[prefix_len - 1] == '/')
		prefix_len--;
	if (len == 0)
		ret->host = make_text(err, "localhost:%d", ret->tls ? 2376 : 2375);
	else if (has_port(rest, len))
		ret->host = make_text(err, "%.*s", (int)len, rest);
	else
		ret->host = make_text(err, "%.*s:%d", (int)len, rest, ret->tls ? 2376 : 2375);
	free(ret->prefix);
	ret->prefix = make_text(err, "%.*s", (int)prefix_len, prefix);
	return ret->host && ret->prefix ? 0 : -1;
}

static int set_socket(struct eng_endpoint *ret, const char *path, struct sb_err *err)
{
	struct sockaddr_un address;

	if (!*path)
		path = "/var/run/docker.sock";
	if (*path != '/')
		return sb_err_set(
			err, SB_USAGE, "%s: '%s' needs an absolute path", ret->why, ret->url);
	if (strlen(path) >= sizeof(address.sun_path))
		return sb_err_set(err, SB_USAGE,
			"%s: the path of '%s' is too long for a socket (at most %zu bytes)",
			ret->why, ret->url, sizeof(address.sun_path) - 1);
	ret->socket = make_text(err, "%s", path);
	return ret->socket ? 0 : -1;
}

/*
 * The URL as people may see it: no user name, as that may be a token, but for ssh, where it is of
 * use; and never a password.
 */
static char *shown_url(const char *url, enum scheme scheme, const char *rest, struct sb_err *err)
{
	const char *at = scheme == SCHEME_UNIX ? NULL : strrchr(rest, '@');
	const char *colon = at ? memchr(rest, ':', (size_t)(at - rest)) : NULL;

	if (scheme == SCHEME_SSH) {
		at = colon ? at : NULL;
		rest = colon ? colon + 1 : rest;
	}
	if (at)
		return make_text(err, "%.*s***%s", (int)(rest - url), url, at);
	return make_text(err, "%s%s", *url == '/' ? "unix://" : "", url);
}

int eng_endpoint_parse(
	const char *url, const char *why, struct eng_endpoint *ret, struct sb_err *err)
{
	const char *rest;
	enum scheme scheme = split_scheme(url, &rest);

	ret->url = shown_url(url, scheme, rest, err);
	ret->why = make_text(err, "%s", why);
	ret->prefix = make_text(err, "%s", "");
	if (!ret->url || !ret->why || !ret->prefix)
		return -1;
	switch (scheme) {
	case SCHEME_UNIX:
		return set_socket(ret, rest, err);
	case SCHEME_HTTPS:
		ret->tls = ret->tls_verify = true;
		return set_host(ret, rest, err);
	case SCHEME_TCP:
		return set_host(ret, rest, err);
	case SCHEME_SSH:
		return sb_err_set(err, SB_USAGE,
			"%s: '%s': ssh:// is not supported; forward the socket (ssh -nNT -L "
			"/tmp/engine.sock:/var/run/docker.sock host) and use "
			"unix:///tmp/engine.sock",
			why, ret->url);
	default:
		return fail_url(why, ret->url, err);
	}
}

static int fail_config(struct sb_err *err)
{
	err->code = SB_USAGE;
	return sb_err_wrap(err, "docker configuration");
}

/* ---- TLS ---- */

/*
 * The three PEM files of a directory; any may be missing. One that is there and cannot be read must
 * not pass for missing: without any, a context is spoken to in plain text.
 */
static int set_tls_files(struct eng_endpoint *ret, const char *dir, struct sb_err *err)
{
	struct {
		char **slot;
		const char *name;
	} files[] = {{&ret->ca, "ca.pem"}, {&ret->cert, "cert.pem"}, {&ret->key, "key.pem"}};

	for (size_t i = 0; i < SB_ARRAY_SIZE(files); i++) {
		sb_autofree char *path = make_text(err, "%s/%s", dir, files[i].name);
		sb_autoclose int fd = -1;
		int found;

		if (!path)
			return -1;
		found = sb_file_open(path, &fd, err);
		if (found < 0)
			return fail_config(err);
		if (found == 0)
			*files[i].slot = sb_steal(path);
	}
	return 0;
}

static char *docker_config_dir(struct sb_err *err)
{
	if (env("DOCKER_CONFIG"))
		return make_text(err, "%s", env("DOCKER_CONFIG"));
	return make_text(err, "%s/.docker", env("HOME") ? env("HOME") : "");
}

/* As the docker command: DOCKER_TLS_VERIFY counts by being set, even to "0". */
static int set_tls_from_env(struct eng_endpoint *ret, struct sb_err *err)
{
	sb_autofree char *dir = NULL;

	if (ret->socket || !(ret->tls || env("DOCKER_TLS_VERIFY") || env("DOCKER_TLS")))
		return 0;
	ret->tls = true;
	ret->tls_verify = env("DOCKER_TLS_VERIFY") || !env("DOCKER_TLS");
	dir = env("DOCKER_CERT_PATH") ? make_text(err, "%s", env("DOCKER_CERT_PATH"))
				      : docker_config_dir(err);
	if (!dir || set_tls_files(ret, dir, err) < 0)
		return -1;
	if (!ret->ca && env("DOCKER_TLS_VERIFY"))
		return sb_err_set(err, SB_USAGE,
			"DOCKER_TLS_VERIFY is set, but there is no '%s/ca.pem'; set "
			"DOCKER_CERT_PATH to the directory that holds it",
			dir);
	return 0;
}

static int from_url(const char *url, const char *why, struct eng_endpoint *ret, struct sb_err *err)
{
	const char *rest;
	enum scheme scheme = split_scheme(url, &rest);

	if (!*url)
		return sb_err_set(err, SB_USAGE, "%s: the URL is empty", why);
	/* Known before the default port is chosen. */
	ret->tls = scheme == SCHEME_TCP && (env("DOCKER_TLS_VERIFY") || env("DOCKER_TLS"));
	if (eng_endpoint_parse(url, why, ret, err) < 0)
		return -1;
	return set_tls_from_env(ret, err);
}

/* ---- docker contexts ---- */

static int read_json(const char *path, json_t **ret, struct sb_err *err)
{
	sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_CONFIG);
	int found = sb_buf_read_file(&text, path, err);

	if (found)
		return found < 0 ? fail_config(err) : 1;
	*ret = sb_json_parse(sb_buf_str(&text), text.len, path, err);
	if (*ret)
		return 0;
	err->code = SB_USAGE;
	return -1;
}

/* The name of the context in force, or NULL; *why tells the setting. A new string. */
static int context_name(const char *dir, char **ret, char **why, struct sb_err *err)
{
	sb_autofree char *path = NULL;
	json_auto_t *config = NULL;
	const char *name = env("DOCKER_CONTEXT");

	*ret = NULL;
	if (name) {
		*why = make_text(err, "DOCKER_CONTEXT");
	} else {
		path = make_text(err, "%s/config.json", dir);
		if (!path || read_json(path, &config, err) < 0)
			return -1;
		name = sb_json_str(config, "currentContext");
		*why = make_text(err, "the current context of '%s'", path);
	}
	if (!*why)
		return -1;
	if (!name || !*name || !strcmp(name, "default"))
		return 0;
	*ret = make_text(err, "%s", name);
	return *ret ? 0 : -1;
}

/* A context that is looked for. */
struct context {
	const char *dir; /* of the docker configuration */
	const char *name;
	const char *why; /* the setting that names it */
};

/* Take the endpoint of a context that has been found. */
static int use_context(const struct context *context, const json_t *meta, const char *hash,
	struct eng_endpoint *ret, struct sb_err *err)
{
	sb_autofree char *tls = make_text(err, "%s/contexts/tls/%s/docker", context->dir, hash);
	const char *host = sb_json_str(meta, "Endpoints.docker.Host");
	const char *rest;

	if (!host)
		return sb_err_set(err, SB_USAGE, "%s: context '%s' has no docker endpoint",
			context->why, context->name);
	if (!tls)
		return -1;
	if (split_scheme(host, &rest) != SCHEME_UNIX && set_tls_files(ret, tls, err) < 0)
		return -1;
	/* Known before the default port is chosen. */
	ret->tls = ret->ca || ret->cert || sb_json_bool(meta, "Endpoints.docker.SkipTLSVerify");
	if (eng_endpoint_parse(host, context->why, ret, err) < 0)
		return -1;
	ret->tls_verify = !ret->socket && !sb_json_bool(meta, "Endpoints.docker.SkipTLSVerify");
	return 0;
}

static void close_dirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* 1: that directory is of another context, or cannot be read: then *unread says why. */
static int try_context(const struct context *context, const char *hash, struct eng_endpoint *ret,
	struct sb_err *unread, struct sb_err *err)
{
	sb_autofree char *path =
		make_text(err, "%s/contexts/meta/%s/meta.json", context->dir, hash);
	json_auto_t *meta = NULL;
	const char *found;

	if (!path)
		return -1;
	if (read_json(path, &meta, unread) != 0)
		return 1;
	found = sb_json_str(meta, "Name");
	if (!found || strcmp(found, context->name) != 0)
		return 1;
	return use_context(context, meta, hash, ret, err);
}

/* The directories are named by a hash of the context's name; reading them all needs no hash. */
static int from_context(const struct context *context, struct eng_endpoint *ret, struct sb_err *err)
{
	sb_autofree char *path = make_text(err, "%s/contexts/meta", context->dir);
	sb_auto(close_dirp) DIR *list = path ? opendir(path) : NULL;
	struct sb_err unread = SB_ERR_INIT;
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		int state;

		if (entry->d_name[0] == '.')
			continue;
		state = try_context(context, entry->d_name, ret, &unread, err);
		if (state <= 0)
			return state;
	}
	if (!list && path && errno != ENOENT && errno != ENOTDIR)
		sb_err_set(&unread, SB_USAGE, "cannot open '%s': %s", path, strerror(errno));
	if (unread.code != SB_OK) {
		*err = unread;
		return sb_err_wrap(err, "%s: docker context '%s'", context->why, context->name);
	}
	return sb_err_set(err, SB_USAGE,
		"%s names the docker context '%s', which does not exist below '%s/contexts'",
		context->why, context->name, context->dir);
}

/* ---- well-known sockets ---- */

static const struct {
	const char *base; /* environment variable, or NULL */
	const char *path;
} known_sockets[] = {
	{NULL, "/var/run/docker.sock"},
	{"XDG_RUNTIME_DIR", "/docker.sock"},
	{"HOME", "/.docker/run/docker.sock"},
	{"HOME", "/.docker/desktop/docker.sock"},
	{"HOME", "/.colima/default/docker.sock"},
	{"HOME", "/.rd/docker.sock"},
	{"HOME", "/.orbstack/run/docker.sock"},
	{"XDG_RUNTIME_DIR", "/podman/podman.sock"},
	{NULL, "/run/podman/podman.sock"},
};

/* 0, or why nobody can be reached there. Looking at the file would be fooled by a dead socket. */
static int try_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	sb_autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return errno;
	if (strlen(path) >= sizeof(address.sun_path))
		return ENAMETOOLONG;
	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return 0;
	/* Somebody is there, and has others to take before. */
	return errno == EAGAIN ? 0 : errno;
}

static int from_known_sockets(struct eng_endpoint *ret, struct sb_err *err)
{
	sb_autobuf struct sb_buf tried = SB_BUF_INIT(16384);

	for (size_t i = 0; i < SB_ARRAY_SIZE(known_sockets); i++) {
		const char *base = known_sockets[i].base ? env(known_sockets[i].base) : "";
		sb_autofree char *path = NULL;
		int why;

		if (!base)
			continue;
		path = make_text(err, "%s%s", base, known_sockets[i].path);
		if (!path)
			return -1;
		why = try_socket(path);
		if (!why)
			return eng_endpoint_parse(path, "the well-known sockets", ret, err);
		sb_log(SB_NOTE, "no engine at '%s': %s", path, strerror(why));
		if (why != ENOENT && why != ENOTDIR &&
			sb_buf_addf(&tried, err, "%s'%s': %s", tried.len ? ", " : "", path,
				strerror(why)) < 0)
			return -1;
	}
	if (tried.len)
		return sb_err_set(err, SB_NO_ENGINE,
			"no engine can be reached (%s); start one, use sudo, or name it with "
			"--host or "
			"DOCKER_HOST",
			tried.data);
	return sb_err_set(err, SB_NO_ENGINE,
		"no engine found at any of the well-known sockets; start docker or 'podman system "
		"service', or name it with --host or DOCKER_HOST");
}

int eng_endpoint_find(const char *host, struct eng_endpoint *ret, struct sb_err *err)
{
	sb_autofree char *dir = NULL, *context = NULL, *why = NULL;

	if (host)
		return from_url(host, "--host", ret, err);
	if (env("DOCKER_HOST"))
		return from_url(env("DOCKER_HOST"), "DOCKER_HOST", ret, err);
	dir = docker_config_dir(err);
	if (!dir || context_name(dir, &context, &why, err) < 0)
		return -1;
	if (context)
		return from_context(&(struct context){dir, context, why}, ret, err);
	if (env("CONTAINER_HOST"))
		return from_url(env("CONTAINER_HOST"), "CONTAINER_HOST", ret, err);
	return from_known_sockets(ret, err);
}
