"""Which kind of change serves a target, and what it names: frozen data, as an author writes it."""

from __future__ import annotations

import ast
import keyword
from typing import TYPE_CHECKING

from patchkit.check.anchors import look
from patchkit.declaration import (
    Add,
    AddField,
    AfterImport,
    BeforeImport,
    Edit,
    Provide,
    Replace,
    Wrap,
)
from patchkit.errors import ScaffoldError
from patchkit.target import Item, Target
from patchkit.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from patchkit.declaration import Change
    from patchkit.scaffold.found import Found

_WORD = "{}"
_VALUES = frozenset(map(str, (Kind.CONSTANT, Kind.ASSIGNMENT, Kind.FIELD, Kind.OUTSIDE)))
_NO_CALL = _VALUES | {str(Kind.CLASS), str(Kind.MODULE)}
_NO_SOURCE = _NO_CALL | {str(Kind.GENERATED), str(Kind.ITEM)}


def default_kind(found: Found) -> str:
    """Say which kind of change serves a target that is there."""
    if not found.target.qualname:
        return "after-import"
    if found.facts.kind in _VALUES | {str(Kind.CLASS), str(Kind.ITEM), str(Kind.MODULE)}:
        return "replace"
    return "wrap"


def change_for(found: Found, kind: str | None, taken: Collection[str]) -> Change:
    """
    Make the change that an author would write.

    Args:
        found: the target.
        kind: one of `KINDS`; what serves the target where it is None.
        taken: names that the body has already.

    Raises:
        ScaffoldError: the target is not there, or is there already, or is of another kind.

    """
    if kind not in ("add", "add-field", "provide"):
        _refuse_missing(found, is_sure=kind is None)
    kind = kind or default_kind(found)
    if "import" not in kind and kind != "provide" and not found.target.qualname:
        raise ScaffoldError(f"{found.target}: found a module, expected 'module:qualname'")
    if found.target.qualname and ("import" in kind or kind == "provide"):
        raise ScaffoldError(f"{found.target}: found a place in a module, expected 'module'")
    return KINDS[kind](found, _Names(found.target, taken))


class _Names:
    """Names for the body's objects, none of them twice."""

    def __init__(self, target: Target, taken: Collection[str]) -> None:
        self._target = target
        self._taken = taken

    def free(self, form: str) -> str:
        last = self._target.steps[-1] if self._target.qualname else self._target.module
        plain = "entry" if isinstance(last, Item) else last.rpartition(".")[2].strip("_")
        name = form.format(plain or "it")
        name = f"{name}_" if keyword.iskeyword(name) else name
        tries = (name, *(f"{name}_{number}" for number in range(2, len(self._taken) + 3)))
        return next(one for one in tries if one not in self._taken)


def _replace(found: Found, names: _Names) -> Change:
    is_class = found.facts.kind == str(Kind.CLASS)
    return Replace(str(found.target), by=names.free("Patched{}" if is_class else _WORD))


def _wrap(found: Found, names: _Names) -> Change:
    if found.facts.kind in _NO_CALL:
        raise _misfit(found, "something to call, as Wrap needs; --kind replace takes it")
    return Wrap(str(found.target), by=names.free("around_{}"))


def _edit(found: Found, _: _Names) -> Change:
    if found.facts.owner:
        raise _misfit(found, f"its own source; it is inherited, name {found.facts.owner}")
    if found.facts.kind in _NO_SOURCE:
        raise _misfit(found, "a function with source of its own, as Edit needs")
    line = _anchor(found)
    return Edit(str(found.target), old=line, new=line)


def _anchor(found: Found) -> str:
    """Choose a line of a function that occurs once in it; the author chooses another."""
    text, node = found.text, found.node
    lines = found.tree.source.decode(errors="replace").splitlines() if found.tree else []
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and found.facts.lines:
        for one in node.body:
            line = lines[one.lineno - 1].strip()
            is_plain = one.lineno == one.end_lineno and not _is_docstring(one)
            change = Edit(str(found.target), old=line, new=line)
            if is_plain and look(change, text, found.facts.lines[0]).times == 1:
                return line
    raise _misfit(
        found, "a function in which a line of its own occurs once; write the Edit by hand"
    )


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _add(found: Found, names: _Names) -> Change:
    _refuse_present(found)
    _refuse_missing(found.around)
    return Add(str(found.target), by=names.free(_WORD))


def _add_field(found: Found, _: _Names) -> Change:
    holder = found.around
    if found.facts.kind == str(Kind.CLASS) or not holder.target.qualname:
        raise ScaffoldError(f"{found.target}: expected the new field too, 'module:Class.field'")
    _refuse_present(found)
    _refuse_missing(holder)
    if holder.facts.kind != str(Kind.CLASS):
        raise _misfit(holder, "a class, as AddField needs")
    name = found.target.qualname.rpartition(".")[2]
    return AddField(str(holder.target), name=name, type=bool, default=False)


def _provide(found: Found, _: _Names) -> Change:
    _refuse_present(found)
    return Provide(found.target.module)


def _before_import(found: Found, names: _Names) -> Change:
    return BeforeImport(found.target.module, call=names.free("before_{}"))


def _after_import(found: Found, names: _Names) -> Change:
    return AfterImport(found.target.module, call=names.free("after_{}"))


KINDS: dict[str, Callable[[Found, _Names], Change]] = {
    "replace": _replace,
    "wrap": _wrap,
    "edit": _edit,
    "add": _add,
    "add-field": _add_field,
    "provide": _provide,
    "before-import": _before_import,
    "after-import": _after_import,
}
"""The words of `--kind`."""


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
