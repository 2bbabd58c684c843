/* SPDX-License-Identifier: MIT */
#include "payloads/key.h"

#include "engine/log.h"
#include "payloads/lib/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

/* mkdir -p of everything above the last component, 0700. */
static void make_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

static bool find_path(char *path, size_t size)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n = -1;

	/* The XDG specification: a relative path is to be ignored. */
	if (state && *state == '/')
		n = snprintf(path, size, "%s/sbinject/key", state);
	else if (home && *home == '/')
		n = snprintf(path, size, "%s/.local/state/sbinject/key", home);
	return n > 0 && (size_t)n < size;
}

/*
 * Only a file of our own that nobody else can read or write will do. *ret_spoilt: it is ours, but
 * never was a key.
 */
static bool read_key(const char *path, struct key *key, bool *ret_spoilt)
{
	sb_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	*ret_spoilt = false;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return false;
	*ret_spoilt = st.st_size != sizeof(key->bytes);
	if (*ret_spoilt || (st.st_mode & 077))
		return false;
	key->known = read(fd, key->bytes, sizeof(key->bytes)) == (ssize_t)sizeof(key->bytes);
	return key->known;
}

/* Written beside and linked into place: of two first runs, both end with the same key. */
static bool make_key(char *path)
{
	unsigned char bytes[32];
	char fresh[PATH_MAX];
	sb_autoclose int fd = -1;
	bool made;

	make_parents(path);
	snprintf(fresh, sizeof(fresh), "%.4000s.XXXXXX", path);
	fd = mkostemp(fresh, O_CLOEXEC);
	if (fd < 0)
		return false;
	made = getrandom(bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes) &&
	       write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes) &&
	       /* Else a crash of the machine can leave the name without the bytes. */
	       fsync(fd) == 0 && (link(fresh, path) == 0 || errno == EEXIST);
	unlink(fresh);
	return made;
}

static bool keep_key(char *path, struct key *ret)
{
	bool spoilt;

	if (read_key(path, ret, &spoilt))
		return true;
	if (spoilt)
		unlink(path);
	return make_key(path) && read_key(path, ret, &spoilt);
}

void key_load(struct key *ret)
{
	char path[PATH_MAX];

	ret->known = false;
	if (!find_path(path, sizeof(path)))
		sb_log(SB_NOTE, "no HOME to keep a key in: payloads are always uploaded afresh");
	else if (!keep_key(path, ret))
		sb_log(SB_NOTE, "no key can be kept at '%s': payloads are always uploaded afresh",
			path);
}

/* HMAC-SHA-256 (RFC 2104) of `text`, by hand: the one hash that is here already serves. */
static void authenticate(const struct key *key, const char *text, char hex[SHA256_HEX])
{
	unsigned char pad[64] = {0}, inner[SHA256_BYTES];
	struct sha256 hash;

	memcpy(pad, key->bytes, sizeof(key->bytes));
	for (size_t i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36;
	sha256_init(&hash);
	sha256_add(&hash, pad, sizeof(pad));
	sha256_add(&hash, text, strlen(text));
	sha256_end(&hash, inner);
	for (size_t i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36 ^ 0x5c;
	sha256_init(&hash);
	sha256_add(&hash, pad, sizeof(pad));
	sha256_add(&hash, inner, sizeof(inner));
	sha256_end_hex(&hash, hex);
}

void key_name(const struct key *key, const char *sha256, const char *id, bool for_user,
	char ret[KEY_NAME_SIZE])
{
	char text[160];

	ret[0] = '\0';
	if (!key->known)
		return;
	snprintf(text, sizeof(text), "sbinject %.64s %.64s%s", sha256, id, for_user ? " user" : "");
	strcpy(ret, "run-");
	authenticate(key, text, ret + 4);
}
