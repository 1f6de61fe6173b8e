"""Adds imports to those in the text of a module, and takes them out."""

import ast
import sys
from collections.abc import Sequence

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import SCOPES
from patchkit.authoring.scaffold.rows import WIDTH, exploded
from patchkit.authoring.scaffold.source_edits import rewritten, span
from patchkit.authoring.source.definitions import IMPORTS

_Import = ast.Import | ast.ImportFrom


def with_import(module: ModuleTree, statement: str) -> str:
    """Return the text of a module with one more import.

    It joins an import from the same module, or stands behind those of the same package, or of the
    standard library.

    Args:
        module: The module, as it is.
        statement: The import, of one name.
    """
    (new,) = ast.parse(statement).body
    assert isinstance(new, IMPORTS)
    section = _section(new, module)
    neighbours: list[_Import] = []  # the imports of the same package
    for node in _imports_at_top(module.tree):
        if _modules_of(node, module) == ["__future__"]:
            continue
        if _can_take_name(node, new, module):
            return _with_names(module, node, [*node.names, *new.names])
        if _section(node, module) == section:
            neighbours.append(node)
    if neighbours:
        last_line = neighbours[-1].end_lineno or 0
        return _with_lines(module, last_line, [statement])
    return _with_section(module, statement)


def _with_lines(module: ModuleTree, index: int, new_lines: Sequence[str]) -> str:
    """Return the text of a module with new lines inserted.

    Args:
        module: The module, as it is.
        index: How many of its lines come before the new ones.
        new_lines: The new lines.
    """
    lines = module.source.decode().split("\n")
    lines[index:index] = new_lines
    return "\n".join(lines)


def _with_section(module: ModuleTree, statement: str) -> str:
    """Write the first import of its kind, above all others but those of `__future__`."""
    head_length = _count_lines_of_head(module)
    lines = module.source.decode().split("\n")
    next_lines = lines[head_length : head_length + 1]  # none at the end of the module
    new_lines = [statement]
    # An empty line above, unless the module begins there, and one below, unless there is one.
    if head_length:
        new_lines.insert(0, "")
    if next_lines and next_lines[0].strip():
        new_lines.append("")
    return _with_lines(module, head_length, new_lines)


def _count_lines_of_head(module: ModuleTree) -> int:
    """Count the lines that a module begins with: comments, its docstring, `__future__`."""
    line_count = 0
    for line in module.source.decode().split("\n"):
        if not line.startswith("#"):
            break
        line_count += 1
    for node in module.tree.body:
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        is_docstring = isinstance(node, ast.Expr)
        if not (is_future or is_docstring):
            break
        line_count = node.end_lineno or line_count
    return line_count


def without_import(module: ModuleTree, name: str) -> str:
    """Return the text of a module without the import of a name.

    The first import that binds the name is taken out, or loses it where it binds others, too.

    Args:
        module: The module, as it is.
        name: The name that the import binds.
    """
    for node in module.tree.body:
        if not isinstance(node, IMPORTS):
            continue
        remaining: list[ast.alias] = []
        for alias in node.names:
            bound_name = alias.asname or alias.name
            if bound_name != name:
                remaining.append(alias)
        if not remaining:
            start, end = span(module.source, node)
            text_above = module.source[:start]
            text_below = module.source[end + 1 :]  # + 1: its newline goes, too
            return (text_above + text_below).decode()
        if len(remaining) < len(node.names):
            return _with_names(module, node, remaining)
    return module.source.decode()


def imported_modules(module: ModuleTree) -> set[str]:
    """Return the modules that a module imports, or imports from, by statements at its top.

    Args:
        module: The module.
    """
    modules: set[str] = set()
    for node in _imports_at_top(module.tree):
        modules.update(_modules_of(node, module))
    return modules


def _modules_of(node: _Import, module: ModuleTree) -> list[str]:
    """Name the modules that a statement imports, or imports from."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [module.absolute(node.module, node.level) or ""]


def _imports_at_top(tree: ast.Module) -> list[_Import]:
    """List the imports before the first function or class, without those in an `if` or a `try`.

    An import further down may be there for its moment: no other is put beside it.
    """
    imports: list[_Import] = []
    for node in tree.body:
        if isinstance(node, SCOPES):
            break
        if isinstance(node, IMPORTS):
            imports.append(node)
    return imports


def _can_take_name(node: _Import, new: _Import, module: ModuleTree) -> bool:
    """Whether a new import can become one more name in another one.

    Args:
        node: the import that is there.
        new: the new import, of one name.
        module: the module.
    """
    if isinstance(node, ast.Import) or isinstance(new, ast.Import):
        return False
    if module.absolute(node.module, node.level) != new.module:
        return False
    start, end = span(module.source, node)
    text = module.source[start:end]
    # The import is written anew: comments in it would be lost.
    return b"#" not in text and b"*" not in text


def _with_names(module: ModuleTree, node: _Import, aliases: Sequence[ast.alias]) -> str:
    """Return the text of a module with other names in an import, on one line if that had one."""
    names = list(map(ast.unparse, aliases))
    head = "import "
    if isinstance(node, ast.ImportFrom):
        dots = "." * node.level
        head = f"from {dots}{node.module or ''} import "
    text = head + ", ".join(names)
    had_one_line = node.lineno == node.end_lineno
    is_short = had_one_line and len(text) <= WIDTH
    # Only a `from … import` may have brackets, in which lines can be broken.
    if isinstance(node, ast.ImportFrom) and not is_short:
        text = exploded(head, names)
    start, end = span(module.source, node)
    return rewritten(module.source, lambda _: [(start, end, text)]).decode()


def _section(node: _Import, module: ModuleTree) -> str:
    """Name the package that an import is of; the modules of the standard library are one."""
    first_module = _modules_of(node, module)[0]
    top = first_module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return "the standard library"
    return top
