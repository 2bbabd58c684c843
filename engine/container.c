/* SPDX-License-Identifier: MIT */
#include "engine/client.h"

#include "engine/caps.h"
#include "engine/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void eng_container_release(struct eng_container *container)
{
	json_decref(container->doc);
	free(container->mounts);
	*container = (struct eng_container)ENG_CONTAINER_INIT;
}

/* Docker's words for the states that Podman before 5.6 named in its own. */
static const char *const podman_states[][2] = {
	{"configured", "created"},
	{"stopped", "exited"},
	{"stopping", "exited"},
};

static const char *state_word(const json_t *doc)
{
	const char *word = sb_json_str(doc, "State.Status");

	if (sb_json_bool(doc, "State.Paused"))
		return "paused";
	if (sb_json_bool(doc, "State.Restarting"))
		return "restarting";
	for (size_t i = 0; word && i < SB_ARRAY_SIZE(podman_states); i++)
		if (!strcmp(word, podman_states[i][0]))
			return podman_states[i][1];
	return word ? word : "unknown";
}

static const char *text_at(const json_t *doc, const char *path)
{
	const char *text = sb_json_str(doc, path);

	return text ? text : "";
}

static bool has_option(const char *options, const char *option)
{
	size_t len = strlen(option);

	for (const char *p = options; *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == len && !strncmp(p, option, len))
			return true;
	return false;
}

/* Docker mounts a tmpfs noexec unless told otherwise, Podman the other way round. */
static bool tmpfs_noexec(enum eng_kind kind, const char *options)
{
	return kind == ENG_DOCKER ? !has_option(options, "exec") : has_option(options, "noexec");
}

static const struct {
	const char *word;
	enum eng_mount_type type;
} mount_words[] = {
	{"bind", ENG_MOUNT_BIND},
	{"volume", ENG_MOUNT_VOLUME},
	{"tmpfs", ENG_MOUNT_TMPFS},
};

static enum eng_mount_type mount_type(const char *word)
{
	for (size_t i = 0; i < SB_ARRAY_SIZE(mount_words); i++)
		if (!strcmp(word, mount_words[i].word))
			return mount_words[i].type;
	return ENG_MOUNT_OTHER;
}

static struct eng_mount parse_mount(enum eng_kind kind, const json_t *entry)
{
	struct eng_mount mount = {
		.type = mount_type(text_at(entry, "Type")),
		.destination = text_at(entry, "Destination"),
		.options = text_at(entry, "Mode"),
		.writable = sb_json_bool(entry, "RW"),
	};

	mount.noexec = mount.type == ENG_MOUNT_TMPFS ? tmpfs_noexec(kind, mount.options)
						     : has_option(mount.options, "noexec");
	return mount;
}

static int parse_mounts(enum eng_kind kind, struct eng_container *container, struct sb_err *err)
{
	const json_t *mounts = sb_json_at(container->doc, "Mounts");
	json_t *tmpfs = sb_json_at(container->doc, "HostConfig.Tmpfs");
	size_t count = json_array_size(mounts) + json_object_size(tmpfs), i;
	const json_t *entry;
	const char *path;
	json_t *options;

	container->mounts = calloc(count ? count : 1, sizeof(*container->mounts));
	if (!container->mounts)
		return sb_err_nomem(err);
	json_array_foreach (mounts, i, entry)
		container->mounts[container->mount_count++] = parse_mount(kind, entry);
	json_object_foreach (tmpfs, path, options) {
		const char *text = sb_json_text(options) ? sb_json_text(options) : "";

		container->mounts[container->mount_count++] = (struct eng_mount){
			.type = ENG_MOUNT_TMPFS,
			.destination = path,
			.options = text,
			.writable = !has_option(text, "ro"),
			.noexec = tmpfs_noexec(kind, text),
		};
	}
	return 0;
}

