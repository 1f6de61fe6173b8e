"""Writes rows for files that a diff changes, or that differ between two releases."""

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
_DELETED = "the file is gone there; no row takes a module away"


class Differing(NamedTuple):
    """A file of a release, before and after the changes that rows are written for.

    Args:
        path: its path in the release.
        old: its content in the release; None where the release has no such file.
        new: its content after the changes; None where they delete the file.
    """

    path: str
    old: bytes | None
    new: bytes | None


@dataclass
class AdoptedRows:
    """What `patchkit adopt` writes: rows and bodies, and a list of what no row can express.

    Args:
        requires: the requirement that each row gets.
        origin: where the changes come from, as named in the rows' `why` and `upstream`.
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
        """The number of adopted changes; the row that switches a pile off has none."""
        count = 0
        for patch in self.patches:
            if patch.name != "old-pile":
                # A call is each of the changes that it is seen to make.
                parts = (len(change.parts) - 1 for change in patch.changes)
                count += sum(max(1, number) for number in parts)
        return count

    def files(self, place: PackLocation) -> list[PlannedFile]:
        """Return the planned files of the pack: the bodies, and the module with the rows.

        Args:
            place: the pack.
        """
        rows = new_pack(place.module, *self.patches)
        old = place.file.read_bytes() if place.file.exists() else None
        return [*place.files(self.bodies), PlannedFile("row", place.file, rows, old)]

    @property
    def sites(self) -> int:
        """The number of changes found, whether or not a row can express them."""
        return self.expressed + len(self.left)


@dataclass
class DifferenceRows(AdoptedRows):
    """The rows for files that differ: one row for each module."""

    def add(self, files: Iterable[Differing]) -> None:
        """Write a row for each file, then record which rows use code that no row can express.

        Such rows may fail where they are applied: the code that they use is missing there.

        Args:
            files: the files that differ.

        Raises:
            ScaffoldError: the files contain no change at all.
            UpstreamError: a file cannot be parsed.
        """
        for file in files:
            self._add(file)
        code_by_row = {patch.name: self._new_code(patch) for patch in self.patches}
        self.left = [
            code._replace(used_by=_users(code, code_by_row)) for code in self.left
        ]
        if not self.sites:
            raise ScaffoldError(
                f"{self.origin} contains no change that a row can express"
            )

    def _new_code(self, patch: Patch) -> str:
        """Return all code that a row adds to upstream: its body, and the new text of its Edits."""
        body = self.bodies.get(patch.body or "", "")
        edited_code = [
            change.new for change in patch.changes if isinstance(change, Edit)
        ]
        return "\n".join([body, *edited_code])

    def _add(self, file: Differing) -> None:
        """Write a row for one file, and list what no row can express."""
        module = module_name(file.path)
        if file.new is None:
            deleted = UnexpressedCode(
                file.path, line=1, code="", reason=_DELETED, place=module
            )
            self.left.append(deleted)
        elif file.old is None:
            self._add_row(module, [Provide(module)], _provided(file.path, file.new))
        else:
            module_difference = difference(file.path, file.old, file.new)
            self.left += module_difference.left
            if module_difference.changes:
                self._add_row(module, module_difference.changes, module_difference.body)

    def _add_row(self, module: str, changes: Sequence[Change], body: str) -> None:
        """Add a row that is named after its module, and its body.

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
        """Name a row after a module: `v1-core` for `vllm.v1.core`, with a number if it is taken.

        Only the package `vllm` itself has no further parts: its row is called `vllm`.
        """
        parts = [part.strip("_").lower() for part in module.split(".")[1:]] or [module]
        name = "-".join(parts).replace("_", "-")
        if any(patch.name == name for patch in self.patches):  # `mod` and `_mod`
            return f"{name}-{len(self.patches)}"
        return name


