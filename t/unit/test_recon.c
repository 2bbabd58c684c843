/* SPDX-License-Identifier: MIT */
/* Facts and the probe report over a file system held in a table, with the requests counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recon/io.h"
#include "recon/libc.h"
#include "recon/program.h"
#include "recon/recon.h"
#include "t/unit/test_recon_elf.h"

#define FACT(name) (1u << SB_FACT_##name)

/* ---- the reader ---- */

struct file {
	const char *path;
	enum eng_type type;
	const char *link; /* of a link */
	const void *data;
	size_t len;
	enum sb_code fails; /* every request for it */
	unsigned mode;	    /* 0 is 0755 */
};

struct fixture {
	struct file files[16];
	int stats, reads;
	struct eng_container container;
	struct eng_image image, platform; /* labelled, and found */
	struct recon_io io;
};

static const struct file *find(struct fixture *fixture, const char *path)
{
	for (size_t i = 0; i < SB_ARRAY_SIZE(fixture->files); i++)
		if (fixture->files[i].path && !strcmp(fixture->files[i].path, path))
			return &fixture->files[i];
	return NULL;
}

static int fixture_stat(void *ctx, const char *path, struct eng_stat *ret, struct sb_err *err)
{
	struct fixture *fixture = ctx;
	const struct file *file = find(fixture, path);

	fixture->stats++;
	if (!file)
		return 1;
	if (file->fails)
		return sb_err_set(err, file->fails, "trouble with '%s'", path);
	*ret = (struct eng_stat){
		.type = file->type,
		.mode = file->mode ? file->mode : 0755,
		.size = file->len,
	};
	if (file->link)
		strncpy(ret->link, file->link, sizeof(ret->link) - 1);
	return 0;
}

static int fixture_read(
	void *ctx, const char *path, size_t max_bytes, struct sb_buf *out, struct sb_err *err)
{
	struct fixture *fixture = ctx;
	const struct file *file = find(fixture, path);

	fixture->reads++;
	for (int links = 0; file && file->type == ENG_LINK && links < 8; links++)
		file = find(fixture, file->link);
	if (!file || (!file->fails && file->type != ENG_FILE))
		return 1;
	if (file->fails)
		return sb_err_set(err, file->fails, "trouble with '%s'", path);
	return sb_buf_add(out, file->data, file->len < max_bytes ? file->len : max_bytes, err);
}

static void start(struct fixture *fixture)
{
	*fixture = (struct fixture){
		.container = {.state = "running",
			.image = "img:1",
			.path = "",
			.cwd = "",
			.arch = "",
			.user = ""},
		.image = {"linux", "amd64", ""},
		.io = {fixture_stat, fixture_read, NULL},
	};
}

static void add(struct fixture *fixture, struct file file)
{
	for (size_t i = 0; i < SB_ARRAY_SIZE(fixture->files); i++)
		if (!fixture->files[i].path) {
			fixture->files[i] = file;
			return;
		}
	fail_msg("too many files");
}

static void add_text(struct fixture *fixture, const char *path, const char *text)
{
	add(fixture, (struct file){path, ENG_FILE, NULL, text, strlen(text), SB_OK, 0});
}

static void add_link(struct fixture *fixture, const char *path, const char *target)
{
	add(fixture, (struct file){path, ENG_LINK, target, NULL, strlen(target), SB_OK, 0});
}

/* `cut` makes files of different sizes, which otherwise count as one program. */
static void add_elf(
	struct fixture *fixture, const char *path, const struct elf_image *elf, size_t cut)
{
	add(fixture,
		(struct file){path, ENG_FILE, NULL, elf->data, sizeof(elf->data) - cut, SB_OK, 0});
}

static struct sb_facts learn(struct fixture *fixture, sb_fact_set wanted, bool check_elf)
{
	struct sb_facts facts = {0};
	struct sb_err err = SB_ERR_INIT;

	fixture->stats = fixture->reads = 0;
	fixture->io.ctx = fixture;
	fixture->platform = fixture->image;
	if (recon_facts(&fixture->io, &fixture->container, &fixture->platform, wanted, check_elf,
		    &facts, &err) != 0)
		fail_msg("%s", err.text);
	return facts;
}

static struct sb_err learn_error(struct fixture *fixture, sb_fact_set wanted, bool check_elf)
{
	struct sb_facts facts = {0};
	struct sb_err err = SB_ERR_INIT;

	fixture->io.ctx = fixture;
	assert_int_equal(recon_facts(&fixture->io, &fixture->container, &fixture->image, wanted,
				 check_elf, &facts, &err),
		-1);
	return err;
}

