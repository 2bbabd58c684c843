# SPDX-License-Identifier: MIT
"""The text editor: every command on every kind of file, and long chains of random edits."""
import random
import re

TEN = "".join(f"line {i}\n" for i in range(1, 11))
FILES = {
    "ten": TEN, "empty": "", "one": "one", "newline": "\n", "blank": "\n\n\n", "no-end": "a\nb", "spaces": "  a  \n\n   b\n",
    "unicode": "é€😀\nzwölf\n\u2028x\n", "long": "x" * 5000 + "\ny\n", "twice": "same\nother\nsame\n", "quotes": "`a` 'b' \"c\" \\n $HOME\n",
    "form": "a\fb\vc\nd\x1ce\x85f\n",
}
BINARY = {"latin": b"caf\xe9\n", "nul": b"a\0b\n", "half": b"abc\xe2\x82", "cr": b"a\r\nb\rc\n", "tabs": b"\ta\n b\tc\n", "bom": b"\xef\xbb\xbfa\n"}


def edit(w, name, command, path, view=None, **params):
    w.call(name, "text_editor", {"command": command, "path": path, **params}, view=view)


def unordered(value):
    """A directory's names as a set, because theirs come as the file system has them, and without
    those that the kernel makes up, and that of the history, which ours has elsewhere."""
    text = (value.get("reply") or {}).get("result")
    if isinstance(text, str) and text.startswith("Here are the files"):
        value["reply"]["result"] = sorted(n for n in text.splitlines() if not re.match(r"/(proc|sys)/|/tmp/inspect-editor-", n))
    return value


def prepare(w):
    w.start()
    w.prepare("mkdir -p /w/dir/sub/deep /w/dir/.hidden /w/locked && echo x >/w/dir/file && echo x >/w/dir/sub/file && "
              "echo x >/w/dir/sub/deep/file && echo x >/w/dir/.hidden/file && echo x >/w/dir/.dot && mkdir /w/bare && "
              "mkdir /w/single && echo x >/w/single/file && mkfifo /w/fifo && "
              "ln -s ten /w/link && ln -s dir /w/dirlink && ln -s nosuch /w/broken && ln -s loop /w/loop && "
              "echo mine >/w/owned && ln /w/owned /w/hard && echo run >/w/script && chmod 755 /w/script && "
              "echo secret >/w/secret && chmod 600 /w/secret && chmod 777 /w /w/dir", user="root")
    for name, text in FILES.items():
        w.write("/w/" + name, text.encode())
    for name, data in BINARY.items():
        w.write("/w/" + name, data)
    w.prepare("chmod 666 " + " ".join("/w/" + n for n in list(FILES) + list(BINARY)), user="root")


def run(w):
    prepare(w)
    for name in list(FILES) + list(BINARY):
        edit(w, f"view {name}", "view", "/w/" + name)
        for span in ([1, 1], [1, -1], [2, 3], [2, 100], [1, 2], [3, 2], [0, 1], [-1, 1], [100, 200], [1, 0], [1], [], [1, 2, 3]):
            edit(w, f"view {name} {span}", "view", "/w/" + name, view_range=span)
    for path in ("/w/dir", "/w/dir/", "/w/dirlink", "/w/dir/sub", "/w/dir/../dir", "/w/dir/.hidden", "/w/bare", "/w/single/", "/w/link",
                 "/w/broken", "/w/loop", "/w/nosuch", "/w/dir/file/x", "/w/nosuch/x", "", "w/ten", "relative", "~/x",
                 "/w/ten/", "/w//ten", "/w/./ten", "/w/locked", "/w/secret", "/w/" + "n" * 300, "/w/a\0b", "/w/x y",
                 "/proc/self/nosuch", "/dev/zero/x", "/etc/hostname"):
        edit(w, f"view path {path!r:.40}", "view", path, view=unordered)
        edit(w, f"replace path {path!r:.40}", "str_replace", path, old_str="line 1\n", new_str="x")
        edit(w, f"insert path {path!r:.40}", "insert", path, insert_line=10000, new_str="x")
        edit(w, f"undo path {path!r:.40}", "undo_edit", path)
    for path in ("/w/new", "/w/new", "/w/ten", "/w/dir", "/w/dir/new", "/w/nosuch/new", "/w/broken", "/w/loop", "/w/locked/new", "", "/w/new/x",
                 "/w/" + "n" * 255, "/w/" + "n" * 256, "/w/dirlink/other", "/w/dir/../dotdot", "/w/ü"):
        edit(w, f"create {path!r:.40}", "create", path, file_text="a\nb\n")
        w.files(f"after create {path!r:.40}", path if path.startswith("/w/") and len(path) < 260 else "/w")
    replacing(w)
    inserting(w)
    undoing(w)
    members(w)


