/* SPDX-License-Identifier: MIT */
#include "conf/rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEAD "version: 1\npayloads: {tools-amd64: {source: embedded}}\n"
#define RULES "rules:\n- {when: {os: linux}, use: tools-amd64}\n"
#define PAYLOAD(body) \
	"version: 1\npayloads:\n  p: {" body "}\n  tools-amd64: {source: embedded}\n" RULES
#define INSTALL(body) HEAD "install:\n  " body "\n" RULES
#define WHEN(body) HEAD "rules:\n- when: " body "\n  use: tools-amd64\n"
#define TWO(a, b)                                            \
	HEAD "rules:\n- {when: {" a "}, use: tools-amd64}\n" \
	     "- {when: {" b "}, use: tools-amd64}\n"
#define TIE                                                                                  \
	"f:5:3: this rule and the one at f:4:3 test the same facts for the same values, so " \
	"neither is more specific"
#define FIFTY "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"
#define LONG FIFTY FIFTY FIFTY FIFTY FIFTY

struct bad {
	const char *text;
	const char *error;
};

static int check_table(const struct bad *table, size_t count)
{
	int wrong = 0;

	for (size_t i = 0; i < count; i++) {
		struct sb_err err = SB_ERR_INIT;
		struct conf *conf = NULL;
		int rc = conf_parse(table[i].text, strlen(table[i].text), "f", "/d", &conf, &err);

		if (rc == -1 && !conf && err.code == SB_USAGE && !strcmp(err.text, table[i].error))
			continue;
		print_error("is: %s\nnot: %s\nof: %s\n", err.text, table[i].error, table[i].text);
		conf_free(conf);
		wrong++;
	}
	return wrong;
}

static const struct bad bad_shapes[] = {
	{"", "f:1:1: the file is empty"},
	{"- a\n", "f:1:1: a rules file must be a mapping, not a list"},
	{"text\n", "f:1:1: a rules file must be a mapping, not a string"},
	{"{}\n", "f:1:1: a rules file needs the key 'version'"},
	{"version: 1\n", "f:1:1: a rules file needs the key 'payloads'"},
	{HEAD, "f:1:1: a rules file needs the key 'rules'"},
	{"version: 2\nnews: 1\n", "f:1:10: version '2' is not supported; this sbinject reads "
				  "version 1"},
	{"version: 1.0\n", "f:1:10: version '1.0' is not supported; this sbinject reads version 1"},
	{"version: [1]\npayloads: 1\n", "f:1:10: 'version' must be a string, not a list"},
	{HEAD RULES "rule: 1\n",
		"f:5:1: unknown key 'rule'; known keys: version, payloads, install, start, rules"},
	{"version: 1\npayloads: []\n" RULES, "f:2:11: 'payloads' must be a mapping, not a list"},
	{"version: 1\npayloads: {}\n" RULES, "f:2:11: 'payloads' is empty"},
	{HEAD "rules: {a: b}\n", "f:3:8: 'rules' must be a list, not a mapping"},
	{HEAD "rules: []\n", "f:3:8: 'rules' is empty"},
	{HEAD "rules: [a]\n", "f:3:9: a rule must be a mapping, not a string"},
	{HEAD "start: start-server\n" RULES, "f:3:8: 'start' must be a list, not a string"},
	{HEAD "start: []\n" RULES, "f:3:8: 'start' is empty"},
	{HEAD "start: [a, '']\n" RULES, "f:3:12: an argument is empty"},
	{HEAD "start: [a, [b]]\n" RULES, "f:3:12: an item must be a string, not a list"},
	{HEAD "start: [a, b, c, d, e, f, g, h, i]\n" RULES,
		"f:3:8: 'start' has 9 items; at most 8 are allowed"},
	{HEAD "start: [" LONG "a12345]\n" RULES, "f:3:9: an argument is longer than 255 bytes"},
	{HEAD "start:\n" RULES, "f:3:1: 'start' has no value"},
	{HEAD "version: 1\n" RULES, "f:3:1: duplicate key 'version', first on line 1"},
};

