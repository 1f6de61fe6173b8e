"""Rows of files that differ: as a diff says, in a later release, or in an edited installation."""

import ast
import base64
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import FileHash, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from patchkit.analysis.upstream.reading.files import ROOTS, ReleaseSource, is_python
from patchkit.analysis.upstream.resolving.module_tree import module_name
from patchkit.authoring.adopt.definitions import Definitions
from patchkit.authoring.adopt.difference import Left, difference
from patchkit.authoring.adopt.unified import applied, read_diff
from patchkit.authoring.scaffold.plan import Place, PlannedFile, write
from patchkit.authoring.scaffold.rows import TextChange, new_pack, rewritten, span
from patchkit.core.rows.declaration import Change, Edit, Patch, Provide, Role
from patchkit.errors import ScaffoldError, UpstreamError

_MODULE = re.compile(r"(?:[^\W\d]\w*/)*[^\W\d]\w*\.py")
_GONE = "the file is gone there; no row takes a module away"


class Differing(NamedTuple):
    """A file of a release, as it is and as it shall be; None where there is no such file."""

    path: str
    old: bytes | None
    new: bytes | None


@dataclass
class AdoptedRows:
    """Rows, the texts of their bodies by name, and what no row says."""

    requires: str
    origin: str
    patches: list[Patch] = field(default_factory=list)
    bodies: dict[str, str] = field(default_factory=dict)
    left: list[Left] = field(default_factory=list)

    @property
    def expressed(self) -> int:
        """How many changes the rows make; what holds a pile off is none of them."""
        return sum(one.kind != "BeforeImport" for patch in self.patches for one in patch.changes)

    def files(self, place: Place) -> list[PlannedFile]:
        """Plan the pack; `patchkit.authoring.scaffold.plan.write` writes all of it, or nothing."""
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
        """Make a row of each file, and name those that use what no row says: they may do harm."""
        for file in files:
            self._add(file)
        texts = dict[str, str]()
        for row in self.patches:
            edits = (one.new for one in row.changes if isinstance(one, Edit))
            texts[row.name] = "\n".join([self.bodies.get(row.body or "", ""), *edits])
        for at, one in enumerate(self.left):
            last = re.compile(rf"\b{re.escape(re.split('[.:]', one.place)[-1])}\b")
            users = [name for name, text in texts.items() if ":" in one.place and last.search(text)]
            self.left[at] = one._replace(used_by=users)
        if not self.sites:
            raise ScaffoldError(f"{self.origin}: found nothing that a row says, expected changes")

    def _add(self, file: Differing) -> None:
        module = module_name(file.path)
        if file.new is None:
            self.left.append(Left(file.path, 1, "", _GONE, module))
        elif file.old is None:
            self._add_row(module, [Provide(module)], _provided(file.path, file.new))
        else:
            found = difference(file.path, file.old, file.new)
            self.left += found.left
            if found.changes:
                self._add_row(module, found.changes, found.body)

    def _add_row(self, module: str, changes: Sequence[Change], body: str) -> None:
        words = [part.strip("_").lower() for part in module.split(".")[1:]] or [module]
        name = "-".join(words).replace("_", "-")
        if name in [one.name for one in self.patches]:  # `mod` and `_mod`
            name = f"{name}-{len(self.patches)}"
        named = f"patch_{name.replace('-', '_')}" if body else None
        self.bodies.update({named: body} if named else {})
        row = Patch(
            name=name,
            body=named,
            requires=(self.requires,),
            roles=frozenset(Role),
            changes=tuple(changes),
            why=f"Adopted from {self.origin}.",
            upstream=self.origin,
            sunset="upstream has these changes",
        )
        self.patches.append(row)