#define assert_fact(facts, name, expected) \
	assert_string_equal((facts).value[SB_FACT_##name], (expected))
#define assert_requests(fixture, stat_count, read_count)          \
	do {                                                      \
		assert_int_equal((fixture)->stats, (stat_count)); \
		assert_int_equal((fixture)->reads, (read_count)); \
	} while (0)

/* ---- from the engine's records ---- */

static void test_recon_facts__asks_nothing_for_what_inspect_tells(void **state)
{
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	start(&f);
	f.container.path = "/bin/sh";
	facts = learn(&f,
		FACT(OS) | FACT(ARCH) | FACT(VARIANT) | FACT(IMAGE) | FACT(ENGINE) | FACT(CLIENT) |
			FACT(LABEL),
		false);
	assert_requests(&f, 0, 0);
	assert_fact(facts, OS, "linux");
	assert_fact(facts, ARCH, "amd64");
	assert_fact(facts, VARIANT, "");
	assert_fact(facts, IMAGE, "img:1");
}

static void test_recon_facts__fills_only_what_is_wanted(void **state)
{
	struct fixture f;
	struct sb_facts facts = {0};
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	start(&f);
	f.io.ctx = &f;
	f.container.labels = json_object();
	for (unsigned i = 0; i < SB_FACT_COUNT; i++)
		sb_fact_put(&facts, i, "before");
	assert_int_equal(
		recon_facts(&f.io, &f.container, &f.image,
			FACT(ARCH) | FACT(DISTRO) | FACT(ENGINE) | FACT(CLIENT) | FACT(LABEL),
			false, &facts, &err),
		0);
	for (unsigned i = 0; i < SB_FACT_COUNT; i++)
		assert_string_equal(facts.value[i], i == SB_FACT_ARCH	  ? "amd64"
						    : i == SB_FACT_DISTRO ? ""
									  : "before");
	assert_ptr_equal(facts.labels, f.container.labels);
	json_decref(f.container.labels);
}

static void test_recon_facts__speaks_oci(void **state)
{
	static const struct {
		const char *arch, *variant, *expected_arch, *expected_variant;
	} rows[] = {
		{"amd64", "", "amd64", ""},
		{"x86_64", "", "amd64", ""},
		{"AMD64", "v3", "amd64", "v3"},
		{"arm64", "", "arm64", "v8"},
		{"aarch64", "8", "arm64", "v8"},
		{"arm64", "v9", "arm64", "v9"},
		{"armhf", "", "arm", "v7"},
		{"arm", "7", "arm", "v7"},
		{"arm", "", "arm", ""},
		{"i386", "", "386", ""},
		{"ppc64el", "", "ppc64le", ""},
		{"toaster", "V2", "toaster", "v2"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct fixture f;
		struct sb_facts facts;

		start(&f);
		strcpy(f.image.arch, rows[i].arch);
		strcpy(f.image.variant, rows[i].variant);
		facts = learn(&f, FACT(ARCH) | FACT(VARIANT), false);
		assert_requests(&f, 0, 0);
		assert_fact(facts, ARCH, rows[i].expected_arch);
		assert_fact(facts, VARIANT, rows[i].expected_variant);
		assert_string_equal(f.platform.arch, rows[i].expected_arch);
		assert_string_equal(f.platform.variant, rows[i].expected_variant);
		recon_platform(&f.container, &f.image);
		assert_string_equal(f.image.arch, rows[i].expected_arch);
		assert_string_equal(f.image.variant, rows[i].expected_variant);
	}
}

static void test_recon_facts__takes_the_manifest_before_the_image(void **state)
{
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	start(&f);
	f.container.arch = "arm64";
	strcpy(f.image.variant, "v2");
	facts = learn(&f, FACT(ARCH) | FACT(VARIANT), false);
	assert_fact(facts, ARCH, "arm64");
	assert_fact(facts, VARIANT, "v8");
	f.container.arch = "x86_64";
	facts = learn(&f, FACT(ARCH) | FACT(VARIANT), false);
	assert_fact(facts, ARCH, "amd64");
	assert_fact(facts, VARIANT, "v2");
	assert_requests(&f, 0, 0);
}

static void test_recon_facts__takes_the_os_of_inspect_if_the_image_is_gone(void **state)
{
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	start(&f);
	f.image = (struct eng_image){"", "", ""};
	facts = learn(&f, FACT(OS), false);
	assert_fact(facts, OS, "");
	f.container.doc = json_pack("{s:s}", "Platform", "Linux");
	facts = learn(&f, FACT(OS), false);
	assert_fact(facts, OS, "linux");
	assert_requests(&f, 0, 0);
	json_decref(f.container.doc);
}

/* ---- os-release ---- */

static void test_recon_facts__reads_os_release_once(void **state)
{
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	start(&f);
	add_link(&f, "/etc/os-release", "/usr/lib/os-release");
	add_text(&f, "/usr/lib/os-release", "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n");
	facts = learn(&f, FACT(DISTRO) | FACT(VERSION) | FACT(FAMILY), false);
	assert_requests(&f, 2, 1);
	assert_fact(facts, DISTRO, "ubuntu");
	assert_fact(facts, VERSION, "24.04");
	assert_fact(facts, FAMILY, "ubuntu debian");
}

static void test_recon_facts__falls_back_to_the_second_os_release(void **state)
{
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	start(&f);
	facts = learn(&f, FACT(FAMILY), false);
	assert_requests(&f, 2, 0);
	assert_fact(facts, FAMILY, "");
	add(&f, (struct file){"/etc/os-release", .type = ENG_SPECIAL});
	add_text(&f, "/usr/lib/os-release", "ID_LIKE=\"rhel fedora\"\n");
	facts = learn(&f, FACT(FAMILY), false);
	assert_requests(&f, 2, 1);
	assert_fact(facts, FAMILY, "rhel fedora");
}

static void test_recon_facts__does_not_believe_a_huge_os_release(void **state)
{
	enum { HUGE = SB_MAX_FILE_PROBE + 1 };
	char *text = malloc(HUGE + 1);
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	assert_non_null(text);
	memset(text, '\n', HUGE);
	memcpy(text, "ID=debian", 9);
	for (size_t len = HUGE - 1; len <= HUGE; len++) {
		text[len] = '\0';
		start(&f);
		add_text(&f, "/etc/os-release", text);
		facts = learn(&f, FACT(DISTRO), false);
		assert_fact(facts, DISTRO, len == HUGE ? "" : "debian");
		text[len] = '\n';
	}
	free(text);
}

/* ---- programs ---- */

static void test_recon_facts__learns_libc_from_the_program_of_pid_1(void **state)
{
	static const struct {
		const char *interp, *libc;
	} rows[] = {
		{"/lib64/ld-linux-x86-64.so.2", "glibc"},
		{"/lib/ld-musl-x86_64.so.1", "musl"},
		{"/nix/store/abc-glibc-2.38/lib/ld-linux-x86-64.so.2", "glibc"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct elf_image elf = elf_image_make(64, false, 62, rows[i].interp);
		struct fixture f;
		struct sb_facts facts;

		start(&f);
		f.container.path = "/app";
		add_elf(&f, "/app", &elf, 0);
		facts = learn(&f, FACT(LIBC), false);
		assert_requests(&f, 1, 1);
		assert_fact(facts, LIBC, rows[i].libc);
		assert_fact(facts, ARCH, "");
	}
}

static void test_recon_facts__goes_on_to_a_dynamic_program(void **state)
{
	struct elf_image app = elf_image_make(64, false, 62, NULL);
	struct elf_image sh = elf_image_make(64, false, 62, "/lib/ld-musl-x86_64.so.1");
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	start(&f);
	f.container.path = "/app";
	add_elf(&f, "/app", &app, 0);
	facts = learn(&f, FACT(LIBC), false);
	assert_requests(&f, 6, 1);
	assert_fact(facts, LIBC, "none");
	add_link(&f, "/bin/sh", "/bin/busybox");
	add_elf(&f, "/bin/busybox", &sh, 1);
	facts = learn(&f, FACT(LIBC), false);
	assert_requests(&f, 3, 2);
	assert_fact(facts, LIBC, "musl");
	/* But only the first ELF is of interest for the machine. */
	learn(&f, 0, true);
	assert_requests(&f, 1, 1);
}

static void test_recon_facts__believes_a_lone_loader_among_static_programs(void **state)
{
	struct elf_image app = elf_image_make(64, false, 183, NULL);
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	start(&f);
	strcpy(f.image.arch, "arm64");
	f.container.path = "/app";
	add_elf(&f, "/app", &app, 0);
	add_text(&f, "/lib/ld-musl-x86_64.so.1", "of another machine");
	facts = learn(&f, FACT(LIBC), false);
	assert_fact(facts, LIBC, "none");
	add_text(&f, "/lib/ld-linux-aarch64.so.1", "stable release version 2.36.");
	facts = learn(&f, FACT(LIBC) | FACT(LIBC_VERSION), false);
	assert_fact(facts, LIBC, "glibc");
	assert_fact(facts, LIBC_VERSION, "2.36");
	add_link(&f, "/lib/ld-musl-aarch64.so.1", "/lib/libc.so");
	facts = learn(&f, FACT(LIBC), false);
	assert_fact(facts, LIBC, "glibc");
	add_text(&f, "/lib/libc.so", "musl");
	facts = learn(&f, FACT(LIBC) | FACT(LIBC_VERSION), false);
	assert_fact(facts, LIBC, "");
	assert_fact(facts, LIBC_VERSION, "");
}

static void test_recon_facts__knows_the_loaders_of_every_architecture(void **state)
{
	static const struct {
		int bits, machine;
		const char *arch, *loader;
	} rows[] = {
		{64, 62, "amd64", "/lib64/ld-linux-x86-64.so.2"},
		{64, 183, "arm64", "/lib/ld-linux-aarch64.so.1"},
		{32, 40, "arm", "/lib/ld-linux-armhf.so.3"},
		{64, 21, "ppc64le", "/lib64/ld64.so.2"},
		{64, 243, "riscv64", "/lib/ld-linux-riscv64-lp64d.so.1"},
		{64, 22, "s390x", "/lib/ld64.so.1"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct elf_image app =
			elf_image_make(rows[i].bits, rows[i].machine == 22, rows[i].machine, NULL);
		struct fixture f;

		start(&f);
		strcpy(f.image.arch, rows[i].arch);
		f.container.path = "/app";
		add_elf(&f, "/app", &app, 0);
		assert_fact(learn(&f, FACT(LIBC), false), LIBC, "none");
		add_text(&f, rows[i].loader, "stable release version 2.36.");
		assert_fact(learn(&f, FACT(LIBC), false), LIBC, "glibc");
	}
}

static void test_recon_facts__says_no_libc_without_evidence(void **state)
{
	struct elf_image odd = elf_image_make(64, false, 62, "/lib/ld-uClibc.so.0");
	struct elf_image cut = elf_image_make(64, false, 62, NULL);
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	start(&f);
	facts = learn(&f, FACT(LIBC), false);
	assert_requests(&f, 3, 0);
	assert_fact(facts, LIBC, "");
	add_elf(&f, "/bin/sh", &odd, 0);
	facts = learn(&f, FACT(LIBC), false);
	assert_fact(facts, LIBC, "");
	start(&f);
	elf_image_phoff(&cut, 1 << 20);
	add_elf(&f, "/bin/sh", &cut, 0);
	facts = learn(&f, FACT(LIBC), false);
	assert_fact(facts, LIBC, "");
}

static void test_recon_facts__reads_a_multi_call_binary_once(void **state)
{
	struct elf_image busybox = elf_image_make(64, false, 62, NULL);
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	start(&f);
	f.container.path = "sh";
	add_elf(&f, "/bin/sh", &busybox, 0);
	add_elf(&f, "/bin/busybox", &busybox, 0);
	add_elf(&f, "/usr/bin/env", &busybox, 0);
	facts = learn(&f, FACT(LIBC), false);
	assert_int_equal(f.reads, 1);
	assert_fact(facts, LIBC, "none");
}

static void test_recon_facts__finds_a_bare_name_and_a_relative_one(void **state)
{
	struct elf_image elf = elf_image_make(64, false, 183, "/lib/ld-linux-aarch64.so.1");
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	start(&f);
	f.image.arch[0] = '\0';
	f.container.path = "server";
	add(&f, (struct file){"/usr/local/bin/server", .type = ENG_DIR});
	add_link(&f, "/usr/bin/server", "/opt/server");
	add_elf(&f, "/opt/server", &elf, 0);
	facts = learn(&f, FACT(ARCH) | FACT(VARIANT), false);
	assert_fact(facts, ARCH, "arm64");
	assert_fact(facts, VARIANT, "v8");
	assert_int_equal(f.reads, 1);

	start(&f);
	f.image.arch[0] = '\0';
	f.container.path = "./server";
	f.container.cwd = "/srv";
	add_elf(&f, "/srv/./server", &elf, 0);
	facts = learn(&f, FACT(ARCH), false);
	assert_requests(&f, 1, 1);
	assert_fact(facts, ARCH, "arm64");
	assert_string_equal(f.platform.arch, "arm64");
}

static void test_recon_facts__follows_a_script_once(void **state)
{
	struct elf_image elf = elf_image_make(64, false, 62, "/lib64/ld-linux-x86-64.so.2");
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	start(&f);
	f.container.path = "/entry.sh";
	add_text(&f, "/entry.sh", "#! /usr/bin/env bash\nexec \"$@\"\n");
	add_elf(&f, "/usr/bin/env", &elf, 0);
	facts = learn(&f, FACT(LIBC), false);
	assert_requests(&f, 2, 2);
	assert_fact(facts, LIBC, "glibc");

	start(&f);
	f.container.path = "/a";
	add_text(&f, "/a", "#!/b\n");
	add_text(&f, "/b", "#!/c -x\n");
	add_elf(&f, "/c", &elf, 0);
	facts = learn(&f, FACT(LIBC), false);
	assert_fact(facts, LIBC, "");
	assert_requests(&f, 5, 2);
}

static void test_recon_script_interpreter__takes_an_absolute_path(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"#!/bin/sh\n", "/bin/sh"},
		{"#! \t/bin/sh -e\n", "/bin/sh"},
		{"#!/bin/sh\r\n", "/bin/sh"},
		{"#!/bin/sh", NULL},
		{"#!", NULL},
		{"#!\n", NULL},
		{"#!sh\n", NULL},
		{"#", NULL},
		{"", NULL},
		{" #!/bin/sh\n", NULL},
		{"#!/123456789012345\n", NULL},
		{"#!/12345678901234\n", "/12345678901234"},
	};
	char path[16];

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		bool found = recon_script_interpreter(
			rows[i].text, strlen(rows[i].text), path, sizeof(path));

		assert_int_equal(found, rows[i].expected != NULL);
		if (found)
			assert_string_equal(path, rows[i].expected);
	}
	assert_false(recon_script_interpreter("#!/bin\0\n", 8, path, sizeof(path)));
}

static void test_recon_facts__refuses_a_contradiction(void **state)
{
	struct elf_image elf = elf_image_make(64, false, 62, "/lib64/ld-linux-x86-64.so.2");
	struct fixture f;
	struct sb_err err;

	(void)state;
	start(&f);
	f.container.path = "/app";
	strcpy(f.image.arch, "aarch64");
	add_elf(&f, "/app", &elf, 0);
	learn(&f, FACT(ARCH), false);
	assert_requests(&f, 0, 0);
	err = learn_error(&f, FACT(ARCH), true);
	assert_int_equal(err.code, SB_UNSUPPORTED);
	assert_string_equal(err.text,
		"the image is labelled 'arm64', but '/app' in it is a program "
		"for 'amd64'");
	err = learn_error(&f, FACT(LIBC), false);
	assert_int_equal(err.code, SB_UNSUPPORTED);
}

static void test_recon_facts__skips_objects_and_unknown_machines(void **state)
{
	struct elf_image odd = elf_image_make(64, false, 0x1234, "/lib64/ld-linux-x86-64.so.2");
	struct elf_image sh = elf_image_make(64, false, 62, "/lib64/ld-linux-x86-64.so.2");
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	start(&f);
	f.container.path = "/app";
	add_elf(&f, "/app", &odd, 1);
	add_elf(&f, "/bin/sh", &sh, 0);
	facts = learn(&f, FACT(LIBC), true);
	assert_fact(facts, LIBC, "glibc");
	assert_requests(&f, 2, 2);

	start(&f);
	f.container.path = "/app";
	elf_image_put(&sh, 16, 2, 1);
	add_elf(&f, "/app", &sh, 0);
	facts = learn(&f, FACT(LIBC), true);
	assert_fact(facts, LIBC, "");
}

static void test_recon_facts__takes_no_libc_from_a_foreign_program(void **state)
{
	struct elf_image app = elf_image_make(64, false, 62, NULL);
	struct elf_image sh = elf_image_make(64, false, 183, "/lib/ld-linux-aarch64.so.1");
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	start(&f);
	f.container.path = "/app";
	add_elf(&f, "/app", &app, 1);
	add_elf(&f, "/bin/sh", &sh, 0);
	facts = learn(&f, FACT(LIBC), false);
	assert_fact(facts, LIBC, "");
}

static void test_recon_resolve__follows_a_few_links(void **state)
{
	struct fixture f;
	struct sb_err err = SB_ERR_INIT;
	struct eng_stat st;
	char path[RECON_PATH_MAX], name[RECON_PATH_MAX + 2];

	(void)state;
	start(&f);
	f.io.ctx = &f;
	add_link(&f, "/1", "/2");
	add_link(&f, "/2", "/3");
	add_link(&f, "/3", "/4");
	add_link(&f, "/4", "/5");
	add_text(&f, "/5", "end");
	assert_int_equal(recon_resolve(&f.io, "/1", path, &st, &err), 0);
	assert_string_equal(path, "/5");
	assert_int_equal(st.size, 3);
	add_link(&f, "/0", "/1");
	assert_int_equal(recon_resolve(&f.io, "/0", path, &st, &err), 1);
	assert_int_equal(recon_resolve(&f.io, "/none", path, &st, &err), 1);
	assert_int_equal(recon_resolve(&f.io, "", path, &st, &err), 1);
	memset(name, 'a', sizeof(name));
	name[RECON_PATH_MAX + 1] = '\0';
	f.stats = 0;
	assert_int_equal(recon_resolve(&f.io, name, path, &st, &err), 1);
	assert_int_equal(recon_resolve(&f.io, name + 1, path, &st, &err), 1);
	assert_int_equal(f.stats, 0);
	assert_int_equal(recon_resolve(&f.io, name + 2, path, &st, &err), 1);
	assert_int_equal(f.stats, 1);
}

static void test_recon_facts__survives_links_without_end(void **state)
{
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	start(&f);
	f.container.path = "/loop";
	add_link(&f, "/loop", "/loop");
	add_link(&f, "/bin/sh", "");
	add(&f, (struct file){"/bin/busybox", .type = ENG_SPECIAL});
	facts = learn(&f, FACT(LIBC), true);
	assert_fact(facts, LIBC, "");
	assert_int_equal(f.reads, 0);
	assert_in_range(f.stats, 1, 12);
}

static void test_recon_facts__tells_engine_trouble_from_odd_files(void **state)
{
	static const struct {
		enum sb_code code;
		bool is_error;
	} rows[] = {
		{SB_FAILED, false},
		{SB_NO_ENGINE, true},
		{SB_NO_CONTAINER, true},
		{SB_INTERRUPTED, true},
	};
	static const char *const paths[] = {"/etc/os-release", "/app", "/bin/sh"};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows) * SB_ARRAY_SIZE(paths); i++) {
		enum sb_code code = rows[i / SB_ARRAY_SIZE(paths)].code;
		struct fixture f;

		start(&f);
		f.container.path = "/app";
		add(&f, (struct file){paths[i % SB_ARRAY_SIZE(paths)], .fails = code});
		if (rows[i / SB_ARRAY_SIZE(paths)].is_error)
			assert_int_equal(
				learn_error(&f, FACT(LIBC) | FACT(DISTRO), false).code, code);
		else
			learn(&f, FACT(LIBC) | FACT(DISTRO), false);
	}
}