int eng_container_parse(
	enum eng_kind kind, json_t *doc, struct eng_container *c, struct sb_err *err)
{
	c->doc = json_incref(doc);
	c->id = text_at(doc, "Id");
	if (!sb_is_hex64(c->id))
		return sb_err_set(err, SB_FAILED, "the engine describes a container without an id");
	c->name = text_at(doc, "Name");
	c->name += *c->name == '/';
	c->state = state_word(doc);
	c->image_id = text_at(doc, "Image");
	c->image = text_at(doc, "Config.Image");
	c->user = text_at(doc, "Config.User");
	c->cwd = text_at(doc, "Config.WorkingDir");
	c->path = text_at(doc, "Path");
	c->arch = text_at(doc, "ImageManifestDescriptor.platform.architecture");
	c->labels = sb_json_at(doc, "Config.Labels");
	if (!json_is_object(c->labels))
		c->labels = NULL;
	c->read_only = sb_json_bool(doc, "HostConfig.ReadonlyRootfs");
	c->privileged = sb_json_bool(doc, "HostConfig.Privileged");
	c->root_caps = eng_caps_of_root(kind == ENG_PODMAN ? ENG_CAPS_PODMAN : ENG_CAPS_DOCKER,
		c->privileged, sb_json_at(doc, "HostConfig.CapAdd"),
		sb_json_at(doc, "HostConfig.CapDrop"));
	return parse_mounts(kind, c, err);
}

static int fail_inspect(const struct eng_client *client, const struct eng_http_reply *reply,
	const char *ref, struct sb_err *err)
{
	const struct eng_refusal *why = eng_reply_means(reply, ENG_AT_INSPECT);

	if (why->cause)
		return sb_err_set(
			err, why->code, "container '%s' is ambiguous: %s", ref, why->cause);
	if (why->code == SB_NO_CONTAINER)
		return sb_err_set(err, SB_NO_CONTAINER,
			"no container '%s' on %s at '%s'; 'sbinject ls' lists the running ones",
			ref, eng_client_kind_name(client), client->endpoint->url);
	return eng_refused(client, reply, why->code, "look up a container", err);
}

/* Else the engine would see another path, and answer with a redirection. What a slash is in: the
   name by which another container's link calls one. */
static bool is_name(const char *ref)
{
	for (const char *part = ref;; part = strchr(part, '/') + 1) {
		if (!isalnum((unsigned char)*part))
			return false;
		if (!strchr(part, '/'))
			return strlen(ref) <= SB_MAX_NAME;
	}
}

static bool forbids_new_privileges(const struct eng_container *container)
{
	static const char name[] = "no-new-privileges";
	const json_t *options = sb_json_at(container->doc, "HostConfig.SecurityOpt"), *option;
	size_t i;

	json_array_foreach (options, i, option) {
		const char *text = json_string_value(option);

		if (text && !strncmp(text, name, strlen(name)) &&
			strcmp(text + strlen(name), ":false") != 0 &&
			strcmp(text + strlen(name), "=false") != 0)
			return true;
	}
	return false;
}

/* Where the container is another user's, Docker 20.10 lets who enters as root gain its capabilities
   only by starting a program, which counts as new privileges. */
static void limit_by_docker_20(const struct eng_client *client, struct eng_container *container)
{
	unsigned major;

	if (client->kind != ENG_DOCKER || sscanf(client->version, "%4u.", &major) != 1 ||
		major >= 23)
		return;
	container->root_caps &= ENG_CAPS_DOCKER_20;
	if (!eng_container_is_roots(container) && forbids_new_privileges(container))
		container->root_caps = 0;
}

int eng_container_inspect(
	struct eng_client *client, const char *ref, struct eng_container *ret, struct sb_err *err)
{
	sb_auto(eng_container_release) struct eng_container container = ENG_CONTAINER_INIT;
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	sb_autobuf struct sb_buf path = SB_BUF_INIT(SB_MAX_HEADERS);
	json_auto_t *doc = NULL;

	/* As inspecting tells it. */
	ref += *ref == '/';
	if (!is_name(ref))
		return sb_err_set(err, SB_USAGE, "'%s' is not a valid container name", ref);
	if (eng_path_begin(client, &path, err) < 0 || sb_buf_adds(&path, "/containers/", err) < 0 ||
		eng_http_escape(&path, ref, err) < 0 || sb_buf_adds(&path, "/json", err) < 0 ||
		eng_get_json(client, path.data, &doc, &reply, err) < 0)
		return -1;
	if (!doc)
		return fail_inspect(client, &reply, ref, err);
	if (eng_container_parse(client->kind, doc, &container, err) < 0)
		return -1;
	limit_by_docker_20(client, &container);
	container.told_at = eng_http_date(&reply);
	eng_note_seen(client, &container);
	*ret = container;
	container = (struct eng_container)ENG_CONTAINER_INIT;
	return 0;
}

static const char *const state_advice[][2] = {
	{"paused", "unpause it first"},
	{"created", "start it first"},
	{"exited", "start it first"},
	{"restarting", "wait until it runs; see its log for why it restarts"},
	{"dead", "remove it"},
};

