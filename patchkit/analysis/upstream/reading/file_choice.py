"""Chooses the file that a release is read from: the one that pip would install on a machine."""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from patchkit.analysis.upstream.reading.index import Link
from patchkit.core.versions.wheel_tags import FilePlace, Machine

_NO_WHEEL = FilePlace(tag=0, build=(0, ""))
"""The place of a source distribution; it is only compared with others of these."""


class ChosenFile(NamedTuple):
    """The file that a release is read from.

    Args:
        link: The file.
        is_installable: Whether pip would install it on the machine. If it would install none, the
            release is read from one for other machines.
    """

    link: Link
    is_installable: bool


class _Candidate(NamedTuple):
    """A file that pip would install; the lowest is the best, and of equal ones the first name."""

    is_local: bool
    place: FilePlace
    filename: str
    link: Link


def choose_file(files: Collection[Link], machine: Machine) -> ChosenFile:
    """Choose the file of a release.

    As in pip, a file that is yanked is the last resort, a wheel comes before a source distribution,
    and then the best tag and the highest build number decide. Unlike in pip, a file with a local
    version such as `+cpu` comes last: a requirement is for the release, whoever has built it. And
    where the only wheels are for other machines, one of these is read: patchkit builds nothing.

    Args:
        files: The files that the index offers, at least one.
        machine: The machine for which pip would choose.

    Returns:
        The file, and whether pip would install it.
    """
    offered = [link for link in files if not link.is_yanked] or list(files)
    wheels = [link for link in offered if _is_wheel(link)]
    candidates = []
    for link in wheels or offered:
        place = _place_of(link, machine)
        if place is not None:
            is_local = "+" in link.version
            candidates.append(_Candidate(is_local, place, link.filename, link))
    if candidates:
        return ChosenFile(min(candidates).link, is_installable=True)
    return ChosenFile(max(offered, key=_preference), is_installable=False)


def _place_of(link: Link, machine: Machine) -> FilePlace | None:
    """Return the place of a file; None if pip would not take it on the machine."""
    if not machine.takes_python(link.requires_python):
        return None
    if not _is_wheel(link):
        return _NO_WHEEL
    return machine.place_of(link.filename)


def _is_wheel(link: Link) -> bool:
    return link.filename.endswith(".whl")


def _preference(link: Link) -> tuple[bool, bool, bool, bool, str]:
    """Return a key to choose a file where pip would install none: the highest.

    It is the same on every machine. A file without a local version is preferred; then a wheel, a
    pure-Python one, and one for x86_64. The name decides between others.
    """
    is_plain = "+" not in link.version
    is_pure = link.filename.endswith("-none-any.whl")
    is_common = "x86_64" in link.filename
    # With zeros before numbers, `cp310` comes after `cp39`.
    name = re.sub(r"\d+", lambda digits: digits[0].zfill(9), link.filename)
    return is_plain, _is_wheel(link), is_pure, is_common, name


def foreign_files(
    project: str, chosen: Iterable[tuple[str, ChosenFile]], machine: Machine
) -> str:
    """Say which releases are read from files that pip would not install on a machine.

    Args:
        project: The name of the project.
        chosen: The versions, the oldest first, each with its file.
        machine: The machine.

    Returns:
        A short sentence, for a single release with the name of its file, and with the versions of
        Python that it requires where that is the reason; '' if there are none.
    """
    foreign = [(version, file) for version, file in chosen if not file.is_installable]
    if not foreign:
        return ""
    oldest, _ = foreign[0]
    newest, file = foreign[-1]
    if len(foreign) == 1:
        lack = f"has no file for {machine}"
        required = file.link.requires_python
        if not machine.takes_python(required):
            lack = f"requires Python {required}, and this is {machine}"
        return f"{project} {newest} {lack}; read from {file.link.filename}"
    return (
        f"{project} {oldest} to {newest}: {len(foreign)} releases have no file for {machine}; "
        "read from files for others"
    )