/* ---- the version of the libc ---- */

static void test_recon_libc_version_of_link__takes_the_old_names(void **state)
{
	static const struct {
		const char *target, *expected;
	} rows[] = {
		{"/lib/x86_64-linux-gnu/ld-2.31.so", "2.31"},
		{"ld-2.17.so", "2.17"},
		{"/lib/ld-2.11.3.so", "2.11.3"},
		{"/lib/ld-linux-x86-64.so.2", ""},
		{"/lib/ld-2.so", ""},
		{"/lib/ld-2..1.so", ""},
		{"/lib/ld-.so", ""},
		{"", ""},
		{"/ld-2.31.so/x", ""},
		{"/lib/ld-2.31.so.1", ""},
		{"/ld-1.1111111111111111111111111111111111.so", ""},
	};
	char version[RECON_VERSION_MAX];

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		assert_int_equal(recon_libc_version_of_link(rows[i].target, version),
			rows[i].expected[0] != '\0');
		assert_string_equal(version, rows[i].expected);
	}
}

static void test_recon_libc_version_of_bytes__takes_banner_and_apk(void **state)
{
	static const struct {
		bool (*read)(const void *data, size_t len, char ret[RECON_VERSION_MAX]);
		const char *text, *expected;
	} rows[] = {
		{recon_libc_version_of_loader,
			"ld.so (Debian GLIBC 2.36-9+deb12u10) stable release version 2.36.\n",
			"2.36"},
		{recon_libc_version_of_loader,
			"ld.so (GNU libc) development release version 2.40.9000", "2.40.9000"},
		{recon_libc_version_of_loader, "stable release version 2.36.", "2.36"},
		{recon_libc_version_of_loader, "stable release version ", ""},
		{recon_libc_version_of_loader, "stable release version 2", ""},
		{recon_libc_version_of_loader, "", ""},
		{recon_libc_version_of_apk, "C:Q1\nP:musl\nV:1.2.5-r0\nA:x86_64\n", "1.2.5"},
		{recon_libc_version_of_apk, "\nP:musl\nV:1.2.4_git20230717-r4\n", "1.2.4"},
		{recon_libc_version_of_apk, "\nP:musl-utils\nV:1.2.5-r0\n", ""},
		{recon_libc_version_of_apk, "\nP:musl\nV:1.2", ""},
		{recon_libc_version_of_apk, "\nP:musl\nV:", ""},
	};
	char version[RECON_VERSION_MAX];

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		char *copy = malloc(strlen(rows[i].text) ? strlen(rows[i].text) : 1);

		assert_non_null(copy);
		memcpy(copy, rows[i].text, strlen(rows[i].text));
		assert_int_equal(rows[i].read(copy, strlen(rows[i].text), version),
			rows[i].expected[0] != '\0');
		assert_string_equal(version, rows[i].expected);
		free(copy);
	}
}

