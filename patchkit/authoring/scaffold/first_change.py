"""Chooses the change that a new patch starts with, by the kind of its target in a release."""

import ast
import keyword
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from patchkit.analysis.check.edit_sequence import edited
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.similar_names import did_you_mean
from patchkit.analysis.check.trails import Trails
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.declaration import (
    Add,
    AddField,
    AfterImport,
    BeforeImport,
    Change,
    Decorate,
    Edit,
    Provide,
    Replace,
    Wrap,
)
from patchkit.core.rows.target import Item, Target
from patchkit.errors import ScaffoldError, TargetError

_KINDS_OF_NEW = ("add", "add-field", "provide")
"""Kinds of changes whose target must not exist yet."""
_KINDS_OF_MODULES = ("provide", "before-import", "after-import")
"""Kinds of changes whose target is a module."""
_PREFIXES = {
    "wrap": "around_",
    "decorate": "decorate_",
    "before-import": "before_",
    "after-import": "after_",
}
"""What the name of a body's function begins with, by the kind of its change."""
_CLASS = str(Kind.CLASS)
_NOT_CALLED = frozenset(
    map(
        str,
        (
            Kind.CONSTANT,
            Kind.ASSIGNMENT,
            Kind.FIELD,
            Kind.OUTSIDE,
            Kind.CLASS,
            Kind.MODULE,
        ),
    )
)
"""The kinds of targets that Wrap does not fit."""


@dataclass(frozen=True)
class UpstreamTarget:
    """A target, as releases of its package have it.

    Args:
        target: the target.
        releases: the releases that were looked at, the oldest first.
    """

    target: Target
    releases: tuple[CheckedRelease, ...]

    @property
    def newest(self) -> CheckedRelease:
        """The newest release, which the patch is written for."""
        return self.releases[-1]

    @property
    def facts(self) -> Facts:
        """What the newest release says of the target."""
        return self.newest.facts(self.target)

    @property
    def node(self) -> ast.AST | None:
        """The first statement that defines the target; None where there is none."""
        nodes = self.newest.resolver.resolve(self.target).nodes
        return next(iter(nodes), None)

    @property
    def text(self) -> str:
        """The source of the target, decorators included; '' where there is none."""
        return self.newest.text(self.facts)

    def misfit(self, expected: str) -> ScaffoldError:
        """Return the error for a target of another kind than a change needs.

        Args:
            expected: what the change needs, for people.
        """
        kind = self.facts.kind
        actual = f"a {kind}" if kind else "something that its source does not tell"
        return ScaffoldError(f"{self.target}: found {actual}, expected {expected}")


def look_up(
    target: Target, checked_releases: Sequence[CheckedRelease]
) -> UpstreamTarget:
    """Return a target with the releases that contain its package.

    Args:
        target: the target.
        checked_releases: releases, the oldest of each distribution first.

    Raises:
        ScaffoldError: None of them contains the package.
    """
    package = target.module.partition(".")[0]
    releases = tuple(
        release for release in checked_releases if release.covers([package])
    )
    if not releases:
        raise ScaffoldError(
            f"{target}: found no {package} to look it up in, expected it installed here, or "
            f"releases of {package} with --releases, --path or --wheel"
        )
    return UpstreamTarget(target, releases)


def first_change(
    upstream: UpstreamTarget, kind: str | None, taken: Collection[str]
) -> Change:
    """Return the change to start with.

    Args:
        upstream: the target.
        kind: the kind of the change, as in `--kind`; None to choose it by the target.
        taken: the names that the body has already.

    Raises:
        ScaffoldError: The target does not exist, or a change of this kind cannot be made to it.
    """
    target = upstream.target
    if kind not in _KINDS_OF_NEW:
        # Whoever names a kind knows what the target is, even if its source does not tell.
        refuse_missing(upstream, undecided_too=kind is None)
    chosen = kind or _fitting_kind(upstream)
    _refuse_other_form(target, chosen)
    name = _name_for(upstream, chosen, taken)
    if chosen in _KINDS_OF_NEW:
        return _addition(upstream, chosen, name)
    if chosen == "before-import":
        return BeforeImport(target.module, name)
    if chosen == "after-import":
        return AfterImport(target.module, name)
    if chosen == "edit":
        return _edit(upstream)
    if chosen == "decorate":
        return Decorate(str(target), by=name)
    if chosen == "wrap":
        if upstream.facts.kind in _NOT_CALLED:
            raise upstream.misfit(
                "something to call, as Wrap needs; --kind replace takes it"
            )
        return Wrap(str(target), by=name)
    return Replace(str(target), by=name)


def _fitting_kind(upstream: UpstreamTarget) -> str:
    """Choose the kind of change for a target: Wrap for what is called, else Replace."""
    if not upstream.target.qualname:
        return "after-import"
    kind = upstream.facts.kind
    if kind in _NOT_CALLED or kind == str(Kind.ITEM):
        return "replace"
    return "wrap"


def _refuse_other_form(target: Target, kind: str) -> None:
    """Raise ScaffoldError if a kind needs a module and the target is none, or the reverse."""
    if target.qualname and kind in _KINDS_OF_MODULES:
        raise ScaffoldError(
            f"{target}: found a name in a module, expected the module alone, {target.module}"
        )
    if not target.qualname and kind not in _KINDS_OF_MODULES:
        raise ScaffoldError(f"{target}: found a module, expected 'module:qualname'")