def replacing(w):
    for name, old, new in (
            ("ten", "line 3", "LINE 3"), ("ten", "line 1", "x"), ("ten", "line", "x"), ("ten", "line 3", "again"), ("ten", "LINE 3\n", ""),
            ("ten", "line 5\nline 6", "five\nsix\nseven"), ("ten", "", "x"), ("ten", "nosuch", "x"), ("ten", "line 10\n", "end"), ("ten", "five", None),
            ("ten", "seven", "a\n" * 50), ("one", "one", ""), ("one", "one", "x"), ("empty", "x", "y"), ("newline", "\n", "a\n"), ("twice", "same", "x"),
            ("twice", "same\nother", "x"), ("unicode", "€", "euro"), ("unicode", "😀", ""), ("unicode", "zwölf", "😀" * 10), ("quotes", "`a`", "$(b)"),
            ("quotes", "\\n", "\n"), ("spaces", "  a  ", " "), ("spaces", "\n\n", "\n"), ("long", "x" * 5000, "short"), ("blank", "\n\n", "x"),
            ("latin", "caf", "x"), ("nul", "\0", "x"), ("half", "abc", "x"), ("bom", "a", "b"), ("form", "c\nd", "x"), ("script", "run", "walk"),
            ("secret", "secret", "told"), ("hard", "mine", "yours"), ("link", "line 7", "seven"), ("no-end", "b", "b\n"), ("no-end", "a\nb\n", "c")):
        extra = {} if new is None else {"new_str": new}
        edit(w, f"replace {name} {old!r:.20} {new!r:.20}", "str_replace", "/w/" + name, old_str=old, **extra)
        w.files(f"after replace {name} {old!r:.20} {new!r:.20}", "/w/" + name, "/w/ten", "/w/owned")


def inserting(w):
    for name in ("ten", "empty", "one", "newline", "unicode", "no-end", "quotes", "latin", "hard", "script"):
        for line, text in ((0, "top"), (1, "a\nb"), (2, ""), (3, "x\n"), (5, "\n\n"), (1000, "far"), (-1, "minus"), (-2, "minus")):
            edit(w, f"insert {name} {line} {text!r}", "insert", "/w/" + name, insert_line=line, new_str=text)
        w.files(f"after insert {name}", "/w/" + name)


def undoing(w):
    for name in ("ten", "new", "one", "dir/new", "quotes", "hard", "link", "nosuch"):
        for i in range(13):
            edit(w, f"undo {name} {i}", "undo_edit", "/w/" + name)
        w.files(f"after undo {name}", "/w/" + name)
    edit(w, "create again", "create", "/w/cycle", file_text="0\n")
    for i in range(15):
        edit(w, f"cycle {i}", "str_replace", "/w/cycle", old_str=f"{i}\n", new_str=f"{i + 1}\n")
    for i in range(15):
        edit(w, f"cycle back {i}", "undo_edit", "/w/cycle")
    w.files("after cycle", "/w/cycle")
    edit(w, "create to remove", "create", "/w/removed", file_text="x")
    w.prepare("rm /w/removed", user="root")
    edit(w, "undo of what is gone", "undo_edit", "/w/removed")
    edit(w, "create anew", "create", "/w/removed", file_text="y")
    edit(w, "undo once", "undo_edit", "/w/removed")
    edit(w, "undo twice", "undo_edit", "/w/removed")