def _users(code: UnexpressedCode, code_by_row: Mapping[str, str]) -> list[str]:
    """Name the rows whose new code contains the name of a definition that no row can express.

    Args:
        code: what no row can express.
        code_by_row: the new code of rows, by their names.
    """
    if ":" not in code.place:  # a module, not a definition
        return []
    name = re.split("[.:]", code.place)[-1]
    pattern = re.compile(rf"\b{re.escape(name)}\b")
    return [row for row, text in code_by_row.items() if pattern.search(text)]


def _provided(path: str, text: bytes) -> str:
    """Write a module that upstream lacks as the body of a Provide.

    The body is the module's text with absolute imports, and an `__all__` with all of its names.

    Args:
        path: the path of the module in its release.
        text: its content.
    """
    module = Definitions.of(path, text)

    def absolute_imports(source: bytes) -> Iterator[TextChange]:
        for node in ast.walk(module.tree.tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                origin = module.tree.absolute(node.module, node.level)
                statement = ast.unparse(ast.ImportFrom(origin, node.names, level=0))
                start, end = span(source, node)
                yield start, end, statement

    code = (
        rewritten(module.tree.source, absolute_imports)
        .decode(errors="replace")
        .rstrip()
    )
    # Members of classes, such as `C.f`, are named as well: these are no names of the module.
    names = sorted(
        name for name in {*module.named, *module.imports} if name.isidentifier()
    )
    exported = "".join(f'    "{name}",\n' for name in names)
    return f"{code}\n\n__all__ = [\n{exported}]\n"


def of_diff(
    name: str, text: str, source: ReleaseSource
) -> tuple[list[Differing], list[UnexpressedCode]]:
    """Apply a unified diff to the files of a release, in memory.

    Args:
        name: the name of the diff, for errors.
        text: the diff.
        source: the files of the release.

    Returns:
        The files that the diff changes, and those of it that the release does not have.

    Raises:
        ScaffoldError: it is no unified diff, or a file does not have the lines of a hunk.
    """
    files: list[Differing] = []
    left: list[UnexpressedCode] = []
    paths = source.paths()
    for file in read_diff(name, text):
        path_in_diff = file.old or file.new or ""
        path = _path_in_release(path_in_diff, paths, is_new=not file.old)
        if path is None:
            reason = "the release has no such file"
            missing = UnexpressedCode(
                path_in_diff, line=1, code="", reason=reason, place=path_in_diff
            )
            left.append(missing)
            continue
        old = source.read(path) if file.old else None
        new = None
        if file.new:
            new = applied(file.hunks, old or b"", f"{name}: {path_in_diff}")
        files.append(Differing(path, old, new))
    return files, left


def _path_in_release(path: str, paths: Collection[str], *, is_new: bool) -> str | None:
    """Translate the path of a file in a repository into its path in a release.

    Packages may lie in a folder of the repository: `src/up/lib.py` is `up/lib.py` in a release.

    Args:
        path: the path in the repository.
        paths: the paths of the release.
        is_new: whether the diff creates the file; then the release need only have its package.

    Returns:
        The path; None where the release has no such module.
    """
    packages = {path_in_release.partition("/")[0] for path_in_release in paths}
    # Folders such as `src/` in turn; the last, '', leaves the path as it is.
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
    """Yield the Python files of a package that differ between two releases.

    Args:
        old: the files of the release that the rows will patch.
        new: the files of the release whose code the rows shall bring to it.
        package: the name of the import package; releases may contain others.
    """
    paths: list[str] = []
    for path in sorted(old.paths() | new.paths()):
        if not path.startswith(f"{package}/") or not path.endswith(".py"):
            continue
        if path == f"{package}/_version.py":  # generated when the package is built
            continue
        # Marks tell whether files differ without reading them. None says nothing: the source has
        # no marks, or the release has no such file.
        old_mark = old.mark(path)
        new_mark = new.mark(path)
        if old_mark is None or old_mark != new_mark:
            paths.append(path)
    old.prefetch(paths)
    new.prefetch(paths)
    files = (Differing(path, old.read(path), new.read(path)) for path in paths)
    return (file for file in files if file.old != file.new)