static const struct bad bad_payloads[] = {
	{"version: 1\npayloads:\n  p: embedded\n" RULES,
		"f:3:6: payload 'p' must be a mapping, not a string"},
	{"version: 1\npayloads:\n  -p: {source: embedded}\n" RULES,
		"f:3:3: a payload's name must be up to 64 of a-z, A-Z, 0-9, '.', '_' and '-', and "
		"begin with a letter or digit"},
	{PAYLOAD("path: /x"), "f:3:6: payload 'p' needs the key 'source'"},
	{PAYLOAD("source: net"),
		"f:3:15: unknown source 'net'; known sources: embedded, file, store, upstream"},
	{PAYLOAD("source: [file]"), "f:3:15: 'source' must be a string, not a list"},
	{PAYLOAD("source: file"), "f:3:6: payload 'p' is from a file and needs the key 'path'"},
	{PAYLOAD("source: file, path: x"),
		"f:3:6: payload 'p' is not embedded and needs the key 'sha256'"},
	{PAYLOAD("source: file, path: ''"), "f:3:27: 'path' is empty"},
	{PAYLOAD("source: file, path: x, sha256: 12"),
		"f:3:38: 'sha256' must be 64 lowercase hexadecimal digits"},
	{PAYLOAD("source: file, path: x, sha256: 0123456789ABCDEF0123456789abcdef0123456789abcdef"
		 "0123456789abcdef"),
		"f:3:38: 'sha256' must be 64 lowercase hexadecimal digits"},
	{PAYLOAD("source: file, path: x, sha256: " SHA "0"),
		"f:3:38: 'sha256' must be 64 lowercase hexadecimal digits"},
	{PAYLOAD("source: file, path: x, format: tar, sha256: " SHA),
		"f:3:6: payload 'p' is a tree and needs the key 'tree'; 'sbinject payloads "
		"--describe FILE' prints it"},
	{PAYLOAD("source: file, path: x, format: zip, sha256: " SHA),
		"f:3:38: unknown format 'zip'; known formats: binary, tar"},
	{PAYLOAD("source: file, size: 1"),
		"f:3:21: unknown key 'size'; known keys: source, path, sha256, format, tree, "
		"install, launcher"},
	{PAYLOAD("path: x, source: embedded"), "f:3:7: 'path' needs 'source: file'"},
	{PAYLOAD("source: embedded"),
		"f:3:3: an embedded payload must be named 'tools-<arch>', not 'p'"},
	{"version: 1\npayloads: {tools-: {source: embedded}}\n" RULES,
		"f:2:12: an embedded payload must be named 'tools-<arch>', not 'tools-'"},
	{"version: 1\npayloads: {tools-a-b: {source: embedded}}\n" RULES,
		"f:2:12: an embedded payload must be named 'tools-<arch>', not 'tools-a-b'"},
};

#define TREE "source: file, path: x, format: tar, sha256: " SHA ", tree: " SHA
#define ITS_DIR(path, why) "f:3:198: '" path "' cannot be a tree's directory: " why
#define ITS_LAUNCHER(path, why) "f:3:199: '" path "' cannot be the launcher: " why

static const struct bad bad_tree_payloads[] = {
	{PAYLOAD("source: embedded, format: tar"),
		"f:3:33: no archive is embedded; use 'source: file'"},
	{PAYLOAD("source: file, path: x, format: [tar]"),
		"f:3:38: 'format' must be a string, not a list"},
	{PAYLOAD("source: file, path: x, sha256: " SHA ", tree: " SHA),
		"f:3:104: 'tree' needs 'format: tar'"},
	{PAYLOAD("source: file, path: x, sha256: " SHA ", install: /a/b"),
		"f:3:104: 'install' needs 'format: tar'"},
	{PAYLOAD("source: file, path: x, sha256: " SHA ", launcher: a"),
		"f:3:104: 'launcher' needs 'format: tar'"},
	{PAYLOAD("source: store, sha256: " SHA),
		"f:3:6: payload 'p' is from the store and needs 'format: tar'"},
	{PAYLOAD("source: store, path: x, sha256: " SHA), "f:3:22: 'path' needs 'source: file'"},
	{PAYLOAD("source: store, format: tar"),
		"f:3:6: payload 'p' is not embedded and needs the key 'sha256'"},
	{PAYLOAD("source: store, format: tar, tree: 12"),
		"f:3:41: 'tree' must be 64 lowercase hexadecimal digits"},
	{PAYLOAD("source: store, format: tar, tree: " SHA "0"),
		"f:3:41: 'tree' must be 64 lowercase hexadecimal digits"},
	{PAYLOAD(TREE ", install: [/a]"), "f:3:198: 'install' must be a string, not a list"},
	{PAYLOAD(TREE ", install: ''"), ITS_DIR("", "it is not absolute")},
	{PAYLOAD(TREE ", install: a"), ITS_DIR("a", "it is not absolute")},
	{PAYLOAD(TREE ", install: /a/"), ITS_DIR("/a/", "it has a slash too many")},
	{PAYLOAD(TREE ", install: /a/../b"), ITS_DIR("/a/../b", "it contains '.' or '..'")},
	{PAYLOAD(TREE ", install: /opt"), ITS_DIR("/opt", "it is a well-known directory")},
	{PAYLOAD(TREE ", install: /usr/lib"), ITS_DIR("/usr/lib", "it is a well-known directory")},
	{PAYLOAD(TREE ", install: /home/me"), ITS_DIR("/home/me", "it is a well-known directory")},
	{PAYLOAD(TREE ", install: /proc/x"),
		ITS_DIR("/proc/x", "it is in a file system that cannot hold files")},
	{PAYLOAD(TREE ", install: /opt/.sbinject-tree-x"),
		ITS_DIR("/opt/.sbinject-tree-x",
			"sbinject and its service keep files of their own there")},
	{PAYLOAD(TREE ", launcher: [a]"), "f:3:199: 'launcher' must be a string, not a list"},
	{PAYLOAD(TREE ", launcher: /a"), ITS_LAUNCHER("/a", "it is not relative")},
	{PAYLOAD(TREE ", launcher: ../a"), ITS_LAUNCHER("../a", "it contains '.' or '..'")},
	{PAYLOAD(TREE ", launcher: ''"), ITS_LAUNCHER("", "it is empty")},
	{PAYLOAD(TREE ", launcher: a//b"), ITS_LAUNCHER("a//b", "it has a slash too many")},
	{PAYLOAD(TREE ", launcher: " LONG "123456"),
		ITS_LAUNCHER(LONG "123456", "it is longer than 255 bytes")},
};

