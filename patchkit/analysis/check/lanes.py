"""Reads the file of lanes, `lanes.toml`: the combinations of releases that are run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from patchkit.core.record import Record
from patchkit.core.rows.project import parse_toml
from patchkit.core.versions.requirements import (
    canonical,
    release_order,
)
from patchkit.errors import SettingsError, VersionError

T = TypeVar("T")


class Lane(Record):
    """One combination of releases.

    Args:
        name: its name in the file.
        releases: the version of each distribution, by its canonical name.
        reason: why it cannot run; '' where it can.
        table: all its fields in the file, for the code that runs it.
    """

    name: str
    releases: Mapping[str, str]
    reason: str
    table: Mapping[str, Any]

    @property
    def only_imports(self) -> bool:
        """Whether a run of it only imports modules, and starts no engine."""
        return self.table.get("runs") == "import"


class Lanes(Record):
    """A file of lanes.

    Args:
        lanes: the lanes, in the order of the file.
        reasons: why no lane covers a bound, by `BOUND` or `PATCH BOUND`, such as `vllm<0.33`.
    """

    lanes: Sequence[Lane]
    reasons: Mapping[str, str]


def read_lanes(file: Path) -> Lanes:
    """Read a file of lanes.

    Args:
        file: the file, in TOML.

    Returns:
        The lanes, and the reasons why no lane covers a bound.

    Raises:
        SettingsError: The file cannot be read, or is malformed; it names file and field, what was
            found and what was expected.
    """
    try:
        table = parse_toml(file, file.read_bytes())
    except OSError as error:
        raise SettingsError(
            f"{file}: found no file of lanes ({error.strerror})"
        ) from error
    unknown = [*table.keys() - {"lanes", "boundaries"}]
    if unknown:
        expected = "expected [lanes.NAME] and [boundaries]"
        raise SettingsError(f"{file}: found the unknown key {unknown[0]!r}, {expected}")
    lanes = typed(file, "lanes", table.get("lanes"), dict, "a table of lanes")
    reasons = typed(
        file, "boundaries", table.get("boundaries", {}), dict, "a table of reasons"
    )
    for bound, reason in reasons.items():
        typed(file, f"boundaries.{bound}", reason, str, "why no lane covers it")
    parsed = [_lane(file, name, written) for name, written in lanes.items()]
    return Lanes(parsed, reasons)


def _lane(file: Path, name: str, written: object) -> Lane:
    """Check one lane of the file; raise SettingsError if a field of it is malformed.

    Args:
        file: the file, for errors.
        name: the name of the lane.
        written: what the file has for it.
    """
    field = f"lanes.{name}"
    table = typed(file, field, written, dict, "a table")
    expected = "a table such as { vllm = '0.32.0' }"
    versions = typed(file, f"{field}.releases", table.get("releases"), dict, expected)
    for project, version in versions.items():
        field_of_version = f"{field}.releases.{project}"
        typed(file, field_of_version, version, str, "a release such as '0.32.0'")
        try:
            release_order(version)  # only to see that it is a version
        except VersionError as error:
            raise SettingsError(f"{file}, {field_of_version}: {error}") from error
    reason = typed(
        file, f"{field}.reason", table.get("reason", ""), str, "why it cannot run"
    )
    releases = {canonical(project): version for project, version in versions.items()}
    return Lane(name, releases, reason, table)


def typed(file: Path, field: str, written: object, kind: type[T], expected: str) -> T:
    """Return what a file has for a field, checked to be of a type.

    Args:
        file: the file, for the error.
        field: the dotted name of the field, for the error.
        written: what the file has for it; None for nothing.
        kind: the type that it has to have.
        expected: what was expected, for the error.

    Raises:
        SettingsError: It is of another type.
    """
    if not isinstance(written, kind):
        actual = "nothing" if written is None else repr(written)
        raise SettingsError(f"{file}, {field}: found {actual}, expected {expected}")
    return written
