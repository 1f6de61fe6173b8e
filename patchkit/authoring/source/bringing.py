"""Gives code in a module what it uses of the body that it is from: imports and helpers."""

import ast
import builtins
import sys
from collections.abc import Iterable

from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.analysis.upstream.resolving.syntax import DEFS, Def
from patchkit.authoring.source.body_code import BodyCode
from patchkit.authoring.source.definitions import IMPORTS, Definitions, origin_of
from patchkit.authoring.source.global_names import (
    has_lazy_annotations,
    names_at_import,
    reached,
)
from patchkit.authoring.source.import_lines import (
    imported_modules,
    with_import,
)
from patchkit.authoring.source.indents import margin_of
from patchkit.authoring.source.module_text import ModuleText, lines_of_statement
from patchkit.errors import ScaffoldError


def bring(module: ModuleText, names: Iterable[str], body: BodyCode, user: str) -> None:
    """Give a definition what it uses of its body: imports, and definitions before it.

    Args:
        module: the module, which is changed.
        names: the names that the definition uses.
        body: the module that the definition is from.
        user: the qualified name of the definition in the module.

    Raises:
        ScaffoldError: the module has another thing of such a name, or no place for an import.
    """
    definitions = body.definitions
    # What other changes of the row write into the module under its own name is not brought.
    for name in sorted(set(names) - module.changed):
        if name in definitions.named:
            _bring_definition(module, name, body, user)
        elif name in definitions.imports:
            _bring_import(module, name, body, user)
        elif hasattr(builtins, name):
            if name in module.read().binders:
                raise ScaffoldError(
                    f"it uses the builtin {name}, and {module.path} has another"
                )
        elif has_lazy_annotations(definitions.tree.tree):
            # Nothing in the body binds it: it can only be in annotations, which stay text there.
            _refuse_missing(module, name)


def _bring_definition(module: ModuleText, name: str, body: BodyCode, user: str) -> None:
    """Define a helper of the body before the definition that uses it, unless the module has it.

    Args:
        module: the module, which is changed.
        name: the name of the helper.
        body: the body.
        user: the qualified name of the definition that uses it.
    """
    code = module.read()
    if name in code.binders:
        if not _is_same(name, code, body.definitions):
            raise ScaffoldError(f"it uses another {name} than the module has")
        return
    if hasattr(builtins, name):
        raise ScaffoldError(
            f"it uses a {name} of its own, which is a builtin elsewhere"
        )
    helper = body.moved(name, name, {})  # it keeps its name
    top = user.partition(".")[0]
    first_line, _ = lines_of_statement(code.binders[top][0])
    line = module.above_comments(first_line)
    module.put_before(line, f"{helper.text}\n\n")
    bring(module, helper.names - {name}, body, name)  # it may call itself


def _is_same(name: str, module: Definitions, body: Definitions) -> bool:
    """Whether a module has the same definition of a name as a body, and of all that it uses."""
    for used in reached(body.named, [name]):
        if used in body.named:
            nodes = module.binders.get(used, [])
            if of_nodes(nodes) != of_nodes([body.named[used]]):
                return False
        elif used in body.imports:  # else it is a builtin
            statement = body.imports[used]
            if not _has_import(module, used, statement):
                return False
    return True


def _has_import(module: Definitions, name: str, statement: str) -> bool:
    """Whether a name of a module is always what an import binds."""
    if statement == f"from {module.tree.name} import {name}":
        return True  # the body imports the name from this very module
    return _import_of(name, module) == statement


def _import_of(name: str, module: Definitions) -> str:
    """Return the import of a name that a module binds by imports alone; '' if it does not."""
    for node in module.binders.get(name, ()):
        if not isinstance(node, IMPORTS):
            return ""
    return module.imports.get(name, "")


def _refuse_missing(module: ModuleText, name: str) -> None:
    """Refuse a name that only annotations of the body have, unless the module can do with it.

    It can if it leaves annotations as text, too, and binds the name.
    """
    code = module.read()
    is_lazy = has_lazy_annotations(code.tree.tree)
    if not is_lazy or name not in code.binders:
        raise ScaffoldError(
            f"its annotations have {name}, which {module.path} does not have then"
        )


def _bring_import(module: ModuleText, name: str, body: BodyCode, user: str) -> None:
    """Import a name among the imports of the module, or in the function that uses it.

    It stands in the function if it could make a circle with the imports of the module, or if the
    module has something else of that name: `bring_import` refuses these.
    """
    code = module.read()
    statement = body.definitions.imports[name]
    if _has_import(code, name, statement):
        return
    try:
        bring_import(module, name, body)
    except ScaffoldError:
        node = code.named.get(user)
        if not isinstance(node, DEFS) or _needs_import_outside(name, node):
            raise
        line, _ = lines_of_statement(_first_statement(node))
        margin = margin_of(module.line(line))
        module.put_before(line, f"{margin}{statement}")


def bring_import(module: ModuleText, name: str, body: BodyCode) -> None:
    """Import a name of the body among the imports of a module.

    Args:
        module: the module, which is changed.
        name: the name.
        body: the body.

    Raises:
        ScaffoldError: the module has something else of that name, or might be imported in a
            circle then.
    """
    code = module.read()
    statement = body.definitions.imports[name]
    if hasattr(builtins, name):
        raise ScaffoldError(f"it imports another {name} than the builtin")
    own_import = _import_of(name, code)
    # Of `import a.b` and `import a.c`, both bind the package `a`: they do not conflict.
    is_package = _is_package(name, statement) and _is_package(name, own_import)
    if name in code.binders and not is_package:
        raise ScaffoldError(f"it uses another {name} than the module has")
    if not _is_loaded_before(statement, code, is_submodule=name in body.submodules):
        raise ScaffoldError(
            f"it needs `{statement}` outside of functions, which may import "
            f"{code.tree.name} in a circle"
        )
    module.text = with_import(code.tree, statement)


def _is_package(name: str, statement: str) -> bool:
    """Whether an import binds a top-level package under its own name.

    `import a` and `import a.b` do so for `a`; `import a.b as a` and `from a import a` do not.
    """
    if " as " in statement:
        return False
    # With a dot at the end, `import a` begins with `import a.`, and `import ab` does not.
    return f"{statement}.".startswith(f"import {name}.")


def _is_loaded_before(statement: str, code: Definitions, *, is_submodule: bool) -> bool:
    """Whether a module can make an import at its top without loading what may need the module.

    Args:
        statement: the import.
        code: the module.
        is_submodule: whether the name that is imported is itself a module, which may not be loaded
            by then, even if its package is.
    """
    origin = origin_of(statement)
    top = origin.partition(".")[0]
    modules = imported_modules(code.tree)
    if top == code.tree.name.partition(".")[0]:
        return origin in modules and not is_submodule
    # Another package that the module imports already is loaded before it anyway.
    packages = {module.partition(".")[0] for module in modules}
    return top in sys.stdlib_module_names or top in packages


def _needs_import_outside(name: str, function: Def) -> bool:
    """Whether an import of a name cannot stand in the function that uses it."""
    # As in a default, which runs before the body of the function does.
    is_used_before = name in names_at_import(function)
    # `def f(): …` has no line to put it on.
    has_one_line = function.body[0].lineno == function.lineno
    return is_used_before or has_one_line


def _first_statement(function: Def) -> ast.stmt:
    """Return the statement that comes first in a function, after its docstring if it has both."""
    has_docstring = ast.get_docstring(function) is not None
    if has_docstring and len(function.body) > 1:
        return function.body[1]
    return function.body[0]
