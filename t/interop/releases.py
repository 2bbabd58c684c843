# SPDX-License-Identifier: MIT
"""What the wheels of a package on a Python index hold, without fetching the wheels.

A wheel is a zip: its directory is at its end, and next to it the file RECORD, which has the SHA-256
of every other file. Both come with one request for a range of bytes, and a file with one more. Where
the index serves no ranges, the whole wheel comes instead. A wheel never changes: what was read of it
is kept, and read once.
"""

import base64
import csv
import hashlib
import html.parser
import http.client
import io
import json
import os
import re
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

BLOCK = 64 << 10
TAIL = 3 * BLOCK  # has had the directory and RECORD of every wheel
PAGE_MOST = 32 << 20
FILE_MOST = 4 << 20
WHEEL_MOST = 512 << 20
TRIES, SECONDS = 3, 30

Release = tuple[int, ...]
Result = TypeVar("Result")


class Trouble(Exception):
    """A wheel, or the index, is not what it should be; one line that says so."""


class NoIndex(Exception):
    """The index does not answer."""


def text_of(release: Release) -> str:
    return ".".join(map(str, release))


def release_of(text: str) -> Release | None:
    """None: not three numbers, which is how a client's release is known to sbinject."""
    return tuple(map(int, text.split("."))) if re.fullmatch(r"\d+\.\d+\.\d+", text) else None


# --- what is fetched ----------------------------------------------------------


def apart(url: str) -> tuple[str, str]:
    """The address without the name and the password in it, and how these go in a header."""
    parts = urllib.parse.urlsplit(url)
    account, at, host = parts.netloc.rpartition("@")
    plain = urllib.parse.urlunsplit(parts._replace(netloc=host, fragment=""))
    account = urllib.parse.unquote(account) + ("" if ":" in account else ":")
    return plain, "Basic " + base64.b64encode(account.encode()).decode() if at else ""


def patiently(attempt: Callable[[], Result], url: str) -> Result:
    """What the server refuses is refused for good; all else may be better the next time."""
    for left in reversed(range(TRIES)):
        try:
            return attempt()
        except urllib.error.HTTPError as e:
            if e.code < 500 or not left:
                raise Trouble(f"'{url}': the server says {e.code} {e.reason}") from e
        except (OSError, http.client.HTTPException) as e:
            if not left:
                raise NoIndex(f"'{url}': {getattr(e, 'reason', e) or type(e).__name__}") from e
        time.sleep(0.5)
    raise AssertionError


def get(url: str, most: int, part: str = "") -> tuple[bytes, str]:
    """Its bytes, or those of "FROM-TO" in it if the server can; then, what it says of the range."""
    plain, account = apart(url)
    request = urllib.request.Request(plain)
    if account:
        request.add_unredirected_header("Authorization", account)
    if part:
        request.add_header("Range", f"bytes={part}")

    def attempt() -> tuple[bytes, str]:
        with urllib.request.urlopen(request, timeout=SECONDS) as reply:
            data = reply.read(most + 1)
            said = int(reply.headers.get("Content-Length") or len(data))
            if len(data) < min(said, most):
                raise http.client.IncompleteRead(data, said - len(data))
            return data, reply.headers.get("Content-Range", "") if reply.status == 206 else ""

    data, of = patiently(attempt, plain)
    if len(data) > most:
        raise Trouble(f"'{plain}' is longer than {most} bytes")
    return data, of