/* Trees a (at /a/b), c (below it), d and e (the service's, with and without 'install'), f (of
   another place), n (that is nowhere), l (above a link). */
#define TREES                                                                            \
	"version: 1\npayloads:\n  tools-amd64: {source: embedded}\n"                     \
	"  a: {" TREE ", install: /a/b}\n  c: {" TREE ", install: /a/b/c}\n"             \
	"  d: {" TREE ", install: /opt/t, launcher: run}\n  e: {" TREE                   \
	", launcher: run}\n  f: {" TREE ", install: /opt/u, launcher: run}\n  n: {" TREE \
	"}\n  l: {" TREE ", install: /l}\n  s: {" TREE ", install: /opt/t/run/s}\n"      \
	"  t: {" TREE ", install: /opt/t/lib}\n  o: {" TREE ", launcher: other}\n"       \
	"install: {path: /opt/t/run, links: [/l/link]}\n"
#define TREE_RULE(body) TREES "rules:\n- {when: {}, " body "}\n"
#define NO_TREE(name) "payload '" name "' is no tree with 'install'; only those can be added"
#define OF_SERVICE(path, name) "the directory '" path "' of '" name "' overlaps that of the service"

static const struct bad bad_tree_rules[] = {
	{TREE_RULE("use: tools-amd64, with: a"), "f:16:38: 'with' must be a list, not a string"},
	{TREE_RULE("use: tools-amd64, with: []"), "f:16:38: 'with' is empty"},
	{TREE_RULE("use: tools-amd64, with: [[a]]"),
		"f:16:39: an item must be a string, not a list"},
	{TREE_RULE("use: tools-amd64, with: [x]"),
		"f:16:39: payload 'x' is not defined under 'payloads'"},
	{TREE_RULE("use: tools-amd64, with: [a, a, a, a, a, a, a, a, a]"),
		"f:16:38: 'with' has 9 items; at most 8 are allowed"},
	{TREE_RULE("use: tools-amd64, with: [tools-amd64]"), "f:16:38: " NO_TREE("tools-amd64")},
	{TREE_RULE("use: tools-amd64, with: [n]"), "f:16:38: " NO_TREE("n")},
	{TREE_RULE("use: tools-amd64, with: [a, a]"),
		"f:16:38: the directory '/a/b' of 'a' overlaps that of 'a'"},
	{TREE_RULE("use: tools-amd64, with: [c, f, a]"),
		"f:16:38: the directory '/a/b' of 'a' overlaps that of 'c'"},
	{TREE_RULE("use: tools-amd64, with: [d]"), "f:16:38: " OF_SERVICE("/opt/t", "d")},
	{TREE_RULE("use: tools-amd64, with: [s]"), "f:16:38: " OF_SERVICE("/opt/t/run/s", "s")},
	{TREE_RULE("use: tools-amd64, with: [t]"), "f:16:38: " OF_SERVICE("/opt/t/lib", "t")},
	{TREE_RULE("use: tools-amd64, with: [l]"),
		"f:16:38: the directory '/l' of 'l' overlaps the link '/l/link'"},
	{TREE_RULE("use: a"), "f:16:19: as the service, 'a' needs 'launcher: run', the name of the "
			      "program at '/opt/t/run'"},
	{TREE_RULE("use: o"), "f:16:19: as the service, 'o' needs 'launcher: run', the name of the "
			      "program at '/opt/t/run'"},
	{TREE_RULE("use: f"),
		"f:16:19: as the service, 'f' must have 'install: /opt/t', or leave it out"},
};

#define PATH_ERROR(path, why) "f:4:9: '" path "' cannot be the path: " why
#define LINK_ERROR(path, why) "f:4:11: '" path "' cannot be a link: " why
#define OWN_FILES "sbinject and its service keep files of their own there"
#define OWN_DIR "it needs a directory of its own, which becomes private to root"
#define KNOWN_DIR "its directory would become private to root, but is a well-known one"

