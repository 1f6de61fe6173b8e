"""Writes an import among those of a module, where a person would sort it in."""

import ast
import sys
from collections.abc import Sequence
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import SCOPES
from patchkit.authoring.scaffold.rows import WIDTH, exploded, name_key
from patchkit.authoring.scaffold.source_edits import rewritten, span

_Import = ast.Import | ast.ImportFrom
_IMPORTS = (ast.Import, ast.ImportFrom)


class _SortKey(NamedTuple):
    """What imports are sorted by.

    Args:
        section: 0 for `__future__`, then the standard library, other packages, the module's own.
        is_from: Whether it is `from … import …`, which comes after the others of its section.
        module: The module that is imported.
    """

    section: int
    is_from: bool
    module: str


def with_import(module: ModuleTree, statement: str) -> str:
    """Return the text of a module with one more import.

    Args:
        module: The module, as it is.
        statement: The import, of one name.
    """
    (new,) = ast.parse(statement).body
    assert isinstance(new, _IMPORTS)
    existing = _imports_at_top(module.tree)
    if isinstance(new, ast.ImportFrom):
        for node in existing:
            if _takes(node, new, module):
                return _with_name(module, node, new.names[0])
    return _with_line(module, existing, new, statement)


def _with_lines(module: ModuleTree, index: int, new_lines: Sequence[str]) -> str:
    """Return the text of a module with lines more, behind so many that it has."""
    lines = module.source.decode().split("\n")
    lines[index:index] = new_lines
    return "\n".join(lines)


def without_import(module: ModuleTree, name: str) -> str:
    """Return the text of a module without an import of a name.

    Args:
        module: The module, as it is.
        name: The name that the import binds.
    """
    for node in module.tree.body:
        if not isinstance(node, _IMPORTS):
            continue
        others = [alias for alias in node.names if (alias.asname or alias.name) != name]
        if not others:
            lines = module.source.decode().split("\n")
            del lines[node.lineno - 1 : node.end_lineno]
            return "\n".join(lines)
        if len(others) < len(node.names):
            return _with_names(module, node, [ast.unparse(alias) for alias in others])
    return module.source.decode()


def imports_from(module: ModuleTree, name: str) -> bool:
    """Whether a module imports from another one by a statement at its top.

    Args:
        module: The module.
        name: The name of the other one.
    """
    for node in _imports_at_top(module.tree):
        if isinstance(node, ast.ImportFrom) and name == module.absolute(
            node.module, node.level
        ):
            return True
    return False


def imported_packages(module: ModuleTree) -> set[str]:
    """Return the top-level packages that a module imports by statements at its top.

    Args:
        module: The module.
    """
    packages: set[str] = set()
    for node in _imports_at_top(module.tree):
        for name in _modules_of(node, module):
            packages.add(name.partition(".")[0])
    return packages


def _modules_of(node: _Import, module: ModuleTree) -> list[str]:
    """Name the modules that a statement imports, or imports from."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [module.absolute(node.module, node.level) or ""]


def _imports_at_top(tree: ast.Module) -> list[_Import]:
    """List the imports before the first function or class, none of them in a block."""
    imports: list[_Import] = []
    for node in tree.body:
        if isinstance(node, SCOPES):
            break
        if isinstance(node, _IMPORTS):
            imports.append(node)
    return imports


def _takes(node: _Import, new: ast.ImportFrom, module: ModuleTree) -> bool:
    """Whether a name can be added to an import: it is from the same module, and plainly written."""
    if not isinstance(node, ast.ImportFrom):
        return False
    if module.absolute(node.module, node.level) != new.module:
        return False
    first, last = span(module.source, node)
    is_commented = b"#" in module.source[first:last]
    return not is_commented and all(alias.name != "*" for alias in node.names)


def _with_name(module: ModuleTree, node: _Import, alias: ast.alias) -> str:
    """Add a name to `from … import …`, in the order of the names if they have one."""
    names = [ast.unparse(name) for name in node.names]
    was_sorted = names == sorted(names, key=name_key)
    names.append(ast.unparse(alias))
    if was_sorted:
        names.sort(key=name_key)
    return _with_names(module, node, names)


def _with_names(module: ModuleTree, node: _Import, names: Sequence[str]) -> str:
    """Return the text of a module with other names in an import, on one line if that had one."""
    head = "import "
    if isinstance(node, ast.ImportFrom):
        head = f"from {'.' * node.level}{node.module or ''} import "
    text = f"{head}{', '.join(names)}"
    has_one_line = node.lineno == node.end_lineno
    if isinstance(node, ast.ImportFrom) and not (has_one_line and len(text) <= WIDTH):
        text = exploded(head, names)
    start, end = span(module.source, node)
    return rewritten(module.source, lambda _: [(start, end, text)]).decode()


def _with_line(
    module: ModuleTree, existing: Sequence[_Import], new: _Import, statement: str
) -> str:
    """Write an import on a line of its own, in the section that it belongs to."""
    lines = module.source.decode().split("\n")
    key = _key(new, module)
    earlier = [node for node in existing if _key(node, module) <= key]
    in_section = [
        node for node in existing if _key(node, module).section == key.section
    ]
    if in_section and not set(in_section) & set(earlier):
        index = in_section[0].lineno - 1
        new_lines = [statement]
    elif earlier:
        last = earlier[-1]
        if in_section:
            last = [node for node in earlier if node in in_section][-1]
        index = last.end_lineno or last.lineno
        new_lines = [statement] if in_section else ["", statement]
    elif existing:
        index = existing[0].lineno - 1
        new_lines = [statement, ""]
    else:
        index = _lines_of_head(module.tree, lines)
        new_lines = ["", statement] if index else [statement]
        if "".join(lines[index : index + 1]).strip():
            new_lines += ["", ""]
    return _with_lines(module, index, new_lines)


def _lines_of_head(tree: ast.Module, lines: Sequence[str]) -> int:
    """Count the lines that a module begins with: its docstring, or comments before any code."""
    if ast.get_docstring(tree) is not None:
        return tree.body[0].end_lineno or 0
    for index, line in enumerate(lines):
        if not line.startswith("#"):
            return index
    return 0


def _key(node: _Import, module: ModuleTree) -> _SortKey:
    """Say where an import is sorted in."""
    name = _modules_of(node, module)[0]
    return _SortKey(
        _section(name, module), isinstance(node, ast.ImportFrom), name.lower()
    )


def _section(name: str, module: ModuleTree) -> int:
    top = name.partition(".")[0]
    if top == "__future__":
        return 0
    if top in sys.stdlib_module_names:
        return 1
    if top == module.name.partition(".")[0]:
        return 3
    return 2