def _name_for(upstream: UpstreamTarget, kind: str, taken: Collection[str]) -> str:
    """Choose the name of the body's object for a target: `around_run` for a Wrap of `a:C.run`.

    Args:
        upstream: the target.
        kind: the kind of the change.
        taken: the names that are not free.
    """
    target = upstream.target
    last = target.steps[-1] if target.qualname else target.module
    base = "entry"  # for an item, whose key may be no name
    if not isinstance(last, Item):
        base = last.rpartition(".")[2].strip("_") or "it"  # `it` for `_`
    prefix = _PREFIXES.get(kind, "")
    if kind == "replace" and upstream.facts.kind == _CLASS:
        prefix = "Patched"
    name = prefix + base
    if keyword.iskeyword(name):
        name = f"{name}_"
    unused = name
    number = 1
    while unused in taken:
        number += 1
        unused = f"{name}_{number}"
    return unused


def _edit(upstream: UpstreamTarget) -> Change:
    """Make an Edit of the first line of a function that occurs once in it, for the author to alter.

    `new` is the same as `old` until then.

    Raises:
        ScaffoldError: The target is no function, is inherited, or has no such line.
    """
    facts = upstream.facts
    if facts.owner:
        raise upstream.misfit(f"its own source; it is inherited, name {facts.owner}")
    node = upstream.node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or not facts.lines:
        raise upstream.misfit("a function with source of its own, as Edit needs")
    statements = node.body
    if ast.get_docstring(node) is not None:
        statements = statements[1:]
    text = upstream.text
    lines = text.splitlines()
    for statement in statements:
        if statement.lineno != statement.end_lineno:
            continue  # a line of it alone may be no valid Python
        # `lines` begin at the line `facts.lines[0]` of the file.
        line = lines[statement.lineno - facts.lines[0]].strip()
        change = Edit(str(upstream.target), old=line, new=line)
        with suppress(TargetError):
            edited(change, text)  # raises if the line occurs more than once
            return change
    raise upstream.misfit(
        "a function in which a line of its own occurs once; write it by hand"
    )


def _addition(upstream: UpstreamTarget, kind: str, name: str) -> Change:
    """Make an Add, AddField or Provide.

    Args:
        upstream: the target, which must not exist yet.
        kind: `add`, `add-field` or `provide`.
        name: the name of the object in the body.

    Raises:
        ScaffoldError: The target exists, or the class or module that is to get it does not.
    """
    target = upstream.target
    is_class = upstream.facts.kind == _CLASS
    # With add-field, the target has to name the new field, `a:C.field`, and not only the class.
    if kind == "add-field" and (is_class or "." not in target.qualname):
        raise ScaffoldError(
            f"{target}: expected the new field too, 'module:Class.field'"
        )
    if upstream.facts.is_present:
        raise ScaffoldError(
            f"{target} is in {upstream.newest.name} already, expected a new name"
        )
    if kind == "provide":
        return Provide(target.module)
    holder = replace(upstream, target=target.holder)
    refuse_missing(holder)
    if kind == "add":
        return Add(str(target), by=name)
    if holder.facts.kind != _CLASS:
        raise holder.misfit("a class, as AddField needs")
    field = target.qualname.rpartition(".")[2]
    # The author of the patch changes type and default.
    return AddField(str(holder.target), name=field, type=bool, default=False)


def refuse_missing(upstream: UpstreamTarget, *, undecided_too: bool = False) -> None:
    """Raise ScaffoldError for a target that is absent, or that only instances have.

    Args:
        upstream: the target.
        undecided_too: whether a target is refused, too, if its source does not tell what it is.
    """
    target = upstream.target
    facts = upstream.facts
    release = upstream.newest.name
    if facts.state == "absent":
        reason = facts.reason or "it is not there"
        raise ScaffoldError(
            f"{target} is not in {release}: {reason}{_whereabouts(upstream)}"
        )
    if facts.state == "undecidable" and undecided_too:
        raise ScaffoldError(
            f"{target}: {release} does not tell what it is: {facts.reason}; {_ways_out(target)}"
        )
    if facts.kind == str(Kind.INSTANCE_ATTRIBUTE):
        raise upstream.misfit("a name of the class; name the method that sets it")


def _ways_out(target: Target) -> str:
    """Say how to start a patch if the source does not tell what its target is."""
    if not isinstance(target.steps[-1], Item):
        return "--kind says what to start with"
    return (
        f"--kind replace if the import of {target.module} sets it, --kind add if nothing does, "
        "else a function that sets it: 'patchkit new NAME --kind after-import --target "
        f"{target.module}'"
    )


def _whereabouts(upstream: UpstreamTarget) -> str:
    """Say where a missing target moved, which names are similar, or how to find out."""
    target = upstream.target
    # The target is followed from the oldest release that has it to later ones (`directions=(1,)`);
    # one that no release has is searched for by its name.
    trails = Trails(list(upstream.releases), [target], directions=(1,), by_name=True)
    trails.follow()
    move = trails.move_of(target, upstream.newest)
    if move and move.words:
        return f"; {move.words}"
    similar = did_you_mean(target, upstream.newest)
    return similar or f"; 'patchkit history {target}' looks in all releases"