static const struct bad bad_paths[] = {
	{HEAD "install: /a/b\n" RULES, "f:3:10: 'install' must be a mapping, not a string"},
	{INSTALL("dir: /a/b"), "f:4:3: unknown key 'dir'; known keys: path, links"},
	{INSTALL("path: [/a/b]"), "f:4:9: 'path' must be a string, not a list"},
	{INSTALL("path: ''"), PATH_ERROR("", "it is not absolute")},
	{INSTALL("path: a/b"), PATH_ERROR("a/b", "it is not absolute")},
	{INSTALL("path: /a//b"), PATH_ERROR("/a//b", "it has a slash too many")},
	{INSTALL("path: //a/b"), PATH_ERROR("//a/b", "it has a slash too many")},
	{INSTALL("path: /a/b/"), PATH_ERROR("/a/b/", "it has a slash too many")},
	{INSTALL("path: /"), PATH_ERROR("/", "it has a slash too many")},
	{INSTALL("path: /a/../b"), PATH_ERROR("/a/../b", "it contains '.' or '..'")},
	{INSTALL("path: /a/./b"), PATH_ERROR("/a/./b", "it contains '.' or '..'")},
	{INSTALL("path: /a/b/.."), PATH_ERROR("/a/b/..", "it contains '.' or '..'")},
	{INSTALL("path: /a/\xc3\xa4"), PATH_ERROR("/a/\xc3\xa4", "it is not printable ASCII")},
	{INSTALL("path: /a/" LONG "123"),
		PATH_ERROR("/a/" LONG "123", "it is longer than 255 bytes")},
	{INSTALL("path: /x"), PATH_ERROR("/x", OWN_DIR)},
	{INSTALL("path: /tmp/x"), PATH_ERROR("/tmp/x", KNOWN_DIR)},
	{INSTALL("path: /var/tmp/x"), PATH_ERROR("/var/tmp/x", KNOWN_DIR)},
	{INSTALL("path: /usr/bin/x"), PATH_ERROR("/usr/bin/x", KNOWN_DIR)},
	{INSTALL("path: /usr/local/lib/x"), PATH_ERROR("/usr/local/lib/x", KNOWN_DIR)},
	{INSTALL("path: /home/me/x"), PATH_ERROR("/home/me/x", KNOWN_DIR)},
	{INSTALL("path: /root/x"), PATH_ERROR("/root/x", KNOWN_DIR)},
	{INSTALL("path: /dev/shm/x"), PATH_ERROR("/dev/shm/x", KNOWN_DIR)},
	{INSTALL("path: /proc/1/root/x"),
		PATH_ERROR("/proc/1/root/x", "it is in a file system that cannot hold files")},
	{INSTALL("path: /usr/bin"), PATH_ERROR("/usr/bin", "it is a well-known directory")},
	{INSTALL("path: /.sbinject/x"), PATH_ERROR("/.sbinject/x", OWN_FILES)},
	{INSTALL("path: /run/.sbinject/current"), PATH_ERROR("/run/.sbinject/current", OWN_FILES)},
	{INSTALL("path: /dev/.sbinject/x"), PATH_ERROR("/dev/.sbinject/x", OWN_FILES)},
	{INSTALL("path: /a/.sbinject-user/x"), PATH_ERROR("/a/.sbinject-user/x", OWN_FILES)},
	{INSTALL("path: /a/.sbinject-new-x"), PATH_ERROR("/a/.sbinject-new-x", OWN_FILES)},
	{INSTALL("path: /a/.server"), PATH_ERROR("/a/.server", OWN_FILES)},
	{INSTALL("path: /tmp/sandbox-tools/x"), PATH_ERROR("/tmp/sandbox-tools/x", OWN_FILES)},
	{INSTALL("links: [/.sbinject]"), LINK_ERROR("/.sbinject", OWN_FILES)},
	{INSTALL("links: [/tmp/.sbinject/state.json]"),
		LINK_ERROR("/tmp/.sbinject/state.json", OWN_FILES)},
	{INSTALL("links: [/var/tmp/.da7be258e003d428/.server]"),
		LINK_ERROR("/var/tmp/.da7be258e003d428/.server", OWN_FILES)},
	{INSTALL("links: [/var/tmp/.da7be258e003d428/.server/x]"),
		LINK_ERROR("/var/tmp/.da7be258e003d428/.server/x", OWN_FILES)},
	{INSTALL("links: [/tmp/sandbox-tools]"), LINK_ERROR("/tmp/sandbox-tools", OWN_FILES)},
	{INSTALL("links: [/tmp/inspect-sandbox-tools-0/x]"),
		LINK_ERROR("/tmp/inspect-sandbox-tools-0/x", OWN_FILES)},
	{INSTALL("links: [/var/tmp/.da7be258e003d428-json-rpc-chunks]"),
		LINK_ERROR("/var/tmp/.da7be258e003d428-json-rpc-chunks", OWN_FILES)},
	{INSTALL("links: [/tmp/.inspect-sandbox-editor-0/x]"),
		LINK_ERROR("/tmp/.inspect-sandbox-editor-0/x", OWN_FILES)},
	{INSTALL("links: /a"), "f:4:10: 'links' must be a list, not a string"},
	{INSTALL("links: [/a, [/b]]"), "f:4:15: an item must be a string, not a list"},
	{INSTALL("links: [a]"), "f:4:11: 'a' cannot be a link: it is not absolute"},
	{INSTALL("links: [/tmp]"), "f:4:11: '/tmp' cannot be a link: it is a well-known directory"},
	{INSTALL("links: [/a, /a]"), "f:4:15: the link '/a' overlaps the one on line 4"},
	{INSTALL("links: [/a/b,\n    /a]"), "f:5:5: the link '/a' overlaps the one on line 4"},
	{INSTALL("links: [/a/b]\n  path: /a/b"),
		"f:4:11: the link '/a/b' overlaps the path '/a/b'"},
	{INSTALL("links: [/a/b/c]\n  path: /a/b"),
		"f:4:11: the link '/a/b/c' overlaps the path '/a/b'"},
	{INSTALL("links: [/var/tmp/.da7be258e003d428]"),
		"f:4:11: the link '/var/tmp/.da7be258e003d428' overlaps the path "
		"'/var/tmp/.da7be258e003d428/inspect-sandbox-tools'"},
	{INSTALL("links: [/0,/1,/2,/3,/4,/5,/6,/7,/8,/9,/a,/b,/c,/d,/e,/f,/g]"),
		"f:4:10: 'links' has 17 items; at most 16 are allowed"},
};