static void test_recon_facts__learns_the_version_of_the_libc(void **state)
{
	struct elf_image glibc = elf_image_make(64, false, 62, "/lib64/ld-linux-x86-64.so.2");
	struct elf_image musl = elf_image_make(64, false, 62, "/lib/ld-musl-x86_64.so.1");
	struct fixture f;
	struct sb_facts facts;

	(void)state;
	start(&f);
	f.container.path = "/app";
	add_elf(&f, "/app", &glibc, 0);
	add_link(&f, "/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/ld-2.31.so");
	add_text(&f, "/lib/x86_64-linux-gnu/ld-2.31.so", "unread");
	facts = learn(&f, FACT(LIBC_VERSION), false);
	assert_requests(&f, 3, 1);
	assert_fact(facts, LIBC_VERSION, "2.31");
	assert_fact(facts, LIBC, "");

	start(&f);
	f.container.path = "/app";
	add_elf(&f, "/app", &glibc, 0);
	add_text(&f, "/lib64/ld-linux-x86-64.so.2", "\177ELF stable release version 2.36.\n");
	facts = learn(&f, FACT(LIBC_VERSION) | FACT(LIBC), false);
	assert_requests(&f, 2, 2);
	assert_fact(facts, LIBC_VERSION, "2.36");
	assert_fact(facts, LIBC, "glibc");

	start(&f);
	f.container.path = "/app";
	add_elf(&f, "/app", &musl, 0);
	facts = learn(&f, FACT(LIBC_VERSION), false);
	assert_requests(&f, 1, 2);
	assert_fact(facts, LIBC_VERSION, "");
	add_text(&f, "/lib/apk/db/installed", "P:x\n\nC:Q1\nP:musl\nV:1.2.5-r0\n");
	facts = learn(&f, FACT(LIBC_VERSION), false);
	assert_fact(facts, LIBC_VERSION, "1.2.5");
}