class Remote(io.RawIOBase):
    """A file on a server; only the blocks in which something is read are fetched."""

    def __init__(self, url: str):
        super().__init__()
        self.url, self.at = url, 0
        self.blocks: dict[int, bytes] = {}
        data, of = get(url, WHEEL_MOST, "0-0")
        self.whole = None if of else data
        self.size = int(of.rpartition("/")[2]) if of else len(data)
        self.fetch(max(0, self.size - TAIL), self.size)

    def fetch(self, start: int, end: int) -> None:
        if self.whole is not None:
            return
        missing = [b for b in range(start // BLOCK, -(-end // BLOCK)) if b not in self.blocks]
        if not missing:
            return
        first, last = missing[0] * BLOCK, min((missing[-1] + 1) * BLOCK, self.size) - 1
        data, of = get(self.url, WHEEL_MOST, f"{first}-{last}")
        if of != f"bytes {first}-{last}/{self.size}" or len(data) != last + 1 - first:
            raise Trouble(f"'{apart(self.url)[0]}': asked for bytes {first}-{last}, not given them")
        for b in range(missing[0], missing[-1] + 1):
            self.blocks[b] = data[b * BLOCK - first:][:BLOCK]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        if self.at < 0:
            raise OSError("before the start")
        return self.at

    def tell(self) -> int:
        return self.at

    def readinto(self, buffer: Any) -> int:
        end = min(self.at + len(buffer), self.size)
        if end <= self.at:
            return 0
        self.fetch(self.at, end)
        if self.whole is not None:
            data = self.whole[self.at:end]
        else:
            first = self.at // BLOCK
            data = b"".join(self.blocks[b] for b in range(first, -(-end // BLOCK)))
            data = data[self.at - first * BLOCK:end - first * BLOCK]
        buffer[:len(data)] = data
        self.at = end
        return len(data)


# --- wheels -------------------------------------------------------------------


def write(path: Path, data: bytes) -> None:
    """Whole or not at all: another may read it just now."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-", delete=False) as new:
        new.write(data)
    os.replace(new.name, path)


class Wheel:
    """One release: its files, each with its SHA-256 in RECORD and its CRC in the zip's directory."""

    def __init__(self, release: Release, url: str, cache: Path):
        self.release, self.url, self.cache = release, url, cache
        self.zip: zipfile.ZipFile | None = None
        self.files: dict[str, tuple[str, int]] = {}
        # An index that gives no digest of a wheel is taken at its word that a URL is one wheel.
        identity = urllib.parse.urlsplit(url).fragment or apart(url)[0]
        kept = cache / f"{text_of(release)}.json"
        try:
            known = json.loads(kept.read_text())
            if known["wheel"] == identity:
                self.files = {path: (digest, crc) for path, (digest, crc) in known["files"].items()}
        except (OSError, ValueError, KeyError, TypeError):
            pass
        if not self.files:
            self.files = self.careful(self.look)
            write(kept, json.dumps({"wheel": identity, "files": self.files}).encode())

    def careful(self, work: Callable[[zipfile.ZipFile], Result]) -> Result:
        try:
            if not self.zip:
                self.zip = zipfile.ZipFile(Remote(self.url))
            return work(self.zip)
        except (zipfile.BadZipFile, zlib.error, csv.Error, EOFError, KeyError, OSError, RuntimeError,
                ValueError) as e:
            raise Trouble(f"its wheel cannot be read: {e}") from e

    def unpacked(self, wheel: zipfile.ZipFile, path: str) -> bytes:
        if wheel.getinfo(path).file_size > FILE_MOST:
            raise Trouble(f"{path} in its wheel is larger than {FILE_MOST} bytes")
        return wheel.read(path)

    def look(self, wheel: zipfile.ZipFile) -> dict[str, tuple[str, int]]:
        crcs = {info.filename: info.CRC for info in wheel.infolist() if not info.is_dir()}
        records = [path for path in crcs if re.fullmatch(r"[^/]+\.dist-info/RECORD", path)]
        if len(records) != 1:
            raise Trouble("its wheel has no RECORD")
        rows = csv.reader(self.unpacked(wheel, records[0]).decode().splitlines())
        digests = {row[0]: row[1].removeprefix("sha256=") for row in rows if len(row) == 3}
        files = {path: (digests.get(path, ""), crcs[path]) for path in crcs if path != records[0]}
        bad = [path for path in files if not re.fullmatch(r"[\w-]{43}", files[path][0], re.ASCII)]
        if bad:
            raise Trouble(f"its RECORD has no SHA-256 of {bad[0]}")
        return files

    def content(self, path: str) -> bytes:
        """Of a file; empty if there is none. It has to be what RECORD says."""
        if path not in self.files:
            return b""
        kept = self.kept(path)
        if not kept.exists():
            data = self.careful(lambda wheel: self.unpacked(wheel, path))
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            if digest != self.files[path][0]:
                raise Trouble(f"{path} in its wheel is not what its RECORD has the SHA-256 of")
            write(kept, data)
        return kept.read_bytes()

    def start(self, path: str) -> bytes:
        """The first four bytes of a file."""
        kept = self.kept(path, ".start")
        if not kept.exists():
            write(kept, self.careful(lambda wheel: wheel.open(path).read(4)))
        return kept.read_bytes()

    def kept(self, path: str, what: str = "") -> Path:
        """A file is the same in many wheels, and kept once: by RECORD, and by the CRC, which RECORD
        cannot lie about."""
        digest, crc = self.files[path]
        return self.cache / f"{digest}-{crc:08x}{what}"


class Links(html.parser.HTMLParser):
    """The addresses on a page."""

    def __init__(self, page: str):
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]


class Index:
    """The wheels of PACKAGE on the index at URL, by release; what is read of them is kept in CACHE."""

    def __init__(self, url: str, package: str, cache: Path):
        page = f"{url.rstrip('/')}/{package.replace('_', '-')}/"
        self.cache = cache
        self.urls: dict[Release, str] = {}
        account = urllib.parse.urlsplit(url).netloc.rpartition("@")
        for link in Links(get(page, PAGE_MOST)[0].decode(errors="replace")).found:
            parts = urllib.parse.urlsplit(urllib.parse.urljoin(apart(page)[0], link))
            name = urllib.parse.unquote(parts.path).rpartition("/")[2]
            match = re.fullmatch(rf"{package}-([^-]+)-.*\.whl", name)
            release = release_of(match[1]) if match else None
            if release:
                if parts.netloc == account[2]:
                    parts = parts._replace(netloc="".join(account))
                self.urls[release] = urllib.parse.urlunsplit(parts)

    def releases(self) -> list[Release]:
        return sorted(self.urls)

    def wheel(self, release: Release) -> Wheel:
        return Wheel(release, self.urls[release], self.cache)