static const struct bad bad_rules[] = {
	{HEAD "rules:\n- use: tools-amd64\n", "f:4:3: a rule needs the key 'when'"},
	{HEAD "rules:\n- when: {}\n", "f:4:3: a rule needs the key 'use'"},
	{HEAD "rules:\n- when: {}\n  use: tools-arm64\n",
		"f:5:8: payload 'tools-arm64' is not defined under 'payloads'"},
	{HEAD "rules:\n- when: {}\n  use: [tools-amd64]\n",
		"f:5:8: 'use' must be a string, not a list"},
	{HEAD "rules:\n- when: {}\n  then: tools-amd64\n",
		"f:5:3: unknown key 'then'; known keys: when, use, service, graft, with"},
	{HEAD "rules:\n- when: {}\n  use: tools-amd64\n  service: nobody\n",
		"f:6:12: unknown service 'nobody'; known values: root, user, auto"},
	{HEAD "rules:\n- {when: {}, use: tools-amd64, service: Root}\n",
		"f:4:41: unknown service 'Root'; known values: root, user, auto"},
	{HEAD "rules:\n- when: {}\n  use: tools-amd64\n  service: [user]\n",
		"f:6:12: 'service' must be a string, not a list"},
	{HEAD "rules:\n- when: {}\n  use: tools-amd64\n  graft: yes\n",
		"f:6:10: 'graft' must be 'true' or 'false', not 'yes'"},
	{HEAD "rules:\n- when: {}\n  use: tools-amd64\n  graft: [true]\n",
		"f:6:10: 'graft' must be a string, not a list"},
	{HEAD "rules:\n- when:\n  use: tools-amd64\n", "f:4:3: 'when' has no value"},
	{WHEN("[os]"), "f:4:9: 'when' must be a mapping, not a list"},
	{WHEN("{distribution: debian}"),
		"f:4:10: unknown fact 'distribution'; known facts: os, arch, variant, libc, "
		"libc_version, distro, version, family, image, user, caps, engine, client, label"},
	{WHEN("{caps: CAP_SETUID}"),
		"f:4:16: unknown capability 'CAP_SETUID'; write it like 'setuid', or 'none' for "
		"no capability at all"},
	{WHEN("{os: {a: b}}"), "f:4:14: 'os' must be a string or a list of strings"},
	{WHEN("{os: []}"), "f:4:14: 'os' is empty"},
	{WHEN("{os: [linux, [x]]}"), "f:4:22: an item must be a string, not a list"},
	{WHEN("{distro: [a, b, a]}"), "f:4:25: duplicate value 'a'"},
	{WHEN("{os: lin*}"), "f:4:14: unknown os 'lin*'; known values: linux, windows"},
	{WHEN("{os: [linux, Linux]}"), "f:4:22: unknown os 'Linux'; known values: linux, windows"},
	{WHEN("{arch: x86_64}"),
		"f:4:16: unknown arch 'x86_64'; known values: 386, amd64, arm, arm64, loong64, "
		"mips, mips64, mips64le, mipsle, ppc64, ppc64le, riscv64, s390x"},
	{WHEN("{engine: containerd}"),
		"f:4:18: unknown engine 'containerd'; known values: docker, podman"},
	{WHEN("{libc: uclibc}"), "f:4:16: unknown libc 'uclibc'; known values: glibc, musl, none"},
	{WHEN("{os: ''}"), "f:4:14: an empty value matches nothing"},
	{WHEN("{os: [linux, '']}"), "f:4:22: an empty value matches nothing"},
	{WHEN("{os: ~}"), "f:4:10: 'os' has no value"},
	{WHEN("{os: " LONG "123456}"), "f:4:14: a value is longer than 255 bytes"},
	{WHEN("{family: rhel fedora}"), "f:4:18: a family must be one word, not 'rhel fedora'"},
	{WHEN("{label: x}"), "f:4:17: 'label' must be a mapping, not a string"},
	{WHEN("{label: {}}"), "f:4:17: 'label' is empty"},
	{WHEN("{label: {k: {v: w}}}"), "f:4:21: 'k' must be a string or a list of strings"},
	{WHEN("{label: {k: [v, v]}}"), "f:4:25: duplicate value 'v'"},
	{WHEN("{label: {k: }}"), "f:4:18: 'k' has no value"},
};

static const struct bad bad_ties[] = {
	{TWO("os: linux", "os: linux"), TIE},
	{TWO("", ""), TIE},
	{TWO("distro: [a, b]", "distro: [c, b]"), TIE},
	{TWO("distro: a, version: [x, y]", "version: [z, x], distro: a"), TIE},
	{TWO("family: [debian, rhel]", "family: rhel"), TIE},
	{TWO("image: 'a*'", "image: 'a*'"), TIE},
	{TWO("image: 'a*'", "image: abc"), TIE},
	{TWO("image: abc", "image: 'a*'"), TIE},
	{TWO("client: 'a 1.*'", "client: [x, a 1.2]"), TIE},
	{TWO("label: {k: v, l: w}", "label: {l: w, k: [u, v]}"), TIE},
};

