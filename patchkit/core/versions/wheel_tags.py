"""Tells which files of a release pip would install on a machine with some Python."""

import math
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from packaging import tags
from packaging.specifiers import SpecifierSet
from packaging.utils import parse_wheel_filename

from patchkit.errors import RequirementError

_PYTHON = re.compile(r"(\d{1,3})\.(\d{1,3})(?:\.\d{1,3})?")
_PLATFORM = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
_GLIBC = re.compile(r"manylinux_2_(\d{1,3})_(\w+)")
_ANY_LINUX = re.compile(r"linux_(\w+)")
_MACOS = re.compile(r"macosx_(\d{1,3})_(\d{1,3})_(\w+)")
_NEWEST_GLIBC = 99
"""Stands for any version of glibc 2: `linux_x86_64` names none."""
_OLDEST_GLIBC = 5
_MAX_TAGS = 10_000
"""The most tags that the name of a wheel may stand for; that of a real one has some dozens."""
_ALIASES = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
"""The older names of `manylinux_2_17` and others, by the minor version of glibc."""


class FilePlace(NamedTuple):
    """Where a file stands among those of a release: pip installs the one with the lowest place.

    Args:
        tag: The place of its best tag among those that the machine takes.
        build: The build number of a wheel, negative, as pip prefers the highest.
    """

    tag: int
    build: tuple[int, str]


class _Fields(NamedTuple):
    """The fields of `Machine`, which caches what follows from them."""

    platform: str = ""
    python: str = ""


class Machine(_Fields):
    """A machine with a Python, for which pip would choose the file of a release.

    Args:
        platform: A platform tag such as `manylinux_2_28_aarch64` or `macosx_14_0_arm64`;
            `linux_aarch64` is for any glibc. '' for this machine.
        python: A version of CPython such as `3.12`; '' for the running Python.
    """

    def check(self) -> None:
        """Refuse a platform or a version that cannot be read.

        Raises:
            RequirementError: One of them cannot be read.
        """
        if self.platform and not _PLATFORM.fullmatch(self.platform):
            raise RequirementError(
                f"--platform: found {self.platform!r}, expected a platform tag such as "
                "manylinux_2_28_aarch64"
            )
        if self.python and not _PYTHON.fullmatch(self.python):
            raise RequirementError(
                f"--python: found {self.python!r}, expected a version such as 3.12"
            )

    def place_of(self, wheel: str) -> FilePlace | None:
        """Return the place of a wheel; None if pip would not install it on the machine.

        Args:
            wheel: The name of the file.
        """
        if _tag_count(wheel) > _MAX_TAGS:
            return None
        try:
            _, _, build, wheel_tags = parse_wheel_filename(wheel)
        except ValueError:  # InvalidWheelFilename, or a number with too many digits
            return None
        known = [
            self._places[str(tag)] for tag in wheel_tags if str(tag) in self._places
        ]
        if not known:
            return None
        number, suffix = build or (0, "")
        return FilePlace(min(known), (-number, suffix))

    def takes_python(self, bounds: str) -> bool:
        """Whether the machine's Python is within bounds such as `>=3.10`.

        Args:
            bounds: What the index says; as in pip, bounds that cannot be read allow every version.
        """
        version = self.python or ".".join(map(str, sys.version_info[:3]))
        try:
            return SpecifierSet(bounds).contains(version, prereleases=True)
        except ValueError:  # InvalidSpecifier, or a number with too many digits
            return True

    def __str__(self) -> str:
        """Return the machine in words: `linux_x86_64, CPython 3.12`."""
        platform = self.platform or next(iter(tags.platform_tags()))
        major, minor = self._version
        return f"{platform}, CPython {major}.{minor}"

    @property
    def _version(self) -> tuple[int, int]:
        match = _PYTHON.match(self.python)
        if match is None:
            return sys.version_info[:2]
        return int(match[1]), int(match[2])

    @cached_property
    def _places(self) -> Mapping[str, int]:
        """The tags that the machine takes, each with its place; the first is the best."""
        supported = list(self._tags())
        return {str(tag): place for place, tag in enumerate(supported)}

    def _tags(self) -> Iterator[tags.Tag]:
        """Yield the tags that the machine takes, the best first."""
        if not self.platform and not self.python:
            yield from tags.sys_tags()
            return
        platforms = list(tags.platform_tags())
        if self.platform:
            platforms = list(_platforms_of(self.platform))
        version = self._version
        yield from tags.cpython_tags(version, platforms=platforms)
        interpreter = f"cp{version[0]}{version[1]}"
        yield from tags.compatible_tags(version, interpreter, platforms)


def _tag_count(wheel: str) -> int:
    """Return how many tags the name of a wheel stands for: `py2.py3-none-any` for two."""
    parts = wheel.removesuffix(".whl").split("-")
    return math.prod(len(part.split(".")) for part in parts[-3:])


def _platforms_of(platform: str) -> Iterator[str]:
    """Yield the platforms whose wheels run on one, itself first: those for older systems, too."""
    on_macos = _MACOS.fullmatch(platform)
    if on_macos:
        release = int(on_macos[1]), int(on_macos[2])
        yield from tags.mac_platforms(release, on_macos[3])
        return
    glibc = _GLIBC.fullmatch(platform)
    any_linux = _ANY_LINUX.fullmatch(platform)
    if glibc:
        yield from _manylinux(int(glibc[1]), glibc[2])
    elif any_linux:
        yield from _manylinux(_NEWEST_GLIBC, any_linux[1])
    else:
        yield platform


def _manylinux(newest: int, architecture: str) -> Iterator[str]:
    """Yield the platforms of Linux up to a minor version of glibc 2, the newest first."""
    for minor in range(newest, _OLDEST_GLIBC - 1, -1):
        yield f"manylinux_2_{minor}_{architecture}"
        if minor in _ALIASES:
            yield f"{_ALIASES[minor]}_{architecture}"
    yield f"linux_{architecture}"