/* ---- probe ---- */

static void test_recon_probe__reports_everything(void **state)
{
	struct elf_image sh = elf_image_make(64, false, 62, "/lib/ld-musl-x86_64.so.1");
	struct recon_report report;
	struct sb_err err = SB_ERR_INIT;
	struct fixture f;

	(void)state;
	memset(&report, 0xa5, sizeof(report));
	start(&f);
	f.io.ctx = &f;
	f.container.path = "sh";
	add_text(&f, "/etc/os-release",
		"ID=alpine\nVERSION_ID=3.20.3\n"
		"PRETTY_NAME=\"Alpine \033[31m Linux\"\n");
	add_link(&f, "/bin/sh", "/bin/busybox");
	add_link(&f, "/bin/ash", "/bin/busybox");
	add_link(&f, "/bin/bash", "/nowhere");
	add(&f, (struct file){"/bin/ksh", .type = ENG_FILE, .mode = 0644});
	add_elf(&f, "/bin/busybox", &sh, 0);
	assert_int_equal(recon_probe(&f.io, &f.container, &f.image, ENG_DOCKER, &report, &err), 0);
	assert_fact(report.facts, OS, "linux");
	assert_fact(report.facts, ARCH, "amd64");
	assert_fact(report.facts, LIBC, "musl");
	assert_fact(report.facts, DISTRO, "alpine");
	assert_fact(report.facts, VERSION, "3.20.3");
	assert_fact(report.facts, FAMILY, "alpine");
	assert_fact(report.facts, IMAGE, "img:1");
	assert_fact(report.facts, ENGINE, "");
	assert_fact(report.facts, CLIENT, "");
	assert_string_equal(report.interp, "/lib/ld-musl-x86_64.so.1");
	assert_string_equal(report.elf_path, "/bin/sh");
	assert_string_equal(report.elf_arch, "amd64");
	assert_string_equal(report.contradiction, "");
	assert_string_equal(report.pretty_name, "Alpine \\x1b[31m Linux");
	assert_string_equal(report.shells[0], "/bin/sh");
	assert_string_equal(report.shells[1], "/bin/ash");
	assert_string_equal(report.shells[2], "/bin/busybox");
	assert_null(report.shells[3]);
	assert_int_equal(report.place_count, 6);
}

