"""The change to start with: the kind that serves a target, and what it names."""

from __future__ import annotations

import ast
import keyword
from typing import TYPE_CHECKING

from patchkit.check.edits import look
from patchkit.errors import ScaffoldError
from patchkit.rows.declaration import (
    Add,
    AddField,
    AfterImport,
    BeforeImport,
    Edit,
    Provide,
    Replace,
    Wrap,
)
from patchkit.rows.target import Item
from patchkit.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from collections.abc import Collection

    from patchkit.rows.declaration import Change
    from patchkit.scaffold.upstream_target import UpstreamTarget

_NEW = ("add", "add-field", "provide")
_OF_MODULE = ("provide", "before-import", "after-import")
_PREFIXES = {"wrap": "around_", "before-import": "before_", "after-import": "after_"}
_CLASS = str(Kind.CLASS)
_NO_CALL = frozenset(
    map(str, (Kind.CONSTANT, Kind.ASSIGNMENT, Kind.FIELD, Kind.OUTSIDE, Kind.CLASS, Kind.MODULE))
)


def first_change(upstream: UpstreamTarget, kind: str | None, taken: Collection[str]) -> Change:
    """
    Make the change that an author would write.

    Args:
        upstream: the target.
        kind: a word of `--kind`; what serves the target where it is None.
        taken: names that the body has already.

    """
    target = upstream.target
    if kind not in _NEW:
        _refuse_missing(upstream, is_sure=kind is None)
    kind = kind or _kind_for(upstream)
    if bool(target.qualname) is (kind in _OF_MODULE):
        what = "a place in a module, expected 'module'"
        other = "a module, expected 'module:qualname'"
        raise ScaffoldError(f"{target}: found {what if target.qualname else other}")
    name = _name_for(upstream, kind, taken)
    if kind in _NEW:
        return _addition(upstream, kind, name)
    if kind in _OF_MODULE:
        return (BeforeImport if kind == "before-import" else AfterImport)(target.module, name)
    if kind == "edit":
        return _edit(upstream)
    if kind == "wrap" and upstream.facts.kind in _NO_CALL:
        raise _misfit(upstream, "something to call, as Wrap needs; --kind replace takes it")
    return (Wrap if kind == "wrap" else Replace)(str(target), by=name)


def _kind_for(upstream: UpstreamTarget) -> str:
    if not upstream.target.qualname:
        return "after-import"
    return "replace" if upstream.facts.kind in _NO_CALL | {str(Kind.ITEM)} else "wrap"


def _name_for(upstream: UpstreamTarget, kind: str, taken: Collection[str]) -> str:
    """Name the body's object after the target; no two objects have one name."""
    target = upstream.target
    last = target.steps[-1] if target.qualname else target.module
    plain = "entry" if isinstance(last, Item) else last.rpartition(".")[2].strip("_") or "it"
    is_subclass = kind == "replace" and upstream.facts.kind == _CLASS
    name = ("Patched" if is_subclass else _PREFIXES.get(kind, "")) + plain
    name = f"{name}_" if keyword.iskeyword(name) else name
    tries = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
    return next(text for text in tries if text not in taken)


def _edit(upstream: UpstreamTarget) -> Change:
    """Start with a line of a function that occurs once in it; the author chooses another."""
    if upstream.facts.owner:
        raise _misfit(upstream, f"its own source; it is inherited, name {upstream.facts.owner}")
    node, lines = upstream.node, upstream.facts.lines
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or not lines:
        raise _misfit(upstream, "a function with source of its own, as Edit needs")
    for statement in node.body:
        line = upstream.text.splitlines()[statement.lineno - lines[0]].strip()
        change = Edit(str(upstream.target), old=line, new=line)
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_plain = statement.lineno == statement.end_lineno and not is_docstring
        if is_plain and look(change, upstream.text, lines[0]).times == 1:
            return change
    expected = "a function in which a line of its own occurs once; write the Edit by hand"
    raise _misfit(upstream, expected)


def _addition(upstream: UpstreamTarget, kind: str, name: str) -> Change:
    target, holder = upstream.target, upstream.holder
    if kind == "add-field" and (upstream.facts.kind == _CLASS or not holder.target.qualname):
        raise ScaffoldError(f"{target}: expected the new field too, 'module:Class.field'")
    if upstream.facts.is_present:
        raise ScaffoldError(f"{target} is in {upstream.newest.name} already")
    if kind == "provide":
        return Provide(target.module)
    _refuse_missing(holder)
    if kind == "add":
        return Add(str(target), by=name)
    if holder.facts.kind != _CLASS:
        raise _misfit(holder, "a class, as AddField needs")
    field = target.qualname.rpartition(".")[2]
    return AddField(str(holder.target), name=field, type=bool, default=False)


def _refuse_missing(upstream: UpstreamTarget, *, is_sure: bool = False) -> None:
    target, facts, where = upstream.target, upstream.facts, f"in {upstream.newest.name}"
    if facts.state == "absent":
        reason = facts.reason or "it is not there"
        raise ScaffoldError(f"{target} is not {where}: {reason}{upstream.whereabouts}")
    if facts.state == "undecidable" and is_sure:
        raise ScaffoldError(f"{target} is not decidable {where}: {facts.reason}; --kind says what")
    if facts.kind == str(Kind.INSTANCE_ATTRIBUTE):
        raise _misfit(upstream, "a name of the class; name the method that sets it")


def _misfit(upstream: UpstreamTarget, expected: str) -> ScaffoldError:
    kind = upstream.facts.kind
    what = f"a {kind}" if kind else "what the source does not tell"
    return ScaffoldError(f"{upstream.target}: found {what}, expected {expected}")
