"""Tells which names of upstream a text names: `"up.a:C.f"`, `mock.patch("up.a.C.f")`."""

import ast
import re
from collections.abc import Collection
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.analysis.uses.statements import text_of
from patchkit.core.rows.target import Target

ATTRIBUTE_TESTS = {"hasattr": 2, "getattr": 3, "delattr": 3}
"""By function, from how many arguments on it handles a missing attribute; `delattr` takes two."""
IMPORTS = {
    "__import__": False,
    "find_spec": True,
    "import_module": False,
    "importorskip": True,
}
"""By function, whether it handles a missing module."""
_NAME = r"[^\W\d]\w*"
_OBJECT = re.compile(rf"({_NAME}(?:\.{_NAME})+):({_NAME}(?:\.{_NAME})*)")
"""Matches `up.a:C.f`, but not `up:requests`, which names a metric."""
_DOTTED = re.compile(rf"{_NAME}(?:\.{_NAME})+")
_MOST_PARTS = 3
"""How many parts of a dotted name may lie in a module, if none says that it is a class."""
_PATCHERS = frozenset({"patch", "resolve_name", "resolve_obj_by_qualname", "locate"})
"""Functions that import what a dotted name names, as do those whose names end in `_patch`."""
_PATCHERS_OF_MODULES = frozenset(
    {"wrap_function_wrapper", "patch_function_wrapper", "wrap_object"}
)
"""Functions of wrapt that are given a module, as a text or itself, and the way to an attribute."""
_LENIENT = (("create", True), ("raising", False))
"""Arguments with which a patcher does without the attribute that it replaces."""


class NamedInCall(NamedTuple):
    """What a call is given the name of.

    Args:
        owner: The object that has the attribute, as an expression; None where `target` has it all.
        target: What is named; from the owner on, if there is one.
        guarded: Whether the call does without it.
    """

    owner: ast.expr | None
    target: Target
    guarded: bool


def object_named(text: str, roots: Collection[str]) -> Target | None:
    """Return what `up.a:C.f` names; None for any other text.

    Args:
        text: The text.
        roots: The names of the import packages.
    """
    match = _OBJECT.fullmatch(text)
    if match is None or text.partition(".")[0] not in roots:
        return None
    return Target(match[1], match[2])


def named_by_dots(text: str) -> Target | None:
    """Return what `up.a.C.f` names, whichever part of it is the module; None for any other text.

    The name of a class begins with a capital. Without one, more parts than needed are taken for
    attributes: that of a package may be one of its modules.

    Args:
        text: The text.
    """
    if not _DOTTED.fullmatch(text):
        return None
    parts = text.split(".")
    length = max(1, len(parts) - _MOST_PARTS)
    for index, part in enumerate(parts):
        if index and part.lstrip("_")[:1].isupper():
            length = index
            break
    return Target(".".join(parts[:length]), ".".join(parts[length:]))


def named_in_call(node: ast.Call) -> NamedInCall | None:
    """Return what a call of a patcher is given the name of.

    Args:
        node: The call.

    Returns:
        It; None for any other call, and where the name is no literal.
    """
    function = dotted(node.func)
    last = function.rpartition(".")[2]
    is_test = function.endswith("monkeypatch.setattr") and len(node.args) == 2
    is_patcher = last in _PATCHERS or last.endswith("_patch")
    if is_patcher or function.endswith("patch.dict") or is_test:
        return _named_by_text(node)
    takes_owner = last in _PATCHERS_OF_MODULES or function.endswith("patch.object")
    if takes_owner and len(node.args) > 1:
        return _named_of_owner(node)
    return None


def _named_by_text(node: ast.Call) -> NamedInCall | None:
    """Return what the first argument of a call names, if that is a literal."""
    first = node.args[0] if node.args else None
    for keyword in node.keywords:
        if keyword.arg == "target":
            first = keyword.value
    target = named_by_dots(text_of(first)) if first else None
    if target is None:
        return None
    return NamedInCall(None, target, _is_lenient(node))


def _named_of_owner(node: ast.Call) -> NamedInCall | None:
    """Return what the first two arguments of a call name: an object and an attribute of it."""
    owner, way = node.args[:2]
    name = text_of(way)
    if not re.fullmatch(rf"{_NAME}(?:\.{_NAME})*", name):
        return None
    module = text_of(owner)
    if module:
        return NamedInCall(None, Target(module, name), _is_lenient(node))
    return NamedInCall(owner, Target("", name), _is_lenient(node))


def _is_lenient(node: ast.Call) -> bool:
    """Return whether a patcher is told to do without what it replaces."""
    for keyword in node.keywords:
        value = keyword.value
        if isinstance(value, ast.Constant):
            setting = (keyword.arg, value.value)
            if setting in _LENIENT:
                return True
    return False


def imported_by_call(node: ast.AST) -> str:
    """Return the module that `import_module("up.a")` or `sys.modules["up.a"]` gives.

    Args:
        node: The expression.

    Returns:
        Its name; '' for any other expression, and for a relative name.
    """
    module = ""
    if isinstance(node, ast.Call) and node.args:
        function = dotted(node.func).rpartition(".")[2]
        if function == "import_module":
            module = text_of(node.args[0])
    elif isinstance(node, ast.Subscript) and dotted(node.value) == "sys.modules":
        module = text_of(node.slice)
    is_name = all(part.isidentifier() for part in module.split("."))
    return module if is_name else ""
