"""The change to start with: a target as a release has it, and the kind of change that serves it."""

import ast
import keyword
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from patchkit.analysis.check.judge import edited
from patchkit.analysis.check.subjects import Subject
from patchkit.analysis.check.trails import Trails, meant
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.declaration import (
    Add,
    AddField,
    AfterImport,
    BeforeImport,
    Change,
    Edit,
    Provide,
    Replace,
    Wrap,
)
from patchkit.core.rows.target import Item, Target
from patchkit.errors import ScaffoldError, TargetError

_NEW = ("add", "add-field", "provide")
_OF_MODULE = ("provide", "before-import", "after-import")
_PREFIXES = {"wrap": "around_", "before-import": "before_", "after-import": "after_"}
_CLASS = str(Kind.CLASS)
_NO_CALL = frozenset(
    map(str, (Kind.CONSTANT, Kind.ASSIGNMENT, Kind.FIELD, Kind.OUTSIDE, Kind.CLASS, Kind.MODULE))
)


@dataclass(frozen=True)
class UpstreamTarget:
    """A target, and the releases of its package that were looked at, the oldest first."""

    target: Target
    releases: tuple[Subject, ...]

    @property
    def newest(self) -> Subject:
        """The release that the patch is written for."""
        return self.releases[-1]

    @property
    def facts(self) -> Facts:
        """What is said of it there."""
        return self.newest.facts(self.target)

    @property
    def node(self) -> ast.AST | None:
        """The statement that defines it; None where there is none."""
        return next(iter(self.newest.resolver.resolve(self.target).nodes), None)

    @property
    def text(self) -> str:
        """Its source, decorators included; '' where there is none."""
        return self.newest.text(self.facts)

    def misfit(self, expected: str) -> ScaffoldError:
        """Say that it is something else than a change needs."""
        kind = self.facts.kind
        what = f"a {kind}" if kind else "what the source does not tell"
        return ScaffoldError(f"{self.target}: found {what}, expected {expected}")


def look_up(target: Target, subjects: Sequence[Subject]) -> UpstreamTarget:
    """Choose the releases of a target's package, the oldest of each distribution first."""
    package = target.module.partition(".")[0]
    releases = tuple(subject for subject in subjects if subject.covers([package]))
    if not releases:
        raise ScaffoldError(
            f"{target}: found no {package} to look it up in, expected it installed here, or "
            f"releases of {package} with --releases, --path or --wheel"
        )
    return UpstreamTarget(target, releases)


def first_change(upstream: UpstreamTarget, kind: str | None, taken: Collection[str]) -> Change:
    """Make the change of a `--kind`, or that serves the target, by a name that is not taken."""
    target, facts = upstream.target, upstream.facts
    if kind not in _NEW:
        _refuse_missing(upstream, is_sure=kind is None)
    if kind is None:
        is_value = facts.kind in _NO_CALL | {str(Kind.ITEM)}
        kind = "after-import" if not target.qualname else "replace" if is_value else "wrap"
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
    if kind == "wrap" and facts.kind in _NO_CALL:
        raise upstream.misfit("something to call, as Wrap needs; --kind replace takes it")
    return (Wrap if kind == "wrap" else Replace)(str(target), by=name)


def _name_for(upstream: UpstreamTarget, kind: str, taken: Collection[str]) -> str:
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
        raise upstream.misfit(f"its own source; it is inherited, name {upstream.facts.owner}")
    node, lines = upstream.node, upstream.facts.lines
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or not lines:
        raise upstream.misfit("a function with source of its own, as Edit needs")
    code = node.body[ast.get_docstring(node) is not None :]
    for statement in (one for one in code if one.lineno == one.end_lineno):
        line = upstream.text.splitlines()[statement.lineno - lines[0]].strip()
        change = Edit(str(upstream.target), old=line, new=line)
        with suppress(TargetError):
            edited(change, upstream.text)
            return change
    raise upstream.misfit("a function in which a line of its own occurs once; write it by hand")


def _addition(upstream: UpstreamTarget, kind: str, name: str) -> Change:
    target = upstream.target
    if kind == "add-field" and (upstream.facts.kind == _CLASS or "." not in target.qualname):
        raise ScaffoldError(f"{target}: expected the new field too, 'module:Class.field'")
    if upstream.facts.is_present:
        raise ScaffoldError(f"{target} is in {upstream.newest.name} already, expected a new name")
    if kind == "provide":
        return Provide(target.module)
    holder = replace(upstream, target=target.holder)
    _refuse_missing(holder)
    if kind == "add":
        return Add(str(target), by=name)
    if holder.facts.kind != _CLASS:
        raise holder.misfit("a class, as AddField needs")
    field = target.qualname.rpartition(".")[2]
    return AddField(str(holder.target), name=field, type=bool, default=False)


def _refuse_missing(upstream: UpstreamTarget, *, is_sure: bool = False) -> None:
    target, facts, where = upstream.target, upstream.facts, f"in {upstream.newest.name}"
    if facts.state == "absent":
        trails = Trails(list(upstream.releases), [target], ways=(1,), by_name=True)
        trails.follow()
        told = trails.told(target, upstream.newest)
        known = f"; {told.words}" if told and told.words else meant(target, upstream.newest)
        follow = known or f"; 'patchkit history {target}' looks in all releases"
        reason = facts.reason or "it is not there"
        raise ScaffoldError(f"{target} is not {where}: {reason}{follow}")
    if facts.state == "undecidable" and is_sure:
        raise ScaffoldError(f"{target} is not decidable {where}: {facts.reason}; --kind says what")
    if facts.kind == str(Kind.INSTANCE_ATTRIBUTE):
        raise upstream.misfit("a name of the class; name the method that sets it")
