/* SPDX-License-Identifier: MIT */
#include "recon/place.h"

#include "payloads/lib/wire.h"

#include <string.h>

static const char read_only_root[] = "the root file system is read-only";

/* What engines mount by themselves and do not list. */
static const struct own_mount {
	const char *destination;
	bool read_only_podman;	     /* only there, and writable */
	const char *docker, *podman; /* why not */
} own_mounts[] = {
	{"/dev", false, "made by the engine for devices", "made by the engine for devices"},
	{"/dev/shm", false, "a tmpfs that docker cannot reach", "mounted noexec"},
	{"/proc", false, "not for files", "not for files"},
	{"/sys", false, "not for files", "not for files"},
	{"/run", true, NULL, NULL},
	{"/tmp", true, NULL, NULL},
	{"/var/tmp", true, NULL, NULL},
};

/*
 * Podman's tmpfs in a read-only container. /run has the mode that it has in the image, but 1777
 * where the image has none: nobody's records tell, so all three count as shared.
 */
static const char *const podman_homes[] = {"/run", "/tmp", "/var/tmp"};

/* No link of an image is in the way to it: an upload replaces what is there. */
static const char root_home[] = "/" WIRE_HOME_NAME;
static const char beyond_dir[] = "/dev", beyond_home[] = "/dev/" WIRE_HOME_NAME;

static const char *const usual_dirs[] = {
	"/",
	"/var/tmp",
	"/tmp",
	"/run",
	"/dev/shm",
	"/opt",
};

/* Where a mount really ends up: engines follow /var/run, which is a link almost everywhere. */
static const char *destination_of(const struct eng_mount *mount)
{
	const char *path = mount->destination;

	if (!strncmp(path, "/var/run", 8) && (path[8] == '/' || path[8] == '\0'))
		return path + 4;
	return path;
}

/* The length of `top` if dir is there or below, else 0. A closing slash does not count. */
static size_t covers(const char *top, const char *dir)
{
	size_t len = strlen(top);

	while (len > 0 && top[len - 1] == '/')
		len--;
	if (len == 0 || strncmp(dir, top, len) != 0 || (dir[len] != '/' && dir[len] != '\0'))
		return 0;
	return len;
}

static const char *why_not_tmpfs(const struct eng_container *container, enum eng_kind engine)
{
	if (engine == ENG_DOCKER)
		return "a tmpfs that docker cannot reach";
	if (!eng_container_runs(container))
		return "a tmpfs that podman can reach only while the container runs";
	return NULL;
}

/*
 * Whoever owns a directory can exchange what is in it, at any time. Podman's option U makes a tmpfs
 * the container's user's, and is written down as that user's number; nothing else than this record
 * tells, as the archive API gives the container's user for the owner of every file.
 */
static bool is_of_root(const char *options)
{
	for (const char *p = options; *p; p += strcspn(p, ","), p += *p == ',')
		if (!strncmp(p, "uid=", 4) && strspn(p + 4, "0") != strcspn(p + 4, ","))
			return false;
	return true;
}

static const char *why_not_mount(
	const struct eng_container *container, enum eng_kind engine, const struct eng_mount *mount)
{
	if (!mount->writable)
		return "mounted read-only";
	switch (mount->type) {
	case ENG_MOUNT_TMPFS:
		if (engine == ENG_PODMAN && mount->noexec)
			return "mounted noexec";
		if (engine == ENG_PODMAN && !is_of_root(mount->options))
			return "owned by a user who could replace the program";
		return why_not_tmpfs(container, engine);
	case ENG_MOUNT_BIND:
		return "a bind mount: data on the host";
	case ENG_MOUNT_VOLUME:
		return "a volume: data that outlives the container";
	case ENG_MOUNT_OTHER:
		break;
	}
	return "a mount of unknown kind";
}

/* The innermost of the mounts that the engine does not list, or NULL. */
static const struct own_mount *find_own(
	const struct eng_container *container, enum eng_kind engine, const char *dir, size_t *depth)
{
	const struct own_mount *best = NULL;

	*depth = 0;
	for (size_t i = 0; i < SB_ARRAY_SIZE(own_mounts); i++) {
		const struct own_mount *own = &own_mounts[i];
		size_t len = covers(own->destination, dir);

		if (own->read_only_podman && (engine != ENG_PODMAN || !container->read_only))
			continue;
		if (len > *depth) {
			*depth = len;
			best = own;
		}
	}
	return best;
}

