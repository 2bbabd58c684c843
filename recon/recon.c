/* SPDX-License-Identifier: MIT */
#include "recon/recon.h"

#include "engine/caps.h"
#include "engine/text.h"
#include "recon/libc.h"
#include "recon/osrel.h"
#include "recon/program.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define BIT(fact) (1u << (fact))

static const sb_fact_set platform_set = BIT(SB_FACT_ARCH) | BIT(SB_FACT_VARIANT);
static const sb_fact_set libc_set = BIT(SB_FACT_LIBC) | BIT(SB_FACT_LIBC_VERSION);
static const sb_fact_set osrel_set =
	BIT(SB_FACT_DISTRO) | BIT(SB_FACT_VERSION) | BIT(SB_FACT_FAMILY);

/* Other names for OCI's words, and the variant that goes without saying. */
static const struct word {
	const char *label, *arch, *variant;
} words[] = {
	{"x86_64", "amd64", ""},
	{"x86-64", "amd64", ""},
	{"i386", "386", ""},
	{"i686", "386", ""},
	{"arm64", "arm64", "v8"},
	{"aarch64", "arm64", "v8"},
	{"armhf", "arm", "v7"},
	{"armel", "arm", "v6"},
	{"ppc64el", "ppc64le", ""},
	{"mips64el", "mips64le", ""},
	{"loongarch64", "loong64", ""},
};

static const char *const shell_paths[] = {
	"/bin/sh",
	"/bin/bash",
	"/bin/dash",
	"/bin/ash",
	"/bin/ksh",
	"/bin/zsh",
	"/bin/busybox",
};

struct subject {
	const struct recon_io *io;
	const struct eng_container *container;
	const struct eng_image *image;
	sb_fact_set wanted;
	bool need_elf;
};

struct findings {
	struct eng_image platform; /* in OCI's words */
	struct recon_program program;
	char libc_version[RECON_VERSION_MAX];
	struct osrel osrel;
};

static void put_lower(char dst[32], const char *src)
{
	size_t len = strlen(src);

	for (size_t i = 0; i < len && len < 32; i++)
		dst[i] = (char)tolower((unsigned char)src[i]);
	dst[len < 32 ? len : 0] = '\0';
}

static void normalise(struct eng_image *platform)
{
	const char *variant = platform->variant;
	const struct word *word = NULL;

	for (size_t i = 0; i < SB_ARRAY_SIZE(words) && !word; i++)
		if (!strcmp(words[i].label, platform->arch))
			word = &words[i];
	if (variant[0] >= '0' && variant[0] <= '9' && strlen(variant) + 2 < 32) {
		memmove(platform->variant + 1, variant, strlen(variant) + 1);
		platform->variant[0] = 'v';
	}
	if (!word)
		return;
	put_lower(platform->arch, word->arch);
	if (!platform->variant[0])
		put_lower(platform->variant, word->variant);
}

/*
 * What the engine says of the platform. The manifest that the container was made from comes before
 * the image, which may be an index for several platforms.
 */
void recon_platform(const struct eng_container *container, struct eng_image *image)
{
	const char *os = sb_json_str(container->doc, "Platform");
	struct eng_image label = {0}, ret = {0};

	put_lower(label.arch, image->arch);
	put_lower(label.variant, image->variant);
	normalise(&label);
	put_lower(ret.os, image->os);
	if (!ret.os[0])
		put_lower(ret.os, os ? os : "");
	put_lower(ret.arch, container->arch);
	normalise(&ret);
	if (!ret.arch[0] || !strcmp(ret.arch, label.arch)) {
		put_lower(ret.arch, label.arch);
		put_lower(ret.variant, label.variant);
	}
	*image = ret;
}

static int learn_program(const struct subject *subject, struct findings *ret, struct sb_err *err)
{
	ret->platform = *subject->image;
	recon_platform(subject->container, &ret->platform);
	ret->program = (struct recon_program){.elf = {.arch = "", .variant = ""}, .libc = ""};
	if (!subject->need_elf && !(subject->wanted & libc_set) &&
		(ret->platform.arch[0] || !(subject->wanted & platform_set)))
		return 0;
	if (recon_program_find(subject->io, subject->container, subject->wanted & libc_set,
		    &ret->program, err) < 0)
		return -1;
	if (!ret->platform.arch[0]) {
		put_lower(ret->platform.arch, ret->program.elf.arch);
		put_lower(ret->platform.variant, ret->program.elf.variant);
	}
	return 0;
}

static int check_platform(const struct findings *findings, struct sb_err *err)
{
	const struct recon_program *program = &findings->program;

	if (!program->path[0] || !strcmp(program->elf.arch, findings->platform.arch))
		return 0;
	return sb_err_set(err, SB_UNSUPPORTED,
		"the image is labelled '%s', but '%s' in it is a program for '%s'",
		findings->platform.arch, program->path, program->elf.arch);
}

/* 1: there is no such file. Looking first is cheap, and spares a read of what is only a link. */
static int read_osrel(
	const struct recon_io *io, const char *name, struct osrel *ret, struct sb_err *err)
{
	/* One byte more than is accepted, to tell a file that was cut. */
	sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_FILE_PROBE + 1);
	char path[RECON_PATH_MAX];
	struct eng_stat st;
	int outcome = recon_resolve(io, name, path, &st, err);

	if (outcome != 0 || st.type != ENG_FILE)
		return outcome < 0 ? -1 : 1;
	outcome = recon_read(io, path, SB_MAX_FILE_PROBE + 1, &text, err);
	if (outcome == 0 && text.len <= SB_MAX_FILE_PROBE)
		osrel_parse(sb_buf_str(&text), text.len, ret);
	return outcome;
}