def members(w):
    values = (None, True, 0, 1, 1.0, 1.5, "", "x", [], [1], {}, {"a": 1})
    for value in values:
        edit(w, f"command {value!r}", value, "/w/one")
        edit(w, f"path {value!r}", "view", value, view=unordered)
        edit(w, f"view_range {value!r}", "view", "/w/one", view_range=value)
        edit(w, f"old_str {value!r}", "str_replace", "/w/bom", old_str=value, new_str="x")
        edit(w, f"new_str {value!r}", "str_replace", "/w/nosuch", old_str="y", new_str=value)
        edit(w, f"insert_line {value!r}", "insert", "/w/nosuch", insert_line=value, new_str="x")
        edit(w, f"insert new_str {value!r}", "insert", "/w/nosuch", insert_line=1, new_str=value)
        edit(w, f"file_text {value!r}", "create", "/w/one", file_text=value)
        edit(w, f"another {value!r}", "view", "/w/one", another=value)
    for command in ("view", "create", "str_replace", "insert", "undo_edit"):
        w.call(f"{command} without a path", "text_editor", {"command": command})
        edit(w, f"{command} and nothing else", command, "/w/nosuch")
        edit(w, f"{command} with all", command, "/w/one", file_text="a", old_str="b", new_str="c", insert_line=1, insert_text="d", view_range=[1, 1])
    for span in ([1.0, 2], ["1", 2], [1, None], [True, 2], [1, 99999999999999999999], [[], []]):
        edit(w, f"view_range {span!r}", "view", "/w/one", view_range=span)
    for line in (99999999999999999999, -99999999999999999999, "1", 2**31, 2**63 - 1):
        edit(w, f"insert_line {line!r}", "insert", "/w/ten", insert_line=line, new_str="x")
    for text in ("\ud800", "a\udfffb"):
        edit(w, f"half a pair in file_text {text!r}", "create", "/w/pair", file_text=text)
        edit(w, f"half a pair in old_str {text!r}", "str_replace", "/w/one", old_str=text, new_str="x")


