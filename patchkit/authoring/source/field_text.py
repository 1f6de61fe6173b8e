"""Writes a new field of a dataclass into the text of its module, and reads the default of one."""

import ast
from collections.abc import Mapping
from types import GenericAlias

from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.authoring.source.additions import add_member
from patchkit.authoring.source.body_code import BodyCode
from patchkit.authoring.source.bringing import bring
from patchkit.authoring.source.definitions import names_in
from patchkit.authoring.source.import_lines import with_import
from patchkit.authoring.source.module_text import ModuleText
from patchkit.core.rows.declaration import AddField
from patchkit.errors import ScaffoldError

_FIELD_FUNCTIONS = {
    "field": ("field", "from dataclasses import field"),
    "dataclasses": ("dataclasses.field", "import dataclasses"),
}
"""How `field` of `dataclasses` is called, and imported, by the name that the import binds."""
_EXPECTED = "expected a default alone, a literal"


def add_field(
    module: ModuleText, change: AddField, qualname: str, body: BodyCode
) -> None:
    """Write a field of a dataclass after those that it has; else before its methods.

    Args:
        module: the module, which is changed.
        change: the change.
        qualname: the qualified name of the class.
        body: the module that has what the type of the field names.

    Raises:
        ScaffoldError: the class is not written so that it can get one.
    """
    owner = module.read().defined(qualname)
    if not isinstance(owner, ast.ClassDef):
        raise ScaffoldError(f"{qualname} is no class in {module.path}")
    default = _default(change.default)
    function, new_import = _field_function(module, qualname)
    annotation = annotation_of(change)
    text = f"{change.name}: {annotation} = {function}({default}, kw_only=True)"
    add_member(module, owner, text, is_value=True)
    if new_import:
        module.text = with_import(module.read().tree, new_import)
    bring(module, names_in(ast.parse(annotation)), body, qualname)


def _default(value: object) -> str:
    """Write the default of a field; each instance gets its own list, dict or set."""
    if not isinstance(value, (list, dict, set)):
        return f"default={value!r}"
    if not value:
        return f"default_factory={type(value).__name__}"
    return f"default_factory=lambda: {value!r}"


def read_default(node: ast.expr, imports: Mapping[str, str]) -> object:
    """Read the default of a field: a literal, or a call of `field` that has one.

    Args:
        node: the value that the field is given.
        imports: the import statements of the module, by the name that each binds.

    Returns:
        The default; a new list, dict or set where a factory makes one.

    Raises:
        ValueError: the default is no literal, or the call says more of the field.
    """
    function = dotted(getattr(node, "func", None))
    top = function.partition(".")[0]
    known_function, statement = _FIELD_FUNCTIONS.get(top, ("", ""))
    is_of_field = function == known_function and imports.get(top) == statement
    if not isinstance(node, ast.Call) or not is_of_field:
        return ast.literal_eval(node)
    arguments = {keyword.arg: keyword.value for keyword in node.keywords}
    arguments.pop("kw_only", None)  # AddField makes every field so
    if node.args or len(arguments) != 1:
        raise ValueError(_EXPECTED)
    ((name, value),) = arguments.items()
    if name == "default":
        return ast.literal_eval(value)
    if name == "default_factory":
        return _made_by(value)
    raise ValueError(_EXPECTED)


def _made_by(factory: ast.expr) -> object:
    """Return what a factory makes: `list`, `dict`, `set` or a lambda of a literal.

    Raises:
        ValueError: it is another factory.
    """
    if isinstance(factory, ast.Lambda) and not _takes_arguments(factory):
        return ast.literal_eval(factory.body)
    for kind in (list, dict, set):
        if dotted(factory) == kind.__name__:
            return kind()
    raise ValueError(_EXPECTED)


def _takes_arguments(function: ast.Lambda) -> bool:
    """Whether a lambda has parameters."""
    return bool(list(ast.iter_child_nodes(function.args)))


def annotation_of(change: AddField) -> str:
    """Return the text of the type of a field.

    Args:
        change: what adds the field.
    """
    declared = change.type
    if isinstance(declared, str):
        return declared
    # In Python 3.10, `list[int]` is an instance of `type`, too, but its `__name__` is `list`.
    is_plain_class = type(declared) is not GenericAlias and isinstance(declared, type)
    return declared.__name__ if is_plain_class else repr(declared)


def _field_function(module: ModuleText, qualname: str) -> tuple[str, str]:
    """Choose how the module calls `field` of `dataclasses`.

    Args:
        module: the module.
        qualname: the qualified name of the class that gets the field.

    Returns:
        The function as the module calls it, and the import that the module lacks for it; '' if it
        lacks none.

    Raises:
        ScaffoldError: the module has other things of these names.
    """
    code = module.read()
    # An import that the module has comes before a new one, under a name that is free.
    for name, (function, statement) in _FIELD_FUNCTIONS.items():
        if code.imports.get(name) == statement:
            return function, ""
    for name, (function, statement) in _FIELD_FUNCTIONS.items():
        if code.binders.keys().isdisjoint({name, f"{qualname}.{name}"}):
            return function, statement
    raise ScaffoldError(f"{module.path} has another thing named dataclasses")
