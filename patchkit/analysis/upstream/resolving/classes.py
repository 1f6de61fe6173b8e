"""Tells what a class derives from, and what its body, decorators and bases set on it."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from patchkit.analysis.upstream.resolving import decorators
from patchkit.analysis.upstream.resolving.base_order import (
    identity,
    merged_orders,
    without_generic,
)
from patchkit.analysis.upstream.resolving.bindings import UNBOUND, BindingCases
from patchkit.analysis.upstream.resolving.code_kinds import method_of
from patchkit.analysis.upstream.resolving.decorator_source import SAME
from patchkit.analysis.upstream.resolving.flow import Flow
from patchkit.analysis.upstream.resolving.later_changes import direct_changes
from patchkit.analysis.upstream.resolving.outside import bases_of
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    dotted,
    is_private,
    statements,
    walk,
)
from patchkit.analysis.upstream.resolving.touches import touched_by
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Scope,
    Value,
    undecided,
)

_OBJECT = Value("present", Kind.OUTSIDE, dotted="builtins.object")
_ITSELF = "it derives from itself"
"""Why the bases of a class are undecided while they are being worked out."""


@dataclass(frozen=True, eq=False)
class ClassEffects:
    """What the decorators of a class and the `__init_subclass__` of its bases do to it.

    Args:
        flavour: How a decorator makes it read its annotations, as `fields.flavour` has it; '' if
            the bases decide.
        options: The keyword arguments of the decorator that makes it a dataclass; `SPREAD` is
            among them if that is passed `**options`.
        touched: The attributes that are set on it, each with the words for what sets it.
        open_reason: Why it may have attributes that are not known, for the report; '' if it may
            not.
        replaced_reason: Why its name may stand for another object, for the report; '' if it may
            not.
        computed_reason: Why its methods may be replaced, as names that are set are computed; '' if
            they may not.
        bases: Classes that are added to its bases.
        removed: Those of the touched attributes that are deleted.
        certain: Those of the touched attributes that are set in any case.
        patterns: What further attributes match that may be set, each with the words for what may
            set them.
        is_other: Whether its name stands for another object, most likely: a decorator of the
            release was read, and does not return the class.
    """

    flavour: str = ""
    options: dict[str, ast.expr] = field(default_factory=dict)
    touched: dict[str, str] = field(default_factory=dict)
    open_reason: str = ""
    replaced_reason: str = ""
    computed_reason: str = ""
    bases: tuple[Value, ...] = ()
    removed: frozenset[str] = frozenset()
    is_other: bool = False
    patterns: tuple[tuple[str, str], ...] = ()
    certain: frozenset[str] = frozenset()


def mro(lookup: Lookup, value: Value) -> tuple[Value, ...]:
    """List a class and its bases in Python's order of resolution.

    Args:
        lookup: The release.
        value: The class.

    Returns:
        The class first, `object` last; an undecided value stands for a base that is not known.
    """
    key = ("mro", id(value.class_statement))
    conclusions = value.module_tree.conclusions
    if key not in conclusions:
        # This is returned if a base leads back to the class before its order is known.
        conclusions[key] = (value, undecided(_ITSELF))
        try:
            conclusions[key] = _linearized(lookup, value)
        except RecursionError:  # whoever asks for a shorter way there gets an answer
            del conclusions[key]
            raise
    order: tuple[Value, ...] = conclusions[key]
    if order[1].reason == _ITSELF:
        # So that no result that is based on the incomplete order is remembered.
        lookup.circle_count += 1
    return order


def body_bindings(lookup: Lookup, scope: Scope, name: str) -> BindingCases:
    """List what the body of a class may bind a name to.

    Args:
        lookup: The release.
        scope: The class, and the statement of its body up to which it is followed, if any.
        name: The name as it is written in the body.

    Returns:
        The cases at the statement, or at the end of the body; one without a binding if the body
        does not bind the name, or always ends in an error.
    """
    node = scope.classes[-1]
    until = scope.until
    # A statement outside the body, or the class itself, sees the body at its end.
    if until is not None and until is not node and _contains(node, until):
        flow = Flow(name, scope.tree, lookup, until)
        return flow.whole(node) or UNBOUND

    def follow() -> BindingCases:
        return Flow(name, scope.tree, lookup).whole(node) or UNBOUND

    return scope.tree.remember(("own", id(node), name), follow)


def _contains(node: ast.ClassDef, statement: ast.stmt) -> bool:
    return node.lineno <= statement.lineno <= (node.end_lineno or 0)


def source_name(owner: Value, name: str) -> str:
    """Return the name of an attribute as the body of its class spells it.

    Args:
        owner: The class.
        name: The name of the attribute, as `_Class__name`.

    Returns:
        `__name` for a private name of this class; any other name as it is.
    """
    class_name = owner.class_statement.name.lstrip("_")
    plain = name.removeprefix(f"_{class_name}")
    if is_private(plain):
        return plain
    return name


def _linearized(lookup: Lookup, value: Value) -> tuple[Value, ...]:
    """Work out the order of a class and its bases; see `mro`, which remembers it."""
    nodes = value.class_statement.bases
    bases = without_generic([(node, _base(lookup, node, value)) for node in nodes])
    if b"__bases__" in value.module_tree.source:
        later = direct_changes(value).names.get("__bases__")
        if later is not None:
            bases = [undecided(f"what {later.text} makes its base")]
    orders: list[list[Value]] = []
    for base in bases:
        order: tuple[Value, ...] = (base,)
        if base.has_class_statement:
            order = mro(lookup, base)
        elif base.kind is Kind.OUTSIDE:
            order = (base, *_bases_outside(base))
        orders.append(_without_object(order))
    merged = merged_orders([*orders, _without_object(bases)])
    if merged is None:
        return (value, undecided("its bases have no consistent order"), _OBJECT)
    return (value, *merged, _OBJECT)


def _without_object(order: Iterable[Value]) -> list[Value]:
    """Leave out `object`, also one that is written down: it is the last one in any order."""
    return [ancestor for ancestor in order if ancestor.dotted != _OBJECT.dotted]


def _base(lookup: Lookup, node: ast.expr, value: Value) -> Value:
    """Return a base of a class; an undecided value says why it is not known.

    Its reason is the beginning of a sentence: "the base X, which may be another," … "may have it".
    """
    text = ast.unparse(node)
    if isinstance(node, ast.Starred):
        return undecided(f"the base {text}")
    candidates = lookup.evaluate(node, value.definition_scope)
    # None stands for an optional import that failed; no class can derive from it.
    bases = {
        identity(candidate): candidate
        for candidate in candidates
        if not candidate.is_none
    }
    if len(bases) != 1:
        return undecided(f"the base {text}, which is one of several,")
    base = _unsubscripted(lookup, next(iter(bases.values())))
    is_made = base.instance_of is not None  # by a metaclass, which the class has, too
    if base.kind is Kind.CLASS and not base.is_sure and not is_made:
        return undecided(f"the base {text}, which may be another,")
    if base.has_class_statement or base.kind in (Kind.OUTSIDE, Kind.CLASS):
        return base
    return undecided(f"the base {text}, which cannot be resolved,")


def _unsubscripted(lookup: Lookup, base: Value) -> Value:
    """Return `Mapping` for the alias `Graph = Mapping[Key, Any]`, any other value as it is."""
    if not isinstance(base.expression, ast.Subscript) or base.scope is None:
        return base
    generics = lookup.evaluate(base.expression, base.scope)
    if len(generics) == 1 and generics[0].kind in (Kind.OUTSIDE, Kind.CLASS):
        return generics[0]
    return base


def _bases_outside(base: Value) -> list[Value]:
    """List the bases of a class outside the release, in their order, as far as they are known."""
    return [replace(_OBJECT, dotted=dotted) for dotted in bases_of(base.dotted)]


def class_effects(lookup: Lookup, value: Value) -> ClassEffects:
    """Return what decorators and the `__init_subclass__` of bases do to a class.

    Args:
        lookup: The release.
        value: The class.
    """
    key = ("made", id(value.class_statement))
    return value.module_tree.remember(key, lambda: _class_effects(lookup, value))


def _class_effects(lookup: Lookup, value: Value) -> ClassEffects:
    """Work out what is done to a class; see `class_effects`, which remembers it."""
    effects = ClassEffects()
    for decorator in value.class_statement.decorator_list:
        effect = decorators.effect_of(lookup, decorator, value.definition_scope)
        effects = _with_decorator(
            effects, effect, f"the decorator @{ast.unparse(decorator)}"
        )
    return _with_hooks(lookup, value, effects)


def _with_decorator(
    effects: ClassEffects,
    effect: decorators.DecoratorEffect,
    text: str,
) -> ClassEffects:
    """Add the effect of one decorator to those of others.

    Args:
        effects: What the other decorators do to the class.
        effect: What this one does.
        text: The decorator in the words of a report, as "the decorator @x".
    """
    touched = {**effects.touched, **dict.fromkeys(effect.touched, text)}
    open_reason = effects.open_reason
    if effect.is_open or "__bases__" in touched:  # unknown bases may have any attribute
        open_reason = f"{text} may set it"
    replaced_reason = effects.replaced_reason
    if effect.outcome != SAME or effect.kind is not None:
        replaced_reason = f"nothing is known about {text}"
    computed_reason = effects.computed_reason
    if effect.replaces_any:
        computed_reason = f"{text} may replace it"
    flavour = effect.dataclass or effects.flavour
    if effect.dataclass and effects.flavour:
        flavour = "unknown"  # of two decorators, one writes `__init__`
    return ClassEffects(
        flavour=flavour,
        options=effect.options or effects.options,
        touched=touched,
        open_reason=open_reason,
        replaced_reason=replaced_reason,
        computed_reason=computed_reason,
        bases=(*effects.bases, *effect.bases),
        removed=effects.removed | effect.removed,
        is_other=effects.is_other or effect.makes_other,
        certain=effects.certain | effect.certain,
        patterns=(
            *effects.patterns,
            *((pattern, f"{text} may set it") for pattern in effect.patterns),
        ),
    )


def _with_hooks(lookup: Lookup, value: Value, effects: ClassEffects) -> ClassEffects:
    """Add what the `__init_subclass__` of each base sets on a class."""
    touched = {**effects.touched, **_signatures_set_below(lookup, value)}
    open_reason = effects.open_reason
    computed_reason = effects.computed_reason
    flavour = effects.flavour
    removed = effects.removed
    patterns = list(effects.patterns)
    certain = effects.certain
    is_first = True
    for ancestor in mro(lookup, value)[1:]:
        hooks = _subclass_hooks(ancestor)
        if not hooks:
            continue
        text = f"{ancestor.qualname}.__init_subclass__"
        if not all(isinstance(hook, DEFS) for hook in hooks):
            open_reason = open_reason or f"{text} may set it"
            computed_reason = computed_reason or f"{text} may replace it"
            is_first = False
            continue  # an assigned one is not followed
        # `touched_by` takes a value, and looks in its `classes` for methods that the hook calls.
        hook = replace(ancestor, kind=Kind.CLASSMETHOD, nodes=hooks)
        attributes = touched_by(lookup, hook)
        touched |= dict.fromkeys(attributes.names, text)
        removed |= attributes.removed
        # The hook of a further base runs only if this one calls it.
        if is_first and hooks[0] in ancestor.class_statement.body:
            certain |= attributes.certain
        is_first = False
        reason = f"{text} may set it"
        patterns += [(pattern, reason) for pattern in attributes.patterns]
        if attributes.may_set_others and not open_reason:
            open_reason = f"{text} may set it"
        if attributes.replaces_any and not computed_reason:
            computed_reason = f"{text} may replace it"
        if attributes.makes_dataclass and not flavour:
            flavour = "unknown"  # its options are not followed
    return replace(
        effects,
        flavour=flavour,
        touched=touched,
        open_reason=open_reason,
        computed_reason=computed_reason,
        removed=removed,
        patterns=tuple(patterns),
        certain=certain,
    )


def _signatures_set_below(lookup: Lookup, value: Value) -> dict[str, str]:
    """List which methods of a class get another signature once another class derives from it.

    Its own `__init_subclass__` is passed a class that may have inherited them.
    """
    hooks = _subclass_hooks(value)
    if not hooks or not all(isinstance(hook, DEFS) for hook in hooks):
        return {}
    attributes = touched_by(lookup, replace(value, kind=Kind.CLASSMETHOD, nodes=hooks))
    text = f"{value.qualname}.__init_subclass__"
    return {name: text for name in attributes.names if "." in name}


def _subclass_hooks(ancestor: Value) -> tuple[ast.stmt, ...]:
    """Return the definitions of `__init_subclass__` in a class; () outside the release."""
    if not ancestor.has_class_statement:
        return ()
    return tuple(
        statement
        for statement in statements(ancestor.class_statement.body)
        if "__init_subclass__" in _defined(statement)
    )


def _defined(statement: ast.stmt) -> list[str]:
    """List the names that a `def`, or an assignment, binds."""
    targets = getattr(statement, "targets", ())
    return [getattr(statement, "name", ""), *map(dotted, targets)]


def subscripted(value: Value) -> Value:
    """Return the class that `Generic[T]` stands for.

    Args:
        value: The class that is subscripted.

    Returns:
        The class itself; unsure if its `__class_getitem__` may return another.
    """
    if not value.has_class_statement:
        return value
    method = method_of(value.class_statement, "__class_getitem__")
    if method is None:
        return value
    for node in walk(method):
        if isinstance(node, ast.Return) and not _stands_for_cls(node.value):
            return value.unsure(f"{value.qualname}[…] may be another class")
    return value


def _stands_for_cls(node: ast.expr | None) -> bool:
    """Whether it is `cls`, `super().__class_getitem__(…)`, `GenericAlias(cls, …)` or nothing."""
    if not isinstance(node, ast.Call):
        return node is None or dotted(node) == "cls"
    name = getattr(node.func, "attr", "") or dotted(node.func)
    return name == "__class_getitem__" or name.endswith("GenericAlias")
