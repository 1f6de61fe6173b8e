"""Gives code in a module what it uses of the body that it is from: imports and helpers."""

import ast
import builtins
import re
import sys
from collections.abc import Iterable

from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import DEFS, Def
from patchkit.analysis.uses.scopes import stored
from patchkit.authoring.adopt.body_code import BodyCode
from patchkit.authoring.adopt.definitions import Definitions, imports_of, origin_of
from patchkit.authoring.adopt.global_names import bound_names, names_at_import
from patchkit.authoring.adopt.import_lines import (
    imported_packages,
    imports_from,
    with_import,
    with_type_import,
)
from patchkit.authoring.adopt.indents import margin_of
from patchkit.authoring.adopt.module_text import ModuleText, lines_of_statement
from patchkit.errors import ScaffoldError

_STATEMENTS_THAT_SET = (ast.Assign, ast.If, ast.Try)


def bring(module: ModuleText, names: Iterable[str], body: BodyCode, user: str) -> None:
    """Give a definition what it uses of its body: imports, and definitions before it.

    Args:
        module: the module, which is changed.
        names: the names that the definition uses.
        body: the module that the definition is from.
        user: the qualified name of the definition in the module.

    Raises:
        ScaffoldError: the module has another thing of such a name, or the body sets one in a way
            that cannot be moved.
    """
    used = set(names) - module.changed
    definitions = body.definitions
    defined_in_body = {*definitions.named, *definitions.imports}
    set_in_body: set[str] = set()
    for node in definitions.unnamed:
        if isinstance(node, _STATEMENTS_THAT_SET):
            set_in_body.update(stored(node))
    type_names = definitions.type_imports.keys() - defined_in_body
    immovable = (set_in_body & used) - defined_in_body - type_names
    if immovable:
        raise ScaffoldError(
            f"it uses {min(immovable)}, which no plain assignment alone sets"
        )
    for name in sorted(defined_in_body & used):
        _bring_name(module, name, body, user)
    for name in sorted(type_names & used):
        _bring_type(module, name, body)


def _bring_type(module: ModuleText, name: str, body: BodyCode) -> None:
    """Import a name for type checkers alone, unless the module has it."""
    code = module.read()
    statement = body.import_of(name)
    is_there = name in _names_of(code) or name in code.type_imports
    if statement != f"from {code.tree.name} import {name}" and not is_there:
        module.text = with_type_import(code.tree, statement)


def _bring_name(module: ModuleText, name: str, body: BodyCode, user: str) -> None:
    """Give a definition one name of its body; see `bring`."""
    code = module.read()
    definitions = body.definitions
    if name in _names_of(code):
        if _is_same(name, code, definitions):
            return
        imported = [code.imports.get(name, ""), definitions.imports.get(name, "")]
        if name in definitions.named or not all(map(_is_module_import, imported)):
            raise ScaffoldError(f"it uses another {name} than the module has")
        bring_import(module, body.import_of(name), name, user)
    elif name not in definitions.named:
        bring_import(module, body.import_of(name), name, user)
    elif hasattr(builtins, name):
        raise ScaffoldError(
            f"it uses a {name} of its own, which is a builtin elsewhere"
        )
    else:
        helper = body.moved(name, name, {})
        top = user.partition(".")[0]
        first_lines = [lines_of_statement(node)[0] for node in code.setters(top)]
        line = module.top_line(min(first_lines))
        module.put_before(line, f"{helper.text}\n\n")
        bring(module, helper.names - {name}, body, name)


def _names_of(code: Definitions) -> set[str]:
    """List the names that a module binds, also under a condition."""
    names: set[str] = set()
    for node in code.tree.tree.body:
        names |= bound_names(node)
    return names


def _is_same(name: str, module: Definitions, body: Definitions) -> bool:
    """Whether a name of a body is the module's."""
    if name in body.named:
        node = module.named.get(name)
        if node is None:
            return False
        return of_nodes([node]) == of_nodes([body.named[name]])
    body_import = body.imports[name]
    if body_import == f"from {module.tree.name} import {name}":
        return True
    if name in module.named:
        return False
    return body_import in _all_imports(module.tree) or _is_loaded(body_import, module)


def _all_imports(tree: ModuleTree) -> set[str]:
    """Write each import of a module, also those under a condition, as one for each name."""
    statements: set[str] = set()
    unread: list[ast.AST] = list(tree.tree.body)
    while unread:
        node = unread.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            statements.update(imports_of(node, tree).values())
        elif not isinstance(node, (*DEFS, ast.ClassDef)):
            unread.extend(ast.iter_child_nodes(node))
    return statements


def _is_loaded(statement: str, module: Definitions) -> bool:
    """Whether a module imports what `import a.b` does: `a`, and then `a.b` by any statement."""
    name = statement.removeprefix("import ")
    top = name.partition(".")[0]
    is_plain = _is_module_import(statement)
    if not is_plain or not _is_module_import(module.imports.get(top, "")):
        return False
    loaded = {top}
    for other in _all_imports(module.tree):
        loaded.add(origin_of(other))
    return any(f"{other}.".startswith(f"{name}.") for other in loaded)


def _is_module_import(statement: str) -> bool:
    """Whether a statement imports a module, under no other name."""
    return re.fullmatch(r"import [\w.]+", statement) is not None


def bring_import(
    module: ModuleText, statement: str, name: str = "", user: str = ""
) -> None:
    """Write an import where it is needed.

    What the module needs anyway, or cannot make a circle, stands with its other imports; all else
    stands inside of the function that uses it, unless the header of that needs it.

    Args:
        module: the module, which is changed.
        statement: the import.
        name: the name that it binds.
        user: the qualified name of what uses it; '' for the module.

    Raises:
        ScaffoldError: all code of the module would see another thing than the builtin of that name.
    """
    code = module.read()
    node = code.named.get(user)
    is_builtin = hasattr(builtins, name)
    is_local = isinstance(node, DEFS) and not _is_in_header(name, node)
    if is_local and (is_builtin or not _belongs_at_top(statement, code.tree)):
        assert isinstance(node, DEFS)
        line, _ = lines_of_statement(_first_statement(node))
        margin = margin_of(module.line(line))
        module.put_before(line, f"{margin}{statement}")
        return
    if is_builtin:
        raise ScaffoldError(f"it imports another {name} than the builtin")
    module.text = with_import(code.tree, statement)


def _belongs_at_top(statement: str, tree: ModuleTree) -> bool:
    """Whether an import can stand with those of a module without being in their way."""
    origin = origin_of(statement)
    top = origin.partition(".")[0]
    if top == tree.name.partition(".")[0]:
        return imports_from(tree, origin)
    return top in sys.stdlib_module_names or top in imported_packages(tree)


def _is_in_header(name: str, function: Def) -> bool:
    """Whether a function uses a name as it is defined, or has no lines but that of its header."""
    has_one_line = function.body[0].lineno == function.lineno
    return has_one_line or name in names_at_import(function)


def _first_statement(function: Def) -> ast.stmt:
    """Return the statement that comes first in a function, after its docstring if it has both."""
    has_docstring = ast.get_docstring(function) is not None
    if has_docstring and len(function.body) > 1:
        return function.body[1]
    return function.body[0]
