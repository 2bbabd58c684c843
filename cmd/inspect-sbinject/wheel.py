#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wheel.py --binary FILE --arch ARCH --release VERSION --output DIR: make the wheel.

It holds the package here and the program sbinject for one architecture; with --licences FILE and
--sbom FILE, also what is linked into the program. The same input gives the same bytes: times are
fixed, and files are sorted. Needs nothing but Python's standard library.
"""

import argparse
import base64
import hashlib
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGE = "inspect_sbinject"
MACHINES = {
    "amd64": "x86_64",
    "arm64": "aarch64",
    "armv7": "armv7l",
    "riscv64": "riscv64",
    "ppc64le": "ppc64le",
    "s390x": "s390x",
}
PLATFORMS = {
    "riscv64": ("manylinux_2_39", "musllinux_1_2"),
}
ANY_LIBC = ("manylinux_2_17", "manylinux2014", "musllinux_1_1")
TIME = (1980, 1, 1, 0, 0, 0)
PROGRAM_MAX = 256 << 20
ELF_MACHINES = {"amd64": 62, "arm64": 183, "armv7": 40, "riscv64": 243, "ppc64le": 21, "s390x": 22}


def tags(arch: str) -> list[str]:
    """A static program needs no libc; so the wheel is for each."""
    return [f"py3-none-{p}_{MACHINES[arch]}" for p in PLATFORMS.get(arch, ANY_LIBC)]


def metadata(project: dict[str, Any], release: str, licences: list[str]) -> str:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {release}",
        f"Summary: {project['description']}",
        f"Keywords: {','.join(project['keywords'])}",
        f"License-Expression: {project['license']}",
        *(f"License-File: {name}" for name in licences),
        *(f"Classifier: {one}" for one in project["classifiers"]),
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {one}" for one in project["dependencies"]),
        "Description-Content-Type: text/markdown",
    ]
    readme: str = (HERE / project["readme"]).read_text()
    return "\n".join(lines) + "\n\n" + readme


def entry_points(project: dict[str, Any]) -> str:
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    return "\n".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in groups.items()
    )


def wheel_file(arch: str) -> str:
    head = "Wheel-Version: 1.0\nGenerator: sbinject\nRoot-Is-Purelib: false\n"
    return head + "".join(f"Tag: {tag}\n" for tag in tags(arch))


def checked_program(path: Path, arch: str) -> bytes:
    data = path.read_bytes()
    if len(data) > PROGRAM_MAX or data[:4] != b"\x7fELF":
        raise ValueError(f"'{path}' is not a program for Linux")
    machine = data[18:20] if data[5] == 1 else data[19:17:-1]
    if int.from_bytes(machine, "little") != ELF_MACHINES[arch]:
        raise ValueError(f"'{path}' is not for {arch}")
    return data


def of_others(licences: Path | None, sbom: Path | None) -> dict[str, bytes]:
    """What is said of the libraries in the program, by its path in the directory for such things."""
    files = {"licenses/LICENSE": (HERE.parent.parent / "LICENSE").read_bytes()}
    if licences:
        files["licenses/THIRD-PARTY"] = licences.read_bytes()
    if sbom:
        files["sboms/sbinject.spdx.json"] = sbom.read_bytes()
    return files


def contents(binary: Path, arch: str, release: str, others: dict[str, bytes]) -> dict[str, bytes]:
    """All files but RECORD, by their path in the wheel."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    info = f"{PACKAGE}-{release}.dist-info"
    sources = [p for p in (HERE / PACKAGE).iterdir() if p.suffix in (".py", ".tsv", ".typed")]
    files = {f"{PACKAGE}/{path.name}": path.read_bytes() for path in sources}
    files[f"{PACKAGE}/bin/sbinject"] = checked_program(binary, arch)
    licences = [path.rpartition("/")[2] for path in others if path.startswith("licenses/")]
    files[f"{info}/METADATA"] = metadata(project, release, licences).encode()
    files[f"{info}/WHEEL"] = wheel_file(arch).encode()
    files[f"{info}/entry_points.txt"] = entry_points(project).encode()
    return {**files, **{f"{info}/{path}": data for path, data in others.items()}}


def record(files: dict[str, bytes], path: str) -> bytes:
    lines = []
    for name, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join([*lines, f"{path},,\n"]).encode()


def write(path: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, TIME)
            info.create_system = 3
            info.external_attr = (0o100755 if "/bin/" in name else 0o100644) << 16
            wheel.writestr(info, data, zipfile.ZIP_DEFLATED, 9)


def build(files: dict[str, bytes], arch: str, release: str, output: Path) -> Path:
    name = f"{PACKAGE}-{release}.dist-info/RECORD"
    # As the format recommends, what describes the wheel comes last.
    ordered = dict(sorted(files.items(), key=lambda item: (".dist-info/" in item[0], item[0])))
    ordered[name] = record(files, name)
    platforms = ".".join(tag.removeprefix("py3-none-") for tag in tags(arch))
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{PACKAGE}-{release}-py3-none-{platforms}.whl"
    new = path.with_suffix(".new")
    write(new, ordered)
    new.replace(path)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--arch", choices=MACHINES, required=True)
    parser.add_argument("--release", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--licences", type=Path)
    parser.add_argument("--sbom", type=Path)
    given = parser.parse_args()
    try:
        others = of_others(given.licences, given.sbom)
        files = contents(given.binary, given.arch, given.release, others)
        print(build(files, given.arch, given.release, given.output))
    except (OSError, ValueError) as error:
        print(f"wheel.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