static void test_conf_parse__refuses_shapes(void **state)
{
	(void)state;
	assert_int_equal(check_table(bad_shapes, SB_ARRAY_SIZE(bad_shapes)), 0);
}

static void test_conf_parse__refuses_payloads(void **state)
{
	(void)state;
	assert_int_equal(check_table(bad_payloads, SB_ARRAY_SIZE(bad_payloads)), 0);
}

static void test_conf_parse__refuses_trees(void **state)
{
	(void)state;
	assert_int_equal(check_table(bad_tree_payloads, SB_ARRAY_SIZE(bad_tree_payloads)), 0);
	assert_int_equal(check_table(bad_tree_rules, SB_ARRAY_SIZE(bad_tree_rules)), 0);
}

static void test_conf_parse__refuses_paths(void **state)
{
	(void)state;
	assert_int_equal(check_table(bad_paths, SB_ARRAY_SIZE(bad_paths)), 0);
}

static void test_conf_parse__refuses_rules(void **state)
{
	(void)state;
	assert_int_equal(check_table(bad_rules, SB_ARRAY_SIZE(bad_rules)), 0);
}

static void test_conf_parse__refuses_certain_ties(void **state)
{
	(void)state;
	assert_int_equal(check_table(bad_ties, SB_ARRAY_SIZE(bad_ties)), 0);
}

static void test_conf_parse__refuses_relative_path_without_dir(void **state)
{
	static const char text[] = PAYLOAD("source: file, path: x, sha256: " SHA);
	struct sb_err err = SB_ERR_INIT;
	struct conf *conf = NULL;

	(void)state;
	assert_int_equal(conf_parse(text, sizeof(text) - 1, "f", NULL, &conf, &err), -1);
	assert_string_equal(err.text, "f:3:27: 'x' is not an absolute path");
}

static void test_conf_parse__bounds_payload_path(void **state)
{
	(void)state;
	for (int len = 4091; len <= 4094; len++) {
		sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_CONFIG);
		struct sb_err err = SB_ERR_INIT;
		struct conf *conf = NULL;
		int rc;

		assert_int_equal(sb_buf_addf(&text, &err,
					 PAYLOAD("source: file, path: %0*d, sha256: " SHA), len, 1),
			0);
		rc = conf_parse(text.data, text.len, "f", "/d", &conf, &err);
		if (rc != (len <= 4092 ? 0 : -1))
			fail_msg("%d: %s", len, err.text);
		if (rc == 0)
			assert_int_equal(strlen(conf->payloads[0].path), len + 3);
		else
			assert_string_equal(err.text, "f:3:27: the path is too long");
		conf_free(conf);
	}
}

static void test_conf_parse__escapes_foreign_bytes(void **state)
{
	static const char text[] = "v\xc3\xa4: 1\n";
	struct sb_err err = SB_ERR_INIT;
	struct conf *conf = NULL;

	(void)state;
	assert_int_equal(conf_parse(text, sizeof(text) - 1, "\x1b[2Jf", NULL, &conf, &err), -1);
	assert_string_equal(err.text,
		"\\x1b[2Jf:1:1: unknown key 'v\xc3\xa4'; known keys: version, "
		"payloads, install, start, rules");
}

static void test_conf_parse__bounds_rules(void **state)
{
	sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_CONFIG);
	sb_auto(conf_freep) struct conf *conf = NULL;
	struct sb_err err = SB_ERR_INIT;
	struct conf *none = NULL;

	(void)state;
	assert_int_equal(sb_buf_adds(&text, HEAD "rules:\n", &err), 0);
	for (int i = 0; i < 256; i++)
		assert_int_equal(
			sb_buf_addf(&text, &err, "- {when: {version: %d}, use: tools-amd64}\n", i),
			0);
	assert_int_equal(conf_parse(text.data, text.len, "f", NULL, &conf, &err), 0);
	assert_int_equal(conf->rule_count, 256);
	assert_int_equal(sb_buf_adds(&text, "- {when: {}, use: tools-amd64}\n", &err), 0);
	assert_int_equal(conf_parse(text.data, text.len, "f", NULL, &none, &err), -1);
	assert_string_equal(err.text, "f:4:1: 'rules' has 257 items; at most 256 are allowed");
}

static void test_conf_parse__bounds_payloads(void **state)
{
	sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_CONFIG);
	sb_auto(conf_freep) struct conf *conf = NULL;
	struct sb_err err = SB_ERR_INIT;
	struct conf *none = NULL;

	(void)state;
	assert_int_equal(sb_buf_adds(&text, RULES "version: 1\npayloads:\n", &err), 0);
	assert_int_equal(sb_buf_adds(&text, "  tools-amd64: {source: embedded}\n", &err), 0);
	for (int i = 1; i < 64; i++)
		assert_int_equal(
			sb_buf_addf(&text, &err, "  tools-%d: {source: embedded}\n", i), 0);
	assert_int_equal(conf_parse(text.data, text.len, "f", NULL, &conf, &err), 0);
	assert_int_equal(conf->payload_count, 64);
	assert_int_equal(sb_buf_adds(&text, "  tools-x: {source: embedded}\n", &err), 0);
	assert_int_equal(conf_parse(text.data, text.len, "f", NULL, &none, &err), -1);
	assert_string_equal(err.text, "f:5:3: 'payloads' has 65 items; at most 64 are allowed");
}