static size_t mount_depth(const struct eng_container *container, const char *dir)
{
	size_t depth = 0;

	for (size_t i = 0; i < container->mount_count; i++) {
		size_t len = covers(destination_of(&container->mounts[i]), dir);

		depth = len > depth ? len : depth;
	}
	return depth;
}

bool recon_is_mounted(const struct eng_container *container, const char *path)
{
	return mount_depth(container, path) > 0;
}

/* Of several at one place we do not know which is on top: each has to do. */
static const char *why_not_mounts(
	const struct eng_container *container, enum eng_kind engine, const char *dir, size_t depth)
{
	const char *why = NULL;

	for (size_t i = 0; i < container->mount_count && !why; i++) {
		const struct eng_mount *mount = &container->mounts[i];

		if (covers(destination_of(mount), dir) == depth)
			why = why_not_mount(container, engine, mount);
	}
	return why;
}

const char *recon_place_why_not(
	const struct eng_container *container, enum eng_kind engine, const char *dir)
{
	size_t own_depth, depth = mount_depth(container, dir);
	const struct own_mount *own = find_own(container, engine, dir, &own_depth);

	if (depth > 0 && depth >= own_depth)
		return why_not_mounts(container, engine, dir, depth);
	if (own && own->read_only_podman)
		return why_not_tmpfs(container, engine);
	if (own)
		return engine == ENG_DOCKER ? own->docker : own->podman;
	return container->read_only ? read_only_root : NULL;
}

static bool is_listed(const struct recon_place *places, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(places[i].path, path))
			return true;
	return false;
}

size_t recon_place_list(const struct eng_container *container, enum eng_kind engine,
	struct recon_place *ret, size_t max)
{
	size_t count = 0, usual = SB_ARRAY_SIZE(usual_dirs);

	for (size_t i = 0; i < usual + container->mount_count && count < max; i++) {
		const char *path =
			i < usual ? usual_dirs[i] : container->mounts[i - usual].destination;
		const char *why;

		if (is_listed(ret, count, path))
			continue;
		why = recon_place_why_not(container, engine, path);
		ret[count++] = (struct recon_place){path, !why, why ? why : ""};
	}
	return count;
}

/*
 * Docker writes nothing to a container whose root is read-only. Its /dev is a tmpfs of the
 * container's own, writable by root alone and executable, unless something was mounted over it.
 */
static int find_beyond(
	const struct eng_container *container, struct recon_home *ret, struct sb_err *err)
{
	if (mount_depth(container, beyond_home) > 0)
		return sb_err_set(err, SB_UNSUPPORTED,
			"the root file system is read-only, docker refuses to write below it, "
			"and '%s' is a mount; start the container without --read-only",
			beyond_dir);
	*ret = (struct recon_home){.dir = beyond_dir, .beyond = true};
	return 0;
}

int recon_home(const struct eng_container *container, enum eng_kind engine, struct recon_home *ret,
	struct sb_err *err)
{
	const char *why[SB_ARRAY_SIZE(podman_homes)];

	if (!container->read_only) {
		why[0] = recon_place_why_not(container, engine, root_home);
		*ret = (struct recon_home){.dir = "/"};
		return !why[0] ? 0
			       : sb_err_set(err, SB_UNSUPPORTED,
					 "'%s' is %s, so no program can be put there; start the "
					 "container without that mount",
					 root_home, why[0]);
	}
	if (engine == ENG_DOCKER)
		return find_beyond(container, ret, err);
	for (size_t i = 0; i < SB_ARRAY_SIZE(podman_homes); i++) {
		why[i] = recon_place_why_not(container, engine, podman_homes[i]);
		if (!why[i]) {
			*ret = (struct recon_home){.dir = podman_homes[i], .shared = true};
			return 0;
		}
	}
	return sb_err_set(err, SB_UNSUPPORTED,
		"the root file system is read-only and no directory in it can hold a program: "
		"'%s' is %s, '%s' is %s, '%s' is %s; start the container without --read-only",
		podman_homes[0], why[0], podman_homes[1], why[1], podman_homes[2], why[2]);
}
