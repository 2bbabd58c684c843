/* SPDX-License-Identifier: MIT */
#include "engine/caps.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BIT(cap) (UINT64_C(1) << (cap))

enum { CHOWN, DAC_OVERRIDE, FOWNER = 3, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND = 10 };
enum { NET_RAW = 13, SYS_CHROOT = 18, MKNOD = 27, AUDIT_WRITE = 29, SETFCAP = 31 };

static const char *const names[] = {"chown", "dac_override", "dac_read_search", "fowner", "fsetid",
	"kill", "setgid", "setuid", "setpcap", "linux_immutable", "net_bind_service",
	"net_broadcast", "net_admin", "net_raw", "ipc_lock", "ipc_owner", "sys_module", "sys_rawio",
	"sys_chroot", "sys_ptrace", "sys_pacct", "sys_admin", "sys_boot", "sys_nice",
	"sys_resource", "sys_time", "sys_tty_config", "mknod", "lease", "audit_write",
	"audit_control", "setfcap", "mac_override", "mac_admin", "syslog", "wake_alarm",
	"block_suspend", "audit_read", "perfmon", "bpf", "checkpoint_restore"};

static const uint64_t every = BIT(SB_ARRAY_SIZE(names)) - 1;

#define OF_BOTH                                                                                 \
	(BIT(CHOWN) | BIT(DAC_OVERRIDE) | BIT(FOWNER) | BIT(FSETID) | BIT(KILL) | BIT(SETGID) | \
		BIT(SETUID) | BIT(SETPCAP) | BIT(NET_BIND) | BIT(SYS_CHROOT) | BIT(SETFCAP))

static const uint64_t defaults[] = {
	[ENG_CAPS_DOCKER] = OF_BOTH | BIT(NET_RAW) | BIT(MKNOD) | BIT(AUDIT_WRITE),
	[ENG_CAPS_PODMAN] = OF_BOTH,
};

/* "CAP_SETUID", "SETUID" or "setuid"; what is not known is no bit. */
static uint64_t read_name(const char *name)
{
	if (!strncasecmp(name, "CAP_", 4))
		name += 4;
	for (unsigned i = 0; i < SB_ARRAY_SIZE(names); i++)
		if (!strcasecmp(name, names[i]))
			return BIT(i);
	return 0;
}

static uint64_t read_list(const json_t *list, bool *ret_all)
{
	uint64_t caps = 0;
	const json_t *item;
	size_t i;

	*ret_all = false;
	json_array_foreach (list, i, item) {
		const char *name = json_string_value(item);

		*ret_all |= name && !strcasecmp(name, "ALL");
		caps |= name ? read_name(name) : 0;
	}
	return caps;
}

uint64_t eng_caps_of_root(
	enum eng_caps_default which, bool privileged, const json_t *add, const json_t *drop)
{
	bool add_all, drop_all;
	uint64_t added = read_list(add, &add_all), dropped = read_list(drop, &drop_all);

	if (privileged)
		return every;
	if (add_all)
		return every & ~dropped;
	return drop_all ? added : (defaults[which] & ~dropped) | added;
}

bool eng_caps_can_switch(uint64_t caps)
{
	return caps & BIT(SETUID) && caps & BIT(SETGID);
}

void eng_caps_describe(uint64_t caps, char ret[ENG_CAPS_TEXT_SIZE])
{
	size_t len = 0;

	snprintf(ret, ENG_CAPS_TEXT_SIZE, "none");
	for (unsigned i = 0; i < SB_ARRAY_SIZE(names); i++)
		if (caps & BIT(i))
			len += (size_t)snprintf(ret + len, ENG_CAPS_TEXT_SIZE - len, "%s%s",
				len ? " " : "", names[i]);
}

bool eng_caps_is_word(const char *word)
{
	for (unsigned i = 0; i < SB_ARRAY_SIZE(names); i++)
		if (!strcmp(word, names[i]))
			return true;
	return !strcmp(word, "none");
}