def _provided(path: str, text: bytes) -> str:
    """Write a new module as a body that exports its names, with whole names of modules."""
    module = Definitions.of(path, text)

    def edits(source: bytes) -> Iterator[TextChange]:
        for node in ast.walk(module.tree.tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                whole = module.tree.absolute(node.module, node.level)
                yield *span(source, node), ast.unparse(ast.ImportFrom(whole, node.names, 0))

    code = rewritten(module.tree.source, edits).decode(errors="replace").rstrip()
    names = sorted(one for one in {*module.named, *module.imports} if one.isidentifier())
    exported = "".join(f'    "{one}",\n' for one in names)
    return f"{code}\n\n__all__ = [\n{exported}]\n"


def of_diff(name: str, text: str, source: ReleaseSource) -> tuple[list[Differing], list[Left]]:
    """Apply a diff to a release; ScaffoldError where the lines of a hunk are not there."""
    files, left = list[Differing](), list[Left]()
    paths = source.paths()
    for one in read_diff(name, text):
        named = one.old or one.new or ""
        path = _inside(named, paths, is_new=not one.old)
        if path is None:
            left.append(Left(named, 1, "", "the release has no such file", named))
            continue
        old = source.read(path) if one.old else None
        new = applied(one.hunks, old or b"", f"{name}: {named}") if one.new else None
        files.append(Differing(path, old, new))
    return files, left


def _inside(path: str, paths: Collection[str], *, is_new: bool) -> str | None:
    tops = {one.partition("/")[0] for one in paths}
    for root in reversed(ROOTS):
        inside = path.removeprefix(root)
        is_there = inside in paths or (is_new and inside.partition("/")[0] in tops)
        if is_there and _MODULE.fullmatch(inside):
            return inside
    return None


def of_releases(old: ReleaseSource, new: ReleaseSource, package: str) -> Iterator[Differing]:
    """Compare the Python files of a package in two releases."""
    both = sorted(old.paths() | new.paths())
    ours = (one for one in both if one.startswith(f"{package}/") and one.endswith(".py"))
    marks = {one: (old.mark(one), new.mark(one)) for one in ours}
    marks.pop(f"{package}/_version.py", None)  # by what builds the package
    paths = [one for one, (first, last) in marks.items() if first is None or first != last]
    old.prefetch(paths)
    new.prefetch(paths)
    files = (Differing(one, old.read(one), new.read(one)) for one in paths)
    return (one for one in files if one.old != one.new)


class EditedInstallation:
    """What somebody has edited of an installed distribution, by the hashes of its RECORD.

    Raises:
        UpstreamError: it is not installed, or its installer has recorded no hashes.
    """

    def __init__(self, name: str) -> None:
        try:
            found = distribution(name)
        except PackageNotFoundError:
            raise UpstreamError(f"found no distribution {name!r}, expected one that is") from None
        files = ((one, one.hash) for one in found.files or () if is_python(str(one)))
        self._files = {str(one): (Path(str(one.locate())), mark) for one, mark in files if mark}
        if not self._files:
            raise UpstreamError(f"{name}: found no hashes in its RECORD, expected some")
        self.version = found.version

    def differing(self, source: ReleaseSource) -> list[Differing]:
        """Compare what was edited with the release; UpstreamError if that is another build."""
        edited = [path for path, (at, mark) in self._files.items() if not _is(mark, _read(at))]
        source.prefetch(edited)
        files = [Differing(one, source.read(one), _read(self._files[one][0])) for one in edited]
        for one in files:
            if not _is(self._files[one.path][1], one.old):
                fault = f"found another {one.path} than was installed, expected the same build"
                raise UpstreamError(f"{source.name}: {fault}")
        return files

    def restore(self, files: Iterable[Differing]) -> None:
        """Give files back as they were installed: all of them, or none."""
        places = ((self._files[one.path][0], one) for one in files)
        try:
            write(PlannedFile("module", place, one.old or b"", one.new) for place, one in places)
        except ScaffoldError as error:
            raise ScaffoldError(f"the rows are written, no file is given back: {error}") from error


def _read(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None


def _is(mark: FileHash, content: bytes | None) -> bool:
    digest = base64.urlsafe_b64encode(hashlib.new(mark.mode, content or b"").digest())
    return content is not None and digest.decode().rstrip("=") == mark.value
