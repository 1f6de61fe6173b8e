"""Finds why the body of a row cannot be loaded, without running it."""

import ast
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.text_names import unknown_at_load
from patchkit.analysis.uses.files import uses_of
from patchkit.analysis.uses.use import Use
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.target import Target
from patchkit.errors import shown

_PARSER_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What `compile` raises: also for null bytes, and for brackets that are nested too deep."""


class LoadFault(NamedTuple):
    """Why a body cannot be loaded.

    Args:
        message: What is wrong, in words.
        fix: What to do.
        file: The file with the fault: the body, or a module of the pack that the body imports.
        line: The line in the file; None where none is known.
    """

    message: str
    fix: str
    file: str
    line: int | None

    def __str__(self) -> str:
        place = self.file
        if self.line is not None:
            place += f":{self.line}"
        return f"{self.message} ({place})"


def load_faults(rows: Iterable[Row]) -> dict[str, LoadFault]:
    """Find what keeps the bodies of rows from being imported.

    Args:
        rows: The rows, whose packs have been imported.

    Returns:
        By the name of a row, what is wrong; rows without a fault are left out.
    """
    bodies: dict[str, PackBodies] = {}
    faults: dict[str, LoadFault] = {}
    for row in rows:
        if row.pack not in bodies:
            bodies[row.pack] = PackBodies(PackSource(row.pack))
        fault = bodies[row.pack].fault(row)
        if fault is not None:
            faults[row.name] = fault
    return faults


class PackBodies:
    """The bodies of a pack, and the modules of the pack that they import, each examined once.

    Args:
        pack: The pack.
    """

    def __init__(self, pack: PackSource) -> None:
        self._pack = pack
        self._faults: dict[str, LoadFault | None] = {}
        self._imported: dict[str, list[str]] = {}

    def fault(self, row: Row) -> LoadFault | None:
        """Find the first fault that keeps the body of a row from being imported.

        The body is compiled, not run, and so is each module of the pack that it imports while it is
        loaded. Names that they import from the pack have to be defined there.

        Args:
            row: The row, one of the pack's.

        Returns:
            What is wrong; None where no fault is found, or where there is no body.
        """
        if row.patch.body is None:
            return None
        if not self._pack.has_body(row.patch):
            file, line = self._pack.place(row)
            message = f"pack {self._pack.name} has no {row.patch.body}.py"
            return LoadFault(message, "write it, or delete the row", file, line)
        pending = [row.body]
        # The pack's own module has been imported, so it has no fault.
        seen = {self._pack.name}
        while pending:
            module = pending.pop()
            if module in seen:
                continue
            seen.add(module)
            if module not in self._faults:
                self._faults[module] = self._examine(module)
            fault = self._faults[module]
            if fault is not None:
                return fault
            pending += self._imported[module]
        return None

    def _examine(self, module: str) -> LoadFault | None:
        """Find what is wrong with one module, and store which modules of the pack it imports."""
        self._imported[module] = []
        fault = _fault_of_source(self._pack, module)
        if fault is None:
            fault = _fault_of_dots(self._pack, module)
        if fault is None:
            fault = _fault_of_names(self._pack, module)
        if fault is not None:
            return fault
        for use in _imports_of_pack(self._pack, module):
            fault = _fault_of_import(self._pack, use)
            if fault is not None:
                return fault
            self._imported[module] += _modules_of(self._pack, use.target)
        return None


def _fault_of_source(pack: PackSource, module: str) -> LoadFault | None:
    """Say why a module of a pack does not compile; None if it does, or has no source."""
    path = _source_of(pack, module)
    if path is None:
        return None
    try:
        source = path.read_bytes()
    except OSError as error:
        message = f"{shown(path)} cannot be read: {error.strerror}"
        return LoadFault(message, "make the file readable", shown(path), None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, str(path), "exec", dont_inherit=True)
    except _PARSER_ERRORS as error:
        line = None
        reason = str(error) or type(error).__name__
        if isinstance(error, SyntaxError):
            line = error.lineno
            reason = error.msg
        message = f"{module} does not compile: {reason}"
        return LoadFault(message, "correct the code", shown(path), line)
    return None


def _source_of(pack: PackSource, module: str) -> Path | None:
    """Return the file of a module of a pack; None where it has no source."""
    base = pack.root.joinpath(*module.split("."))
    # As Python does, a folder is preferred to a file.
    for path in (base / "__init__.py", base.with_name(f"{base.name}.py")):
        if path.is_file():
            return path
    return None


def _fault_of_dots(pack: PackSource, module: str) -> LoadFault | None:
    """Say that a relative import leads out of the pack's top-level package; None if none does."""
    tree = pack.as_release.resolver.modules.get(module)
    if tree is None:
        return None
    for statement in tree.tree.body:
        if not isinstance(statement, ast.ImportFrom) or not statement.level:
            continue
        if tree.absolute(statement.module, statement.level) is None:
            dots = "." * statement.level
            message = f"`from {dots}{statement.module or ''}` leads beyond the top-level package"
            fix = "remove dots, or import by the full name"
            file = _source_of(pack, module)
            return LoadFault(message, fix, shown(file or module), statement.lineno)
    return None


def _fault_of_names(pack: PackSource, module: str) -> LoadFault | None:
    """Say that a module reads a name as it is loaded, and nothing defines it; None if all are."""
    path = _source_of(pack, module)
    if path is None:
        return None
    text = path.read_text("utf-8", errors="replace")
    unknown = unknown_at_load(text)
    if not unknown:
        return None
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and node.id in unknown:
            message = (
                f"{module} reads {node.id} as it is loaded, and defines it nowhere"
            )
            fix = "correct the name, or import it"
            return LoadFault(message, fix, shown(path), node.lineno)
    return None


def _imports_of_pack(pack: PackSource, module: str) -> Iterator[Use]:
    """Yield a module's imports from its pack that run when it is loaded; no guarded ones."""
    tree = pack.as_release.resolver.modules.get(module)
    if tree is None:
        return
    for use in uses_of([tree], {pack.name.partition(".")[0]}):
        is_needed = use.how == "import" and use.at_import and not use.guarded
        if is_needed and _is_inside(pack, use.target.module):
            yield use


def _fault_of_import(pack: PackSource, use: Use) -> LoadFault | None:
    """Say that a pack lacks what one of its modules imports; None if that is not certain."""
    facts = pack.as_release.facts(use.target)
    if facts.state != "absent":
        return None
    message = f"it imports {use.target}, which the pack lacks: {facts.reason}"
    fix = "import a name that is there, or define it"
    return LoadFault(message, fix, pack.file(use.path), use.line)


def _modules_of(pack: PackSource, target: Target) -> Iterator[str]:
    """Name the modules of a pack that an import of a target may run: `a` and `a.b` for `a:b`."""
    candidates = [target.module]
    if target.qualname:
        candidates.append(f"{target.module}.{target.qualname}")
    for module in candidates:
        if _is_inside(pack, module):
            yield module


def _is_inside(pack: PackSource, module: str) -> bool:
    return module == pack.name or module.startswith(f"{pack.name}.")
