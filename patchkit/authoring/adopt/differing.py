"""Makes rows of files that differ: by a diff, or in a later release."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from patchkit.analysis.upstream.reading.files import ROOTS, ReleaseSource
from patchkit.analysis.upstream.resolving.module_tree import module_name
from patchkit.authoring.adopt.definitions import Definitions
from patchkit.authoring.adopt.difference import UnexpressedCode, difference
from patchkit.authoring.adopt.unified import applied, read_diff
from patchkit.authoring.scaffold.files import PlannedFile
from patchkit.authoring.scaffold.plan import PackLocation
from patchkit.authoring.scaffold.rows import new_pack
from patchkit.authoring.scaffold.source_edits import TextChange, rewritten, span
from patchkit.core.rows.declaration import Change, Edit, Patch, Provide, Role
from patchkit.errors import ScaffoldError

_MODULE = re.compile(r"(?:[^\W\d]\w*/)*[^\W\d]\w*\.py")
_GONE = "the file is gone there; no row takes a module away"


class Differing(NamedTuple):
    """A file of a release, as it is and as it shall be.

    Args:
        path: its path in the release.
        old: what it has in it; None where the release has no such file.
        new: what it shall have in it; None where there shall be no such file.
    """

    path: str
    old: bytes | None
    new: bytes | None


@dataclass
class AdoptedRows:
    """Rows, the texts of their bodies by name, and what no row says.

    Args:
        requires: the requirement that each row gets.
        origin: what the rows are adopted from, as they say it themselves.
        patches: the rows.
        bodies: the texts of their bodies, by name.
        left: what no row can express.
    """

    requires: str
    origin: str
    patches: list[Patch] = field(default_factory=list)
    bodies: dict[str, str] = field(default_factory=dict)
    left: list[UnexpressedCode] = field(default_factory=list)

    @property
    def expressed(self) -> int:
        """How many changes the rows make; what holds a pile off is none of them."""
        count = 0
        for patch in self.patches:
            count += sum(change.kind != "BeforeImport" for change in patch.changes)
        return count

    def files(self, place: PackLocation) -> list[PlannedFile]:
        """Return the planned files of the pack.

        `patchkit.authoring.scaffold.files.write` writes all of them, or nothing.

        Args:
            place: the pack.
        """
        rows = new_pack(place.module, *self.patches)
        old = place.file.read_bytes() if place.file.exists() else None
        return [*place.files(self.bodies), PlannedFile("row", place.file, rows, old)]

    @property
    def sites(self) -> int:
        """How many changes there are to be made."""
        return self.expressed + len(self.left)


@dataclass
class DifferenceRows(AdoptedRows):
    """A row for each module that differs."""

    def add(self, files: Iterable[Differing]) -> None:
        """Make a row of each file, and name those that use what no row says: they may do harm.

        Args:
            files: the files that differ.

        Raises:
            ScaffoldError: no row and nothing that a row lacks came of them.
            UpstreamError: a file cannot be parsed.
        """
        for file in files:
            self._add(file)
        texts = {patch.name: self._new_code(patch) for patch in self.patches}
        self.left = [code._replace(used_by=_users(code, texts)) for code in self.left]
        if not self.sites:
            raise ScaffoldError(
                f"{self.origin} contains no change that a row can express"
            )

    def _new_code(self, patch: Patch) -> str:
        """Write all code that a row brings: its body, and what its Edits write."""
        body = self.bodies.get(patch.body or "", "")
        edited_code = [
            change.new for change in patch.changes if isinstance(change, Edit)
        ]
        return "\n".join([body, *edited_code])

    def _add(self, file: Differing) -> None:
        """Make a row of one file, or list what no row can express."""
        module = module_name(file.path)
        if file.new is None:
            self.left.append(UnexpressedCode(file.path, 1, "", _GONE, module))
        elif file.old is None:
            self._add_row(module, [Provide(module)], _provided(file.path, file.new))
        else:
            module_difference = difference(file.path, file.old, file.new)
            self.left += module_difference.left
            if module_difference.changes:
                self._add_row(module, module_difference.changes, module_difference.body)

    def _add_row(self, module: str, changes: Sequence[Change], body: str) -> None:
        """Write a row that is named after its module.

        Args:
            module: the module that the row changes.
            changes: what it changes there.
            body: the text of its body; '' where it needs none.
        """
        name = self._name_for(module)
        body_name = None
        if body:
            body_name = f"patch_{name.replace('-', '_')}"
            self.bodies[body_name] = body
        patch = Patch(
            name=name,
            body=body_name,
            requires=(self.requires,),
            roles=frozenset(Role),
            changes=tuple(changes),
            why=f"Adopted from {self.origin}.",
            upstream=self.origin,
            sunset="upstream has these changes",
        )
        self.patches.append(patch)

    def _name_for(self, module: str) -> str:
        """Name a row after the module, without its package; a number makes the name its own."""
        parts = [part.strip("_").lower() for part in module.split(".")[1:]] or [module]
        name = "-".join(parts).replace("_", "-")
        if any(patch.name == name for patch in self.patches):  # `mod` and `_mod`
            return f"{name}-{len(self.patches)}"
        return name


def _users(code: UnexpressedCode, texts: Mapping[str, str]) -> list[str]:
    """Name the rows whose new code uses a definition that no row can express.

    Args:
        code: what no row can express.
        texts: the new code of rows, by their names.
    """
    if ":" not in code.place:
        return []
    last = re.split("[.:]", code.place)[-1]
    pattern = re.compile(rf"\b{re.escape(last)}\b")
    return [name for name, text in texts.items() if pattern.search(text)]


def _provided(path: str, text: bytes) -> str:
    """Write a new module as a body that exports its names; its imports are absolute.

    Args:
        path: the path of the module in its release.
        text: what it has in it.
    """
    module = Definitions.of(path, text)

    def absolute_imports(source: bytes) -> Iterator[TextChange]:
        for node in ast.walk(module.tree.tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                origin = module.tree.absolute(node.module, node.level)
                statement = ast.unparse(ast.ImportFrom(origin, node.names, 0))
                start, end = span(source, node)
                yield start, end, statement

    code = (
        rewritten(module.tree.source, absolute_imports)
        .decode(errors="replace")
        .rstrip()
    )
    names = sorted(
        name for name in {*module.named, *module.imports} if name.isidentifier()
    )
    exported = "".join(f'    "{name}",\n' for name in names)
    return f"{code}\n\n__all__ = [\n{exported}]\n"


def of_diff(
    name: str, text: str, source: ReleaseSource
) -> tuple[list[Differing], list[UnexpressedCode]]:
    """Apply a diff to a release.

    Args:
        name: the name of the diff, for errors.
        text: the diff.
        source: the files of the release.

    Returns:
        The files that differ, and what the release has no file for.

    Raises:
        ScaffoldError: it is no unified diff, or the lines of a hunk are nowhere.
    """
    files: list[Differing] = []
    left: list[UnexpressedCode] = []
    paths = source.paths()
    for file in read_diff(name, text):
        named = file.old or file.new or ""
        path = _path_in_release(named, paths, is_new=not file.old)
        if path is None:
            left.append(
                UnexpressedCode(named, 1, "", "the release has no such file", named)
            )
            continue
        old = source.read(path) if file.old else None
        new = applied(file.hunks, old or b"", f"{name}: {named}") if file.new else None
        files.append(Differing(path, old, new))
    return files, left


def _path_in_release(path: str, paths: Collection[str], *, is_new: bool) -> str | None:
    """Find the path that a file of a repository has in a release.

    Args:
        path: the path in the repository, where packages may be in a folder such as `src`.
        paths: the paths of the release.
        is_new: whether the diff makes the file, so that its package is enough.

    Returns:
        The path; None where the release has no such module.
    """
    packages = {path_in_release.partition("/")[0] for path_in_release in paths}
    for root in reversed(ROOTS):
        candidate = path.removeprefix(root)
        exists = candidate in paths
        if is_new:
            exists = exists or candidate.partition("/")[0] in packages
        if exists and _MODULE.fullmatch(candidate):
            return candidate
    return None


def of_releases(
    old: ReleaseSource, new: ReleaseSource, package: str
) -> Iterator[Differing]:
    """Yield the Python files of a package that differ in two releases.

    Args:
        old: the files of the release that rows are for.
        new: the files of the release that rows shall make of it.
        package: the name of the package, which may be one of more in the releases.
    """
    paths: list[str] = []
    for path in sorted(old.paths() | new.paths()):
        if not path.startswith(f"{package}/") or not path.endswith(".py"):
            continue
        if path == f"{package}/_version.py":  # by what builds the package
            continue
        old_mark = old.mark(path)
        new_mark = new.mark(path)
        if old_mark is None or old_mark != new_mark:
            paths.append(path)
    old.prefetch(paths)
    new.prefetch(paths)
    files = (Differing(path, old.read(path), new.read(path)) for path in paths)
    return (file for file in files if file.old != file.new)