def edges(w):
    """Size, places, history."""
    prepare(w)
    for size in (15990, 15999, 16000, 16001, 20000, 100000):
        w.write(f"/w/s{size}", b"x" * size)
        w.write(f"/w/l{size}", (b"y" * 99 + b"\n") * (size // 100))
        w.write(f"/w/u{size}", ("€" * size).encode())
        w.prepare(f"chmod 666 /w/?{size}", user="root")
        for kind in "slu":
            edit(w, f"view {kind}{size}", "view", f"/w/{kind}{size}")
            edit(w, f"view {kind}{size} part", "view", f"/w/{kind}{size}", view_range=[1, 1])
            edit(w, f"insert {kind}{size}", "insert", f"/w/{kind}{size}", insert_line=0, new_str="top")
            w.files(f"after {kind}{size}", f"/w/{kind}{size}")
    edit(w, "create 900 kB", "create", "/w/big", file_text="z" * 900000)
    edit(w, "replace in 900 kB", "str_replace", "/w/big", old_str="z" * 900000, new_str="a")
    edit(w, "undo in 900 kB", "undo_edit", "/w/big", view=lambda v: len(str(v)))
    for path in ("/etc/hosts", "/etc/resolv.conf", "/proc/sys/kernel/ostype", "/proc/self/nosuch", "/proc/version/x", "/sys/nosuch",
                 "/dev/null", "/dev/urandom/x", "/w/fifo/x"):
        edit(w, f"view {path}", "view", path)
    edit(w, "insert into /dev/null", "insert", "/dev/null", insert_line=0, new_str="x")
    edit(w, "replace in /dev/null", "str_replace", "/dev/null", old_str="x", new_str="y")
    edit(w, "create /dev/null", "create", "/dev/null", file_text="x")
    edit(w, "insert into a mount", "insert", "/etc/hosts", insert_line=0, new_str="1.2.3.4 five")
    edit(w, "create in proc", "create", "/proc/new", file_text="x")
    edit(w, "create in a program", "create", "/bin/sh/x", file_text="x")
    w.prepare("chattr +i /w/ten 2>/dev/null; mkdir -p /w/many && for i in $(seq 300); do : >/w/many/f$i; done; mkdir -m 0 /w/shut", user="root")
    edit(w, "view a directory that is shut", "view", "/w/shut")
    edit(w, "view a directory with one that is shut", "view", "/w", view=unordered)
    edit(w, "view many", "view", "/w/many", view=unordered)
    for name in ("sp ace", "quo'te", "dollar$HOME", "new\nline", "-dash", "*", "ünï", "a;b", "tab\tx"):
        edit(w, f"create {name!r}", "create", "/w/dir/" + name, file_text="x")
        edit(w, f"view {name!r}", "view", "/w/dir/" + name)
        edit(w, f"undo {name!r}", "undo_edit", "/w/dir/" + name)
    # the kept inode, the mode, the owner, other names
    w.prepare("cd /w && echo a >kept && chmod 4751 kept && chown 1000:1001 kept && ln kept kept2", user="root")
    edit(w, "replace in a file of another", "str_replace", "/w/kept", old_str="a", new_str="b")
    w.files("owner and mode", "/w/kept", "/w/kept2")
    w.prepare("cd /w && echo a >inode && stat -c %i inode >inode.was")
    for command, params in (("str_replace", {"old_str": "a", "new_str": "b"}), ("insert", {"insert_line": 0, "new_str": "x"}), ("undo_edit", {})):
        edit(w, f"{command} keeps the inode", command, "/w/inode", **params)
        w.look(f"{command} kept it", "cd /w && stat -c %i inode | cmp - inode.was; cat inode")
    for path in ("/w/tabs", "/w/cr"):
        edit(w, f"replace in {path}", "str_replace", path, old_str="b", new_str="B")
        w.files(f"after replace in {path}", path)
        edit(w, f"undo in {path}", "undo_edit", path)
        w.files(f"after undo in {path}", path)
        edit(w, f"tabs and returns in old_str {path}", "str_replace", path, old_str="\ta", new_str="\tc")
        edit(w, f"tabs in insert {path}", "insert", path, insert_line=1, new_str="\tx\r\ny")
        w.files(f"after insert in {path}", path)
    edit(w, "create with tabs and returns", "create", "/w/crnew", file_text="\ta\r\nb\rc\n")
    w.files("after create with tabs", "/w/crnew")
    edit(w, "view tabs and returns", "view", "/w/crnew")


WORDS = ["alpha", "beta", "γάμμα", "δ", "", " ", "  indent", "x" * 60, "{", "}", "return 1;", "// é", "😀", "'", '"', "`", "\\", "%s", "$1"]


def random_edits(w):
    """Chains of edits on four files; after each, the file is compared."""
    rng = random.Random(f"{w.group} 1")
    w.start()
    w.prepare("mkdir -m 777 /w/r", user="root")
    texts = {}

    def lines(count):
        return "\n".join(rng.choice(WORDS) for _ in range(count))

    for i in range(260):
        name = f"/w/r/f{rng.randrange(4)}"
        command = rng.choices(["create", "str_replace", "insert", "undo_edit", "view"], [2, 6, 5, 2, 3])[0]
        text = texts.get(name, "")
        params = {}
        if command == "create":
            params["file_text"] = lines(rng.randrange(12))
        elif command == "insert":
            params.update(insert_line=rng.randrange(-1, text.count("\n") + 3), new_str=lines(rng.randrange(1, 4)))
        elif command == "str_replace":
            start = rng.randrange(len(text) + 1)
            params.update(old_str=text[start:start + rng.randrange(1, 30)] or "none", new_str=lines(rng.randrange(3)))
        elif command == "view" and rng.random() < 0.6:
            params["view_range"] = [rng.randrange(0, 6), rng.choice([-1, 2, 5, 9])]
        edit(w, f"{i} {command}", command, name, **params)
        w.files(f"{i} after {command}", name)
        try:
            with open(w.sides[1].root + name, encoding="utf-8", newline="") as file:
                texts[name] = file.read()
        except OSError:
            texts.pop(name, None)