static const char full[] = "rules:				# before what it refers to\n"
			   "  - when:\n"
			   "      os: linux\n"
			   "      arch: [amd64, arm64]\n"
			   "      version: 16.10\n"
			   "      label: {tier: gpu, empty: \"\"}\n"
			   "      client: \"inspect_ai 0.3.*\"\n"
			   "    use: old\n"
			   "  - {when: {}, service: user, use: tools-amd64, graft: true}\n"
			   "  - {when: {os: windows}, use: tools-amd64, service: root}\n"
			   "start: [start-server, --verbose]\n"
			   "install:\n"
			   "  links: [/opt/inspect-sandbox-tools, /x]\n"
			   "  path: /opt/tools/program\n"
			   "payloads:\n"
			   "  tools-amd64: {source: embedded, sha256: " SHA "}\n"
			   "  old: {sha256: " SHA ", path: sub/old, source: file, format: binary}\n"
			   "  abs: {sha256: " SHA ", path: /abs, source: file}\n"
			   "version: \"1\"\n";

static void test_conf_parse__reads_payloads(void **state)
{
	sb_auto(conf_freep) struct conf *conf = NULL;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(conf_parse(full, sizeof(full) - 1, "f", "/d", &conf, &err), 0);
	assert_string_equal(conf->file, "f");
	assert_non_null(conf->why);
	assert_int_equal(conf->payload_count, 3);
	assert_string_equal(conf->payloads[0].name, "tools-amd64");
	assert_int_equal(conf->payloads[0].source, CONF_EMBEDDED);
	assert_null(conf->payloads[0].path);
	assert_string_equal(conf->payloads[0].sha256, SHA);
	assert_int_equal(conf->payloads[0].line, 16);
	assert_int_equal(conf->payloads[0].column, 3);
	assert_int_equal(conf->payloads[1].source, CONF_FILE);
	assert_string_equal(conf->payloads[1].path, "/d/sub/old");
	assert_string_equal(conf->payloads[2].path, "/abs");
	assert_string_equal(conf->path, "/opt/tools/program");
	assert_string_equal(conf->links[0], "/opt/inspect-sandbox-tools");
	assert_string_equal(conf->links[1], "/x");
	assert_null(conf->links[2]);
	assert_string_equal(conf->start[0], "start-server");
	assert_string_equal(conf->start[1], "--verbose");
	assert_null(conf->start[2]);
}

static void test_conf_parse__reads_rules(void **state)
{
	sb_auto(conf_freep) struct conf *conf = NULL;
	sb_autobuf struct sb_buf text = SB_BUF_INIT(1024);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(conf_parse(full, sizeof(full) - 1, "f", "/d", &conf, &err), 0);
	assert_int_equal(conf->rule_count, 3);
	assert_int_equal(conf->rules[0].line, 2);
	assert_int_equal(conf->rules[0].column, 5);
	assert_ptr_equal(conf->rules[0].use, &conf->payloads[1]);
	assert_ptr_equal(conf->rules[1].use, &conf->payloads[0]);
	assert_int_equal(conf->rules[0].service, CONF_UNSAID);
	assert_int_equal(conf->rules[1].service, CONF_USER);
	assert_int_equal(conf->rules[2].service, CONF_ROOT);
	assert_int_equal(conf->rules[1].count, 0);
	assert_false(conf->rules[0].graft);
	assert_true(conf->rules[1].graft);
	assert_int_equal(conf_facts(conf), 1u << SB_FACT_OS | 1u << SB_FACT_ARCH |
						   1u << SB_FACT_VERSION | 1u << SB_FACT_LABEL |
						   1u << SB_FACT_CLIENT);
	assert_int_equal(rule_describe(&conf->rules[0], &text, &err), 0);
	assert_string_equal(sb_buf_str(&text),
		"os=linux arch=amd64|arm64 version=16.10 "
		"label.tier=gpu label.empty=\"\" client=\"inspect_ai 0.3.*\"");
	sb_buf_reset(&text);
	assert_int_equal(rule_describe(&conf->rules[1], &text, &err), 0);
	assert_string_equal(sb_buf_str(&text), "any container");
}

static void test_conf_parse__reads_trees(void **state)
{
	static const char text[] = TREES "rules:\n- {when: {os: linux}, use: d, with: [a, f]}\n"
					 "- {when: {}, use: e}\n";
	sb_auto(conf_freep) struct conf *conf = NULL;
	struct sb_err err = SB_ERR_INIT;
	const struct conf_payload *tree;

	(void)state;
	assert_int_equal(conf_parse(text, sizeof(text) - 1, "f", "/d", &conf, &err), 0);
	tree = conf_payload_by_name(conf, "d");
	assert_int_equal(tree->format, CONF_TREE);
	assert_int_equal(tree->source, CONF_FILE);
	assert_string_equal(tree->path, "/d/x");
	assert_string_equal(tree->sha256, SHA);
	assert_string_equal(tree->tree, SHA);
	assert_string_equal(tree->install, "/opt/t");
	assert_string_equal(tree->launcher, "run");
	assert_int_equal(conf_payload_by_name(conf, "tools-amd64")->format, CONF_PROGRAM);
	assert_null(conf_payload_by_name(conf, "n")->install);
	assert_null(conf_payload_by_name(conf, "none"));
	assert_ptr_equal(conf->rules[0].use, tree);
	assert_ptr_equal(conf->rules[0].with[0], conf_payload_by_name(conf, "a"));
	assert_ptr_equal(conf->rules[0].with[1], conf_payload_by_name(conf, "f"));
	assert_null(conf->rules[0].with[2]);
	assert_string_equal(conf->rules[1].use->name, "e");
	assert_null(conf->rules[1].with);
}

