"""Releases of `up` that a test writes down, and a check of packs against them."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING

from patchkit.analysis.check.checking import Check
from patchkit.analysis.check.packs import read_packs
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.files import ContentMark
from patchkit.core.lock.format import Lock
from patchkit.errors import UpstreamError
from patchkit.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pytest

    from patchkit.analysis.check.findings import Finding, Report
    from patchkit.analysis.upstream.reading.files import ReleaseSource


class Memory:
    """A source of files that live in memory only."""

    def __init__(self, name: str, version: str, files: Mapping[str, str]) -> None:
        self.name, self.version = name, version
        self._files = {path: text.encode() for path, text in files.items()}

    def read(self, path: str) -> bytes | None:
        return self._files.get(path)

    def has(self, path: str) -> bool:
        return path in self._files

    def paths(self) -> frozenset[str]:
        return frozenset(self._files)

    def mark(self, path: str) -> ContentMark | None:
        data = self._files.get(path)
        return None if data is None else ContentMark(len(data), zlib.crc32(data))

    def prefetch(self, paths: Iterable[str]) -> None:
        """Do nothing: they are here."""


def files_of(modules: Mapping[str, str]) -> dict[str, str]:
    """Files of `up`: `mod=…` is `up.mod`, `a__b=…` is `up.a.b` with `up.a` a package."""
    files = {"up/__init__.py": ""}
    for name, text in modules.items():
        parts = name.split("__")
        for end in range(1, len(parts)):
            files.setdefault("/".join(["up", *parts[:end], "__init__.py"]), "")
        files["/".join(["up", *parts]) + ".py"] = text
    return files


def subject(version: str, **modules: str) -> CheckedRelease:
    """A release of `up`."""
    source = Memory(f"up {version}", version, files_of(modules))
    return CheckedRelease(
        f"up {version}", "up", version, lambda: source, is_local=False
    )


def edit(old: str, new: str, count: int = 1, target: str = "up.mod:f") -> str:
    """The text of an Edit in a row."""
    return f"Edit({target!r}, old={old!r}, new={new!r}, count={count})"


def write_wheels(folder: Path, releases: Mapping[str, Mapping[str, str]]) -> None:
    """Write a wheel of `up` for each version."""
    folder.mkdir(exist_ok=True)
    for version, modules in releases.items():
        with zipfile.ZipFile(folder / f"up-{version}-py3-none-any.whl", "w") as archive:
            for path, text in files_of(modules).items():
                archive.writestr(path, text)
            archive.writestr(f"up-{version}.dist-info/METADATA", "Name: up\n")


def broken(version: str) -> CheckedRelease:
    """A release that cannot be read."""

    def fail() -> ReleaseSource:
        raise UpstreamError(f"up {version}: it is cut off")

    return CheckedRelease(f"up {version}", "up", version, fail, is_local=False)


def checked(
    subjects: Sequence[CheckedRelease],
    lock: Lock | None = None,
    known: Mapping[str, Sequence[str]] | None = None,
    names: Sequence[str] = (),
) -> Report:
    """Check the pack `pack`, or rows of it; findings about the pack as a whole come first."""
    rows, faults = read_packs(Settings(), ["pack"])
    chosen = [row for row in rows if not names or row.name in names]
    beside = [row for row in rows if row not in chosen]
    check = Check(
        chosen, subjects, lock or Lock(), known or {}, faults=faults, beside=beside
    )
    return check.run()


def codes(report: Report) -> list[str]:
    """The codes of errors and warnings that are not about missing texts, in order."""
    return [
        finding.code.code
        for finding in report.findings
        if finding.severity != "info" and not finding.code.code.startswith("PK51")
    ]


def only_finding(report: Report, code: str) -> Finding:
    """The only finding with a code."""
    (finding,) = (finding for finding in report.findings if finding.code.code == code)
    return finding


def no_own_packs(patch: pytest.MonkeyPatch) -> None:
    """Leave patchkit's own rows out."""
    patch.setattr("patchkit.registry.OWN_PACKS", ())


def find_only_in(patch: pytest.MonkeyPatch, folder: Path | str) -> None:
    """Let pip's settings name a folder of wheels, and no index, to find releases in."""
    patch.setenv("PIP_CONFIG_FILE", "/dev/null")
    patch.setenv("PIP_NO_INDEX", "1")
    patch.setenv("PIP_FIND_LINKS", str(folder))
