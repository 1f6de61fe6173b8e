"""What metaclasses of the release do to the classes that they make."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from patchkit.upstream.resolving import decorators
from patchkit.upstream.resolving.ancestry import metaclass, mro
from patchkit.upstream.resolving.class_body import own_binding
from patchkit.upstream.resolving.conditions import dotted
from patchkit.upstream.resolving.values import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.upstream.resolving.lookup import Lookup

_HOOKS = ("__new__", "__init__", "__prepare__", "__getattr__", "__getattribute__")
_CHANGES = ("pop", "update", "setdefault", "clear", "popitem")
_ANY = "*"
"""Whatever is no function: those are told to stay what they are."""


def opens(lookup: Lookup, meta: Value) -> bool:
    """Whether a metaclass may give a class names that no statement of the class binds."""
    return any(True for _ in _hooks(lookup, meta, _HOOKS))


def remakes(lookup: Lookup, entry: Value, name: str, *, is_def: bool) -> str:
    """Say which metaclass may take away or replace what a class binds; '' where none does."""
    meta = metaclass(lookup, entry)
    if meta is None or not meta.classes or name.startswith("__"):
        return ""
    if "enum" in {one.dotted.partition(".")[0] for one in mro(lookup, meta)}:
        return ""
    changes = _changes(lookup, meta)
    if name not in changes and (_ANY not in changes or is_def):
        return ""
    return f"the metaclass {meta.qualname} may take it away, or make another of it"


def _changes(lookup: Lookup, meta: Value) -> frozenset[str]:
    """Name what a metaclass may take away or replace; `_ANY` for what cannot be told."""
    assert meta.tree is not None
    key = ("changes", id(meta.classes[-1]))
    found: frozenset[str] = meta.tree.noted(key, lambda: frozenset(_changed(lookup, meta)))
    return found


def _changed(lookup: Lookup, meta: Value) -> Iterator[str]:
    for hook, node in _hooks(lookup, meta, ("__new__", "__init__", "__prepare__")):
        names = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
        is_told = hook != "__prepare__" and len(names) > 3
        yield from _done_to(node, names[3]) if is_told else [_ANY]
        value = Value("present", Kind.CLASSMETHOD, tree=meta.tree, nodes=(node,))
        touched, is_open = decorators.touched_by(lookup, value)
        yield from (*touched, *([_ANY] if is_open else []))


def _done_to(node: ast.FunctionDef, namespace: str) -> Iterator[str]:
    """Name what a `__new__` does more with than to look at it and hand it on."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call):
            given = [dotted(each) for each in (*one.args, *(key.value for key in one.keywords))]
            hands_on = ast.unparse(one.func).endswith(("__new__", "__init__", "len", "sorted"))
            if namespace in given and not hands_on:
                yield _ANY
            if dotted(one.func) in {f"{namespace}.{change}" for change in _CHANGES}:
                yield _key(one.args[0] if one.args else None)
        elif isinstance(getattr(one, "ctx", None), (ast.Store, ast.Del)):
            if isinstance(one, ast.Subscript) and dotted(one.value) == namespace:
                yield _key(one.slice)
            elif dotted(one) == namespace:
                yield _ANY


def _key(node: ast.expr | None) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else _ANY


def _hooks(
    lookup: Lookup, meta: Value, hooks: tuple[str, ...]
) -> Iterator[tuple[str, ast.FunctionDef]]:
    """List the special methods that a metaclass has of its own or from others of the release."""
    for entry in mro(lookup, meta):
        for hook in hooks if entry.classes and entry.tree is not None else ():
            assert entry.tree is not None
            case = own_binding(lookup, entry.tree, entry.classes, hook)[0]
            if case.binding is not None and isinstance(case.binding.node, ast.FunctionDef):
                yield hook, case.binding.node