static int learn_osrel(const struct subject *subject, struct osrel *ret, struct sb_err *err)
{
	int outcome = read_osrel(subject->io, "/etc/os-release", ret, err);

	if (outcome == 1)
		outcome = read_osrel(subject->io, "/usr/lib/os-release", ret, err);
	return outcome < 0 ? -1 : 0;
}

static int learn_rest(const struct subject *subject, struct findings *ret, struct sb_err *err)
{
	ret->libc_version[0] = '\0';
	ret->osrel = (struct osrel){0};
	if (subject->wanted & BIT(SB_FACT_LIBC_VERSION) && ret->program.loader[0] &&
		recon_libc_version(subject->io, ret->program.loader, ret->libc_version, err) < 0)
		return -1;
	return subject->wanted & osrel_set ? learn_osrel(subject, &ret->osrel, err) : 0;
}

/* Without the group. */
static void name_user(const struct eng_container *container, char ret[SB_FACT_MAX])
{
	const char *user = container->user;

	if (eng_container_is_roots(container))
		user = "root";
	snprintf(ret, SB_FACT_MAX, "%.*s", (int)strcspn(user, ":"), user);
}

static void put_facts(
	const struct subject *subject, const struct findings *findings, struct sb_facts *ret)
{
	const struct osrel *osrel = &findings->osrel;
	char family[sizeof(osrel->id) + sizeof(osrel->id_like)];
	char user[SB_FACT_MAX], caps[ENG_CAPS_TEXT_SIZE];
	const struct {
		enum sb_fact fact;
		const char *value;
	} values[] = {
		{SB_FACT_OS, findings->platform.os},
		{SB_FACT_ARCH, findings->platform.arch},
		{SB_FACT_VARIANT, findings->platform.variant},
		{SB_FACT_LIBC, findings->program.libc},
		{SB_FACT_LIBC_VERSION, findings->libc_version},
		{SB_FACT_DISTRO, osrel->id},
		{SB_FACT_VERSION, osrel->version_id},
		{SB_FACT_FAMILY, family},
		{SB_FACT_IMAGE, subject->container->image},
		{SB_FACT_USER, user},
		{SB_FACT_CAPS, caps},
	};

	snprintf(family, sizeof(family), "%s%s%s", osrel->id,
		osrel->id[0] && osrel->id_like[0] ? " " : "", osrel->id_like);
	name_user(subject->container, user);
	eng_caps_describe(subject->container->root_caps, caps);
	for (size_t i = 0; i < SB_ARRAY_SIZE(values); i++)
		if (subject->wanted & BIT(values[i].fact))
			sb_fact_put(ret, values[i].fact, values[i].value);
	ret->labels = subject->container->labels;
}

int recon_facts(const struct recon_io *io, const struct eng_container *container,
	struct eng_image *image, sb_fact_set wanted, bool check_elf, struct sb_facts *ret,
	struct sb_err *err)
{
	struct subject subject = {io, container, image, wanted, check_elf};
	struct findings findings;

	if (learn_program(&subject, &findings, err) < 0 || check_platform(&findings, err) < 0 ||
		learn_rest(&subject, &findings, err) < 0)
		return -1;
	put_facts(&subject, &findings, ret);
	*image = findings.platform;
	return 0;
}

static int list_shells(const struct recon_io *io, const char *ret[], struct sb_err *err)
{
	size_t count = 0;

	for (size_t i = 0; i < SB_ARRAY_SIZE(shell_paths); i++) {
		char path[RECON_PATH_MAX];
		struct eng_stat st;
		int outcome = recon_resolve(io, shell_paths[i], path, &st, err);

		if (outcome < 0)
			return -1;
		if (outcome == 0 && st.type == ENG_FILE && st.mode & 0111)
			ret[count++] = shell_paths[i];
	}
	ret[count] = NULL;
	return 0;
}

int recon_probe(const struct recon_io *io, const struct eng_container *container,
	const struct eng_image *image, enum eng_kind engine, struct recon_report *ret,
	struct sb_err *err)
{
	struct subject subject = {io, container, image, BIT(SB_FACT_COUNT) - 1, true};
	struct findings findings;
	const struct recon_program *program = &findings.program;
	struct recon_report report = {0};
	struct sb_err why = SB_ERR_INIT;

	_Static_assert(SB_ARRAY_SIZE(shell_paths) < SB_ARRAY_SIZE(report.shells), "shells");
	if (learn_program(&subject, &findings, err) < 0 ||
		learn_rest(&subject, &findings, err) < 0 || list_shells(io, report.shells, err) < 0)
		return -1;
	put_facts(&subject, &findings, &report.facts);
	memcpy(report.interp, program->elf.interp, sizeof(report.interp));
	memcpy(report.elf_path, program->path, sizeof(report.elf_path));
	put_lower(report.elf_arch, program->elf.arch);
	memcpy(report.pretty_name, findings.osrel.pretty_name, sizeof(report.pretty_name));
	if (check_platform(&findings, &why) < 0)
		sb_text_clean(report.contradiction, sizeof(report.contradiction), why.text,
			strlen(why.text));
	report.place_count =
		recon_place_list(container, engine, report.places, SB_ARRAY_SIZE(report.places));
	*ret = report;
	return 0;
}
