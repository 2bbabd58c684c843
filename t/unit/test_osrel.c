/* SPDX-License-Identifier: MIT */
/* The os-release parser: files of real distributions, quoting, and nonsense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "recon/osrel.h"

static struct osrel parse_bytes(const char *data, size_t len)
{
	/* Without a NUL behind it, so that the sanitizer sees a read beyond the end. */
	char *copy = malloc(len ? len : 1);
	struct osrel osrel;

	assert_non_null(copy);
	memcpy(copy, data, len);
	osrel_parse(copy, len, &osrel);
	free(copy);
	return osrel;
}

static struct osrel parse(const char *text)
{
	return parse_bytes(text, strlen(text));
}

static void test_osrel_parse__reads_real_files(void **state)
{
	static const struct {
		const char *text, *id, *id_like, *version_id, *pretty_name;
	} rows[] = {
		{"PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\n"
		 "VERSION_ID=\"12\"\nVERSION=\"12 (bookworm)\"\nVERSION_CODENAME=bookworm\n"
		 "ID=debian\nHOME_URL=\"https://www.example.org/\"\n",
			"debian", "", "12", "Debian GNU/Linux 12 (bookworm)"},
		{"NAME=\"Alpine Linux\"\nID=alpine\nVERSION_ID=3.20.3\n"
		 "PRETTY_NAME=\"Alpine Linux v3.20\"\n",
			"alpine", "", "3.20.3", "Alpine Linux v3.20"},
		{"ID=alpine\nVERSION_ID=3.22_alpha20250108\n", "alpine", "", "3.22_alpha20250108",
			""},
		{"NAME=\"Rocky Linux\"\nVERSION=\"9.3 (Blue Onyx)\"\nID=\"rocky\"\n"
		 "ID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.3\"\n",
			"rocky", "rhel centos fedora", "9.3", ""},
		{"ID='opensuse-leap'\r\nID_LIKE='suse  opensuse'\r\n", "opensuse-leap",
			"suse opensuse", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct osrel osrel = parse(rows[i].text);

		assert_string_equal(osrel.id, rows[i].id);
		assert_string_equal(osrel.id_like, rows[i].id_like);
		assert_string_equal(osrel.version_id, rows[i].version_id);
		assert_string_equal(osrel.pretty_name, rows[i].pretty_name);
	}
}

static void test_osrel_parse__undoes_shell_quoting(void **state)
{
	static const struct {
		const char *raw, *expected;
	} rows[] = {
		{"plain", "plain"},
		{"\"a b\"", "a b"},
		{"'a b'", "a b"},
		{"a\\ b", "a b"},
		{"\"\\\"\\$\\`\\\\\"", "\"$`\\"},
		{"\"\\n\\x\"", "\\n\\x"},
		{"'\\n'", "\\n"},
		{"'a\"b'", "a\"b"},
		{"\"a'b\"", "a'b"},
		{"\"a\"'b'c", "abc"},
		{"$HOME", "$HOME"},
		{"a b", "a b"},
		{"a # b", "a"},
		{"a#b", "a#b"},
		{"\"a # b\"", "a # b"},
		{"\"a\" \t# b\"", "a"},
		{"\"a\"  ", "a"},
		{"", ""},
		{"\"\"", ""},
		{"a=b", "a=b"},
		{"\"a", ""},
		{"'a", ""},
		{"a\\", ""},
		{"\"a\\\"", ""},
		{"\"a\\", ""},
		{"G\303\266del", "G\303\266del"},
		{"\"\033[2J\"", "\\x1b[2J"},
		{"\377", "\\xff"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		char text[128] = "PRETTY_NAME=";

		strcat(text, rows[i].raw);
		assert_string_equal(parse(text).pretty_name, rows[i].expected);
		strcat(text, "\nID=x\n");
		assert_string_equal(parse(text).pretty_name, rows[i].expected);
		assert_string_equal(parse(text).id, "x");
	}
}

static void test_osrel_parse__ignores_other_lines(void **state)
{
	struct osrel osrel = parse("\n  \n#ID=a\n  # ID=b\nid=c\nXID=d\nID_=e\nID\nexport ID=f\n"
				   "=g\n\t ID=ok\nI D=h\nID =i\n");

	(void)state;
	assert_string_equal(osrel.id, "ok");
}

static void test_osrel_parse__lets_the_last_assignment_win(void **state)
{
	(void)state;
	assert_string_equal(parse("ID=a\nID=b\n").id, "b");
	assert_string_equal(parse("ID=a\nID=\n").id, "");
	assert_string_equal(parse("ID=a\nID=\"b\n").id, "");
	assert_string_equal(parse("ID=a\nID=B\n").id, "");
	assert_string_equal(parse("ID=B\nID=a").id, "a");
}

static void test_osrel_parse__refuses_odd_identifiers(void **state)
{
	static const char *const odd[] = {
		"Debian",
		"de bian",
		"\"debian \"",
		"../etc",
		"a/b",
		"a;b",
		"$(id)",
		"`id`",
		"a*",
		"\303\266",
		"a\033",
		"\"\"",
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(odd); i++) {
		char text[128] = "ID=";

		strcat(text, odd[i]);
		assert_string_equal(parse(text).id, "");
	}
	assert_string_equal(parse("ID_LIKE=\"a B c/ \td\"").id_like, "a d");
	assert_string_equal(parse("ID_LIKE=\"B\"").id_like, "");
}

static void test_osrel_parse__refuses_what_is_too_long(void **state)
{
	char line[4096];
	struct osrel osrel;

	(void)state;
	memset(line, 'a', sizeof(line));
	memcpy(line, "ID=", 3);
	assert_string_equal(parse_bytes(line, sizeof(line)).id, "");
	assert_string_equal(parse_bytes(line, 3 + 64).id, "");
	assert_int_equal(strlen(parse_bytes(line, 3 + 63).id), 63);
	memcpy(line, "ID_LIKE=", 8);
	for (size_t i = 10; i < sizeof(line); i += 3)
		line[i] = ' ';
	assert_string_equal(parse_bytes(line, 8 + 240).id_like, "");
	assert_string_equal(parse_bytes(line, 8 + 193).id_like, "");
	assert_int_equal(strlen(parse_bytes(line, 8 + 191).id_like), 191);
	memset(line, 'a', sizeof(line));
	memcpy(line, "PRETTY_NAME=", 12);
	osrel = parse_bytes(line, 12 + 300);
	assert_int_equal(strlen(osrel.pretty_name), 255);
	assert_string_equal(osrel.pretty_name + 252, "...");
	assert_string_equal(parse_bytes(line, sizeof(line)).pretty_name, "");
}

static void test_osrel_parse__survives_hostile_bytes(void **state)
{
	static const char nuls[] = "ID=a\0b\nVERSION_ID=\0\nID_LIKE=c\\\0\nPRETTY_NAME=ok";
	enum { BIG = 64 << 10 };
	char *big = malloc(BIG);
	struct osrel osrel = parse_bytes(nuls, sizeof(nuls) - 1);

	(void)state;
	assert_string_equal(osrel.id, "");
	assert_string_equal(osrel.version_id, "");
	assert_string_equal(osrel.id_like, "");
	assert_string_equal(osrel.pretty_name, "ok");
	assert_non_null(big);
	for (int c = 0; c < 256; c++) {
		memset(big, c, BIG);
		memcpy(big, "ID=\"", 4);
		assert_string_equal(parse_bytes(big, BIG).id, "");
		memset(big, c, 4);
		osrel = parse_bytes(big, BIG);
		assert_string_equal(osrel.id, "");
	}
	free(big);
	assert_string_equal(parse_bytes("", 0).id, "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_osrel_parse__reads_real_files),
		cmocka_unit_test(test_osrel_parse__undoes_shell_quoting),
		cmocka_unit_test(test_osrel_parse__ignores_other_lines),
		cmocka_unit_test(test_osrel_parse__lets_the_last_assignment_win),
		cmocka_unit_test(test_osrel_parse__refuses_odd_identifiers),
		cmocka_unit_test(test_osrel_parse__refuses_what_is_too_long),
		cmocka_unit_test(test_osrel_parse__survives_hostile_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
