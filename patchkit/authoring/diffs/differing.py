"""Writes rows for files that a diff changes, or that differ between two releases."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.files import ReleaseSource
from patchkit.analysis.upstream.resolving.module_tree import module_name
from patchkit.authoring.diffs.diff_files import Differing
from patchkit.authoring.diffs.difference import (
    NO_VERDICTS,
    ModuleDifference,
    Verdicts,
    difference,
)
from patchkit.authoring.diffs.module_reads import names_set_as_global
from patchkit.authoring.diffs.row_verdicts import verdicts
from patchkit.authoring.diffs.unexpressed import TO_LOOK_AT, UnexpressedCode
from patchkit.authoring.scaffold.files import PlannedFile
from patchkit.authoring.scaffold.plan import PackLocation
from patchkit.authoring.scaffold.rows import new_pack
from patchkit.authoring.scaffold.source_edits import TextChange, rewritten, span
from patchkit.authoring.source.definitions import Definitions
from patchkit.core.rows.declaration import Change, Edit, Patch, Provide, Role
from patchkit.errors import ScaffoldError

_STATE = "its functions set it in the body; who reads it in the module has what it was at first"
_DELETED = "the file is gone there; no row takes a module away"


@dataclass
class AdoptedRows:
    """What `patchkit adopt` writes: rows and bodies, and a list of what no row can express.

    Args:
        requires: the requirement that each row gets.
        origin: where the changes come from, such as the name of a diff or of a pile; the rows name
            it in `why` and `upstream`.
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
            if patch.name == "old-pile":
                continue
            for change in patch.changes:
                # An `AfterImport` with `sets` counts as each of the targets that its call sets: its
                # parts are itself and these. Any other change has no part but itself.
                count += max(1, len(change.parts) - 1)
        return count

    def adopted(
        self, name: str, body: str | None, changes: Iterable[Change], source: str = ""
    ) -> Patch:
        """Make a row that says where it comes from.

        Args:
            name: its name.
            body: the name of its body; None for none.
            changes: its changes.
            source: what of the origin it stands for, such as a function; '' for no more than that.

        Returns:
            The row, for all roles and exactly the release.
        """
        detail = f": {source}" if source else ""
        upstream = f"none: adopted from {self.origin}" if source else self.origin
        return Patch(
            name=name,
            body=body,
            requires=(self.requires,),
            roles=frozenset(Role),
            changes=tuple(changes),
            why=f"Adopted from {self.origin}{detail}.",
            upstream=upstream,
            sunset="upstream has these changes",
        )

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
        """The number of changes found, whether or not a row can express them.

        What a person has to look at is of changes that are in rows.
        """
        not_in_rows = [code for code in self.left if code.kind != TO_LOOK_AT]
        return self.expressed + len(not_in_rows)