static void test_conf_parse__has_defaults(void **state)
{
	sb_auto(conf_freep) struct conf *conf = NULL;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(conf_parse(HEAD RULES, sizeof(HEAD RULES) - 1, "f", NULL, &conf, &err), 0);
	assert_string_equal(conf->path, "/var/tmp/.da7be258e003d428/inspect-sandbox-tools");
	assert_null(conf->links);
	assert_string_equal(conf->start[0], "start-server");
	assert_null(conf->start[1]);
	assert_string_equal(conf->payloads[0].sha256, "");
}

static const char *const good[] = {
	PAYLOAD("source: store, format: tar, sha256: " SHA ", tree: " SHA),
	PAYLOAD(TREE ", install: /opt/a, launcher: a/.b/c"),
	TREE_RULE("use: tools-amd64, with: [f, a]"),
	INSTALL("path: /.hidden/program"),
	INSTALL("path: /a/...b"),
	INSTALL("path: /opt/x/y"),
	INSTALL("path: /home/me/dir/x"),
	INSTALL("path: /a/" FIFTY FIFTY FIFTY FIFTY FIFTY "12"),
	INSTALL("links: []"),
	INSTALL("links: [/a, /ab]"),
	INSTALL("links: [/.servers, /a.server, /a.sbinject, /tmp/sandbox-tools-old]"),
	INSTALL("links: [/a/tmp/sandbox-tools, /tmp/inspect-sandbox-tools]"),
	TWO("distro: a", "distro: b"),
	TWO("distro: a", "version: x"),
	TWO("family: debian", "family: ubuntu"),
	TWO("image: 'a*'", "image: '*b'"),
	TWO("label: {k: v}", "label: {k: w}"),
	TWO("label: {k: v}", "label: {l: v}"),
	WHEN("{version: 12}"),
	WHEN("{os: [linux]}"),
};

static void test_conf_parse__accepts(void **state)
{
	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(good); i++) {
		sb_auto(conf_freep) struct conf *conf = NULL;
		struct sb_err err = SB_ERR_INIT;

		if (conf_parse(good[i], strlen(good[i]), "f", "/d", &conf, &err) < 0)
			fail_msg("%s\n%s", good[i], err.text);
	}
}

/* The troff of an example as the text that man shows. */
static void undo_troff(char *text)
{
	char *to = text;

	while (*text) {
		if (!strncmp(text, "\\(dq", 4)) {
			*to++ = '"';
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

static void test_conf_parse__accepts_the_manual_examples(void **state)
{
	sb_autobuf struct sb_buf man = SB_BUF_INIT(SB_MAX_CONFIG);
	struct sb_err err = SB_ERR_INIT;
	int count = 0;

	(void)state;
	if (sb_buf_read_file(&man, "man/sbinject.yaml.5", &err) != 0)
		fail_msg("no manual (run it from the top directory)");
	for (char *text = man.data; (text = strstr(text, ".EX\nversion: 1\n"));) {
		sb_auto(conf_freep) struct conf *conf = NULL;
		char *end = strstr(text, ".EE\n");

		assert_non_null(end);
		*end = '\0';
		text += strlen(".EX\n");
		undo_troff(text);
		if (conf_parse(text, strlen(text), "example", "/d", &conf, &err) < 0)
			fail_msg("%s\n%s", text, err.text);
		text = end + 1;
		count++;
	}
	assert_in_range(count, 4, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conf_parse__refuses_shapes),
		cmocka_unit_test(test_conf_parse__refuses_payloads),
		cmocka_unit_test(test_conf_parse__refuses_trees),
		cmocka_unit_test(test_conf_parse__refuses_paths),
		cmocka_unit_test(test_conf_parse__refuses_rules),
		cmocka_unit_test(test_conf_parse__refuses_certain_ties),
		cmocka_unit_test(test_conf_parse__refuses_relative_path_without_dir),
		cmocka_unit_test(test_conf_parse__bounds_payloads),
		cmocka_unit_test(test_conf_parse__bounds_payload_path),
		cmocka_unit_test(test_conf_parse__escapes_foreign_bytes),
		cmocka_unit_test(test_conf_parse__bounds_rules),
		cmocka_unit_test(test_conf_parse__reads_payloads),
		cmocka_unit_test(test_conf_parse__reads_rules),
		cmocka_unit_test(test_conf_parse__reads_trees),
		cmocka_unit_test(test_conf_parse__has_defaults),
		cmocka_unit_test(test_conf_parse__accepts),
		cmocka_unit_test(test_conf_parse__accepts_the_manual_examples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
