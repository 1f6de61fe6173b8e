"""Which kind of change serves a target, and what it names: frozen data, as an author writes it."""

from __future__ import annotations

import ast
import keyword
from typing import TYPE_CHECKING

from patchkit.check.anchors import look
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
    from patchkit.scaffold.found import Found

_NEW = ("add", "add-field", "provide")
_OF_MODULE = ("provide", "before-import", "after-import")
_CLASS = str(Kind.CLASS)
_VALUES = frozenset(map(str, (Kind.CONSTANT, Kind.ASSIGNMENT, Kind.FIELD, Kind.OUTSIDE)))
_NO_CALL = _VALUES | {_CLASS, str(Kind.MODULE)}
_NO_SOURCE = _NO_CALL | {str(Kind.GENERATED), str(Kind.ITEM)}


def change_for(found: Found, kind: str | None, taken: Collection[str]) -> Change:
    """
    Make the change that an author would write.

    Args:
        found: the target.
        kind: a word of `--kind`; what serves the target where it is None.
        taken: names that the body has already.

    Raises:
        ScaffoldError: the target is not there, or is there already, or is of another kind.

    """
    target = found.target
    if kind not in _NEW:
        _refuse_missing(found, is_sure=kind is None)
    kind = kind or _default_kind(found)
    if bool(target.qualname) is (kind in _OF_MODULE):
        what = "a place in a module, expected 'module'"
        other = "a module, expected 'module:qualname'"
        raise ScaffoldError(f"{target}: found {what if target.qualname else other}")
    name = _free(found, kind, taken)
    if kind in _OF_MODULE:
        return _of_module(found, kind, name)
    if kind == "edit":
        return _edit(found)
    if kind in _NEW:
        return _new(found, kind, name)
    if kind == "wrap" and found.facts.kind in _NO_CALL:
        raise _misfit(found, "something to call, as Wrap needs; --kind replace takes it")
    return (Wrap if kind == "wrap" else Replace)(str(target), by=name)


def _default_kind(found: Found) -> str:
    if not found.target.qualname:
        return "after-import"
    return "replace" if found.facts.kind in _NO_CALL | {str(Kind.ITEM)} else "wrap"


def _free(found: Found, kind: str, taken: Collection[str]) -> str:
    """Name the body's object after the target; no two objects have one name."""
    last = found.target.steps[-1] if found.target.qualname else found.target.module
    plain = "entry" if isinstance(last, Item) else last.rpartition(".")[2].strip("_") or "it"
    head = {"wrap": "around_", "before-import": "before_", "after-import": "after_"}.get(kind, "")
    name = f"Patched{plain}" if kind == "replace" and found.facts.kind == _CLASS else head + plain
    name = f"{name}_" if keyword.iskeyword(name) else name
    tries = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
    return next(one for one in tries if one not in taken)


def _of_module(found: Found, kind: str, name: str) -> Change:
    if kind == "provide":
        _refuse_present(found)
        return Provide(found.target.module)
    return (BeforeImport if kind == "before-import" else AfterImport)(found.target.module, name)


def _edit(found: Found) -> Change:
    """Start with a line of a function that occurs once in it; the author chooses another."""
    if found.facts.owner:
        raise _misfit(found, f"its own source; it is inherited, name {found.facts.owner}")
    if found.facts.kind in _NO_SOURCE:
        raise _misfit(found, "a function with source of its own, as Edit needs")
    node, lines = found.node, found.tree.source.decode(errors="replace") if found.tree else ""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and found.facts.lines:
        for one in node.body:
            line = lines.splitlines()[one.lineno - 1].strip()
            change = Edit(str(found.target), old=line, new=line)
            is_plain = one.lineno == one.end_lineno and not _is_docstring(one)
            if is_plain and look(change, found.text, found.facts.lines[0]).times == 1:
                return change
    expected = "a function in which a line of its own occurs once; write the Edit by hand"
    raise _misfit(found, expected)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _new(found: Found, kind: str, name: str) -> Change:
    holder = found.around
    if kind == "add-field" and (found.facts.kind == _CLASS or not holder.target.qualname):
        raise ScaffoldError(f"{found.target}: expected the new field too, 'module:Class.field'")
    _refuse_present(found)
    _refuse_missing(holder)
    if kind == "add":
        return Add(str(found.target), by=name)
    if holder.facts.kind != _CLASS:
        raise _misfit(holder, "a class, as AddField needs")
    field = found.target.qualname.rpartition(".")[2]
    return AddField(str(holder.target), name=field, type=bool, default=False)


def _refuse_missing(found: Found, *, is_sure: bool = False) -> None:
    state, where = found.facts.state, f"in {found.subject.name}"
    if state == "absent":
        reason = found.facts.reason or "it is not there"
        raise ScaffoldError(f"{found.target} is not {where}: {reason}{found.whereabouts}")
    if state == "undecidable" and is_sure:
        reason = found.facts.reason
        raise ScaffoldError(f"{found.target} is not decidable {where}: {reason}; --kind says what")
    if found.facts.kind == str(Kind.INSTANCE_ATTRIBUTE):
        raise _misfit(found, "a name of the class; name the method that sets it")


def _refuse_present(found: Found) -> None:
    if found.facts.is_present:
        raise ScaffoldError(f"{found.target} is in {found.subject.name} already")


def _misfit(found: Found, expected: str) -> ScaffoldError:
    kind = f"a {found.facts.kind}" if found.facts.kind else "what the source does not tell"
    return ScaffoldError(f"{found.target}: found {kind}, expected {expected}")