static void test_recon_probe__reports_a_contradiction(void **state)
{
	struct elf_image sh = elf_image_make(64, true, 22, "/lib/ld64.so.1");
	struct recon_report report;
	struct sb_err err = SB_ERR_INIT;
	struct fixture f;

	(void)state;
	start(&f);
	f.io.ctx = &f;
	add_elf(&f, "/bin/sh", &sh, 0);
	strcpy(f.image.arch, "a\033m");
	assert_int_equal(recon_probe(&f.io, &f.container, &f.image, ENG_PODMAN, &report, &err), 0);
	assert_string_equal(report.contradiction,
		"the image is labelled 'a\\x1bm', but '/bin/sh' in "
		"it is a program for 's390x'");
	assert_int_equal(err.code, SB_OK);
	assert_fact(report.facts, LIBC, "glibc");
}

static void test_recon_probe__of_an_empty_container_knows_nothing(void **state)
{
	struct recon_report report;
	struct sb_err err = SB_ERR_INIT;
	struct fixture f;

	(void)state;
	start(&f);
	f.io.ctx = &f;
	f.image = (struct eng_image){"", "", ""};
	f.container.image = "";
	assert_int_equal(recon_probe(&f.io, &f.container, &f.image, ENG_DOCKER, &report, &err), 0);
	for (unsigned i = 0; i < SB_FACT_COUNT; i++)
		if (i != SB_FACT_USER && i != SB_FACT_CAPS)
			assert_string_equal(report.facts.value[i], "");
	assert_string_equal(report.facts.value[SB_FACT_USER], "root");
	assert_string_equal(report.facts.value[SB_FACT_CAPS], "none");
	assert_string_equal(report.elf_path, "");
	assert_null(report.shells[0]);
	add(&f, (struct file){"/bin/zsh", .fails = SB_NO_ENGINE});
	assert_int_equal(recon_probe(&f.io, &f.container, &f.image, ENG_DOCKER, &report, &err), -1);
	assert_int_equal(err.code, SB_NO_ENGINE);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recon_facts__asks_nothing_for_what_inspect_tells),
		cmocka_unit_test(test_recon_facts__fills_only_what_is_wanted),
		cmocka_unit_test(test_recon_facts__speaks_oci),
		cmocka_unit_test(test_recon_facts__takes_the_manifest_before_the_image),
		cmocka_unit_test(test_recon_facts__takes_the_os_of_inspect_if_the_image_is_gone),
		cmocka_unit_test(test_recon_facts__reads_os_release_once),
		cmocka_unit_test(test_recon_facts__falls_back_to_the_second_os_release),
		cmocka_unit_test(test_recon_facts__does_not_believe_a_huge_os_release),
		cmocka_unit_test(test_recon_facts__learns_libc_from_the_program_of_pid_1),
		cmocka_unit_test(test_recon_facts__goes_on_to_a_dynamic_program),
		cmocka_unit_test(test_recon_facts__believes_a_lone_loader_among_static_programs),
		cmocka_unit_test(test_recon_facts__knows_the_loaders_of_every_architecture),
		cmocka_unit_test(test_recon_facts__says_no_libc_without_evidence),
		cmocka_unit_test(test_recon_facts__reads_a_multi_call_binary_once),
		cmocka_unit_test(test_recon_facts__finds_a_bare_name_and_a_relative_one),
		cmocka_unit_test(test_recon_facts__follows_a_script_once),
		cmocka_unit_test(test_recon_script_interpreter__takes_an_absolute_path),
		cmocka_unit_test(test_recon_facts__refuses_a_contradiction),
		cmocka_unit_test(test_recon_facts__skips_objects_and_unknown_machines),
		cmocka_unit_test(test_recon_facts__takes_no_libc_from_a_foreign_program),
		cmocka_unit_test(test_recon_resolve__follows_a_few_links),
		cmocka_unit_test(test_recon_facts__survives_links_without_end),
		cmocka_unit_test(test_recon_facts__tells_engine_trouble_from_odd_files),
		cmocka_unit_test(test_recon_libc_version_of_link__takes_the_old_names),
		cmocka_unit_test(test_recon_libc_version_of_bytes__takes_banner_and_apk),
		cmocka_unit_test(test_recon_facts__learns_the_version_of_the_libc),
		cmocka_unit_test(test_recon_probe__reports_everything),
		cmocka_unit_test(test_recon_probe__reports_a_contradiction),
		cmocka_unit_test(test_recon_probe__of_an_empty_container_knows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
