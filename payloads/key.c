/* SPDX-License-Identifier: MIT */
#include "payloads/key.h"

#include "engine/log.h"
#include "payloads/lib/sha256.h"
#include "payloads/lib/wire.h"
#include "payloads/own_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

/*
 * Only a file of our own that nobody else can read or write will do. *ret_spoilt: it is ours, but
 * never was a key.
 */
static bool read_key(int dir, struct key *key, bool *ret_spoilt)
{
	sb_autoclose int fd = openat(dir, "key", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
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
static bool make_key(int dir)
{
	unsigned char bytes[32];
	sb_autoclose int fd = -1;
	char fresh[32];
	uint64_t number;
	bool made;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes) ||
		getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return false;
	snprintf(fresh, sizeof(fresh), "key.%016" PRIx64, number);
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	made = write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes) &&
	       /* Else a crash of the machine can leave the name without the bytes. */
	       fsync(fd) == 0 && (linkat(dir, fresh, dir, "key", 0) == 0 || errno == EEXIST);
	unlinkat(dir, fresh, 0);
	return made;
}

static bool keep_key(char *path, struct key *ret)
{
	sb_autoclose int dir = -1;
	bool spoilt;

	dir = own_dir_open(path);
	if (dir < 0)
		return false;
	if (read_key(dir, ret, &spoilt))
		return true;
	if (spoilt)
		unlinkat(dir, "key", 0);
	return make_key(dir) && read_key(dir, ret, &spoilt);
}

void key_load(struct key *ret)
{
	char path[PATH_MAX];

	ret->known = false;
	if (!own_dir_path(
		    getenv("XDG_STATE_HOME"), "/.local/state", "sbinject", path, sizeof(path)))
		sb_log(SB_NOTE, "no HOME to keep a key in: payloads are always uploaded afresh");
	else if (!keep_key(path, ret))
		sb_log(SB_NOTE,
			"no key of this user alone can be kept in '%s': payloads are always uploaded "
			"afresh",
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
	strcpy(ret, WIRE_KEPT_PREFIX);
	authenticate(key, text, ret + 4);
}