/* As the engine reads it: a user, and after a colon a group, each by name or number. */
bool eng_container_is_roots(const struct eng_container *container)
{
	const char *user = container->user;
	size_t len = strcspn(user, ":");

	return strspn(user, "0") == len || (len == 4 && !strncmp(user, "root", len));
}

bool eng_container_runs(const struct eng_container *container)
{
	return !strcmp(container->state, "running");
}

/* "2026-01-31T23:59:59.123456789Z", as Docker writes it; 0 for anything else. */
static int64_t parse_time(const char *text)
{
	const char *rest;
	struct tm tm = {0};

	rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!rest)
		return 0;
	if (*rest == '.')
		rest += 1 + strspn(rest + 1, "0123456789");
	return strcmp(rest, "Z") ? 0 : timegm(&tm);
}

int64_t eng_container_uptime(const struct eng_container *container)
{
	int64_t since = parse_time(text_at(container->doc, "State.StartedAt"));

	if (!eng_container_runs(container) || since <= 0 || container->told_at < since)
		return 0;
	return container->told_at - since;
}

int eng_container_need_running(const struct eng_container *container, struct sb_err *err)
{
	const char *advice = "it must be running";

	if (eng_container_runs(container))
		return 0;
	for (size_t i = 0; i < SB_ARRAY_SIZE(state_advice); i++)
		if (!strcmp(container->state, state_advice[i][0]))
			advice = state_advice[i][1];
	return sb_err_set(err, SB_NO_CONTAINER, "container '%s' is not running (%s); %s",
		container->name, container->state, advice);
}

bool eng_container_can_start(const struct eng_container *container)
{
	return !strcmp(container->state, "created") || !strcmp(container->state, "exited");
}

static void copy_word(char *dst, size_t size, const json_t *doc, const char *path)
{
	const char *text = text_at(doc, path);

	sb_text_clean(dst, size, text, strlen(text));
}

int eng_image_inspect(struct eng_client *client, const struct eng_container *container,
	struct eng_image *ret, struct sb_err *err)
{
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	sb_autobuf struct sb_buf path = SB_BUF_INIT(SB_MAX_HEADERS);
	const json_t *platform = sb_json_at(container->doc, "ImageManifestDescriptor.platform");
	json_auto_t *doc = NULL;

	memset(ret, 0, sizeof(*ret));
	if (platform && *container->arch) {
		copy_word(ret->os, sizeof(ret->os), platform, "os");
		copy_word(ret->arch, sizeof(ret->arch), platform, "architecture");
		copy_word(ret->variant, sizeof(ret->variant), platform, "variant");
		return 0;
	}
	if (eng_path_begin(client, &path, err) < 0 || sb_buf_adds(&path, "/images/", err) < 0 ||
		eng_http_escape(&path, container->image_id, err) < 0 ||
		sb_buf_adds(&path, "/json", err) < 0 ||
		eng_get_json(client, path.data, &doc, &reply, err) < 0)
		return -1;
	if (!doc)
		return reply.status == 404 ? 1
					   : eng_refused(client, &reply, SB_FAILED,
						     "look up the container's image", err);
	copy_word(ret->os, sizeof(ret->os), doc, "Os");
	copy_word(ret->arch, sizeof(ret->arch), doc, "Architecture");
	copy_word(ret->variant, sizeof(ret->variant), doc, "Variant");
	return 0;
}

int eng_container_list(struct eng_client *client, bool all, json_t **ret, struct sb_err *err)
{
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	sb_autobuf struct sb_buf path = SB_BUF_INIT(SB_MAX_HEADERS);
	/* A single image's labels can take what an answer about one container may. */
	struct eng_http_req req = {.method = "GET", .max_reply = SB_MAX_LIST};
	json_auto_t *doc = NULL;

	if (eng_path_begin(client, &path, err) < 0 ||
		sb_buf_addf(&path, err, "/containers/json%s", all ? "?all=true" : "") < 0)
		return -1;
	req.path = path.data;
	if (eng_call(client, &req, &reply, err) < 0)
		return -1;
	if (reply.status != 200)
		return eng_refused(client, &reply, SB_FAILED, "list its containers", err);
	doc = sb_json_parse(
		sb_buf_str(&reply.body), reply.body.len, "the engine's list of containers", err);
	if (!doc)
		return -1;
	if (!json_is_array(doc))
		return sb_err_set(err, SB_FAILED, "the engine's list of containers is not a list");
	*ret = sb_steal(doc);
	return 0;
}