@dataclass
class DifferenceRows(AdoptedRows):
    """The rows for files that differ: one row for each module.

    Args:
        release: the release that the rows are for; None where it is not known.
    """

    release: CheckedRelease | None = field(default=None, kw_only=True)

    def add(self, files: Iterable[Differing]) -> None:
        """Write a row for each file, then record which rows use code that no row can express.

        Such rows may fail where they are applied: the code that they use is missing there.

        Args:
            files: the files that differ.

        Raises:
            ScaffoldError: the files contain no change at all.
            UpstreamError: a file cannot be parsed.
        """
        for file in self._in_order(files):
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
            self._list_states(file.path, file.new)
        else:
            module_difference = self._difference(file.path, file.old, file.new)
            self.left += module_difference.left
            if module_difference.changes:
                self._add_row(module, module_difference.changes, module_difference.body)

    def _list_states(self, path: str, text: bytes) -> None:
        """List the names that functions of a provided module set for others to read.

        The functions have the body's globals; the module gets what these are when it is provided.
        """
        module = Definitions.of(path, text)
        for name in sorted(names_set_as_global(module)):
            place = f"{module.tree.name}:{name}"
            state = UnexpressedCode(
                path, line=1, code=f"global {name}", reason=_STATE, place=place
            )
            self.left.append(state)

    def _in_order(self, files: Iterable[Differing]) -> list[Differing]:
        """Return the files, new packages before their modules, with packages that have no file.

        A folder of modules without an `__init__.py` is a package for Python, too. Where the release
        lacks the folder, an empty `__init__.py` stands for it.
        """
        files_by_path = {file.path: file for file in files}
        if self.release is not None:
            folders_of_release: set[str] = set()
            for path in self.release.source.paths():
                folders_of_release.update(_folders(path))
            new_files = [file for file in files_by_path.values() if file.old is None]
            for file in new_files:
                for folder in _folders(file.path):
                    if folder not in folders_of_release:
                        init = f"{folder}/__init__.py"
                        files_by_path.setdefault(init, Differing(init, None, b""))
        return sorted(files_by_path.values(), key=_depth_of_new)

    def _difference(self, path: str, old: bytes, new: bytes) -> ModuleDifference:
        """Compare two versions of a file; what `check` would refuse is not expressed.

        Args:
            path: the path of the file in the release.
            old: its content there.
            new: its content after the changes.

        Returns:
            The changes that `check` does not refuse, and in `left` those that it does.
        """
        compared = difference(path, old, new, self.release)
        if self.release is None or not compared.changes:
            return compared
        known = NO_VERDICTS
        # Without a refused change, another one may be refused that uses it: compare with all
        # verdicts so far, until there is no new one.
        while True:
            patch = self._row(compared.module, compared.changes, compared.body)
            new_verdicts = verdicts(patch, compared.body, self.release)
            refused = {**known.refused, **new_verdicts.refused}
            unrelated = {*known.unrelated, *new_verdicts.unrelated}
            all_verdicts = Verdicts(refused, unrelated)
            if all_verdicts == known:
                return compared
            known = all_verdicts
            compared = difference(path, old, new, self.release, known)

    def _add_row(self, module: str, changes: Sequence[Change], body: str) -> None:
        """Add a row that is named after its module, and its body.

        Args:
            module: the module that the row changes.
            changes: what it changes there.
            body: the text of its body; '' where it needs none.
        """
        patch = self._row(module, changes, body)
        if patch.body is not None:
            self.bodies[patch.body] = body
        self.patches.append(patch)

    def _row(self, module: str, changes: Sequence[Change], body: str) -> Patch:
        """Make the row of a module.

        Args:
            module: the module that the row changes.
            changes: what it changes there.
            body: the text of its body; '' where it needs none.
        """
        name = self._name_for(module)
        body_name = None
        if body:
            body_name = f"patch_{name.replace('-', '_')}"
        return self.adopted(name, body_name, changes)

    def _name_for(self, module: str) -> str:
        """Name a row after a module: `v1-core` for `vllm.v1.core`, with a number if it is taken.

        Only the package `vllm` itself has no further parts: its row is called `vllm`.
        """
        parts = [part.strip("_").lower() for part in module.split(".")[1:]] or [module]
        name = "-".join(parts).replace("_", "-")
        if any(patch.name == name for patch in self.patches):  # `mod` and `_mod`
            return f"{name}-{len(self.patches)}"
        return name


def _folders(path: str) -> list[str]:
    """Return the folders that a file lies in, the outermost first: `a`, `a/b` for `a/b/c.py`."""
    folders: list[str] = []
    folder, _, _ = path.rpartition("/")
    while folder:
        folders.insert(0, folder)
        folder, _, _ = folder.rpartition("/")
    return folders


def _depth_of_new(file: Differing) -> int:
    """Return the number of packages that a new file lies in; 0 for a file that is there."""
    if file.old is not None:
        return 0
    return file.path.removesuffix("/__init__.py").count("/")


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
