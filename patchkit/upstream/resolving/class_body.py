"""What the body of a class binds, and what decorators and hooks make of the class."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from patchkit.upstream.resolving import decorators
from patchkit.upstream.resolving.ancestry import mro
from patchkit.upstream.resolving.bindings import UNBOUND, Cases
from patchkit.upstream.resolving.decorator_source import UNKNOWN
from patchkit.upstream.resolving.flow import Flow
from patchkit.upstream.resolving.scope import Scope
from patchkit.upstream.resolving.touches import touched_by
from patchkit.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.module_tree import ModuleTree
    from patchkit.upstream.resolving.values import Value

SPREAD = "**"
"""Among the options of a decorator: it was given more than is spelled out."""


@dataclass(frozen=True, eq=False)
class Made:
    """
    What decorators and the like do to a class.

    Args:
        flavour: '' or how its fields are read, see `fields`.
        options: of the decorator that makes it a dataclass.
        touched: names that are set on it, each with what sets it.
        opened: why it may have further names; '' where it has none.
        replaced: why something else may stand in its place; '' where nothing does.
        bases: classes that are added to its bases.

    """

    flavour: str
    options: dict[str, ast.expr]
    touched: dict[str, str]
    opened: str
    replaced: str
    bases: tuple[Value, ...] = ()


def own_binding(
    lookup: Lookup,
    tree: ModuleTree,
    classes: Sequence[ast.ClassDef],
    name: str,
    until: ast.stmt | None = None,
) -> Cases:
    """Tell what the body of a class binds a name to."""
    node = classes[-1]
    key = ("own", id(node), name)
    if until is None and key in tree.notes:
        return tree.notes[key]  # type: ignore[no-any-return]
    inside = until if until is not None and _within(until, node) else None
    flow = Flow(name, tree, lookup, inside, is_module=False)
    cases = flow.whole(node) or UNBOUND
    if until is None:
        tree.notes[key] = cases
    return cases


def made(lookup: Lookup, value: Value) -> Made:
    """Tell what decorators do to a class."""
    assert value.tree is not None
    key = ("made", id(value.classes[-1]))
    found: Made = value.tree.noted(key, lambda: _made(lookup, value))
    return found


def written(entry: Value, name: str) -> str:
    """Undo what Python does to private names: `_Class__name` is written `__name`."""
    mangled = f"_{entry.classes[-1].name.lstrip('_')}__"
    if name.startswith(mangled) and not name.endswith("__"):
        return name[len(mangled) - 2 :]
    return name


def _within(statement: ast.stmt, node: ast.ClassDef) -> bool:
    return node.lineno <= statement.lineno <= (node.end_lineno or 0) and statement is not node


def _made(lookup: Lookup, value: Value) -> Made:
    assert value.tree is not None
    node = value.classes[-1]
    scope = Scope(value.tree, value.classes[:-1], node)
    work = Made("", {}, {}, "", "")
    for decorator in node.decorator_list:
        effect = decorators.effect_of(lookup, decorator, scope)
        text = f"the decorator @{ast.unparse(decorator)}"
        touched = {**work.touched, **dict.fromkeys(effect.touched, text)}
        unknown = effect.what == UNKNOWN
        work = Made(
            effect.dataclass or work.flavour,
            effect.options or work.options,
            touched,
            f"{text} may set it" if effect.is_open or "__bases__" in touched else work.opened,
            f"nothing is known about {text}" if unknown else work.replaced,
            (*work.bases, *effect.bases),
        )
    return _with_hooks(lookup, value, work)


def _with_hooks(lookup: Lookup, value: Value, work: Made) -> Made:
    """Add what the bases' `__init_subclass__` set on a class."""
    touched, opened = dict(work.touched), work.opened
    for entry in mro(lookup, value)[1:]:
        body = entry.classes[-1].body if entry.classes else ()
        hooks = tuple(one for one in body if getattr(one, "name", "") == "__init_subclass__")
        if not hooks:
            continue
        hook = replace(entry, kind=Kind.CLASSMETHOD, nodes=hooks)
        names, is_open = touched_by(lookup, hook)
        text = f"{entry.qualname}.__init_subclass__"
        touched |= dict.fromkeys(names, text)
        opened = opened or (f"{text} may set it" if is_open else "")
    return replace(work, touched=touched, opened=opened)
