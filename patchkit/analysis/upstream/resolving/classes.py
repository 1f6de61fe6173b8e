"""What a class derives from, and what its body, decorators, hooks and metaclasses bind."""

import ast
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace

from patchkit.analysis.upstream.resolving import decorators
from patchkit.analysis.upstream.resolving.bindings import UNBOUND, BindingCases
from patchkit.analysis.upstream.resolving.flow import Flow
from patchkit.analysis.upstream.resolving.syntax import DEFS, is_private
from patchkit.analysis.upstream.resolving.touches import touched_by
from patchkit.analysis.upstream.resolving.values import Kind, Lookup, Scope, Value, undecided

SPREAD = "**"
"""Among the options of a decorator: it was given more than is spelled out."""
_OBJECT = Value("present", Kind.OUTSIDE, dotted="builtins.object")
_ITSELF = "it derives from itself"
_KNOWN_METACLASSES = frozenset({"builtins.type", "abc.ABCMeta", "enum.EnumMeta", "enum.EnumType"})
_MAKERS = frozenset({"__new__", "__init__", "__prepare__"})


@dataclass(frozen=True, eq=False)
class ClassEffects:
    """What decorators and the like do to a class; words are '' where there is nothing to say."""

    flavour: str  # how its fields are read, see `fields`
    options: dict[str, ast.expr]  # of the decorator that makes it a dataclass
    touched: dict[str, str]  # names that are set on it, each with what sets it
    opened: str  # why it may have further names
    replaced: str  # why something else may stand in its place
    bases: tuple[Value, ...] = ()  # classes that are added to its bases


def mro(lookup: Lookup, value: Value) -> tuple[Value, ...]:
    """List a class and its bases as Python does; what is not known of them stands in its place."""
    key, notes = ("mro", id(value.classes[-1])), value.module_tree.conclusions
    if key not in notes:
        notes[key] = (value, undecided(_ITSELF))
        notes[key] = _linear(lookup, value)
    order: tuple[Value, ...] = notes[key]
    lookup.circle_count += order[1].reason == _ITSELF
    return order


def body_bindings(lookup: Lookup, scope: Scope, name: str) -> BindingCases:
    """Tell what the body of a class binds a name to."""
    node, until = scope.classes[-1], scope.until
    line = until.lineno if until and until is not node else 0
    is_inside = node.lineno <= line <= (node.end_lineno or 0)

    def follow() -> BindingCases:
        flow = Flow(name, scope.tree, lookup, until if is_inside else None)
        return flow.whole(node) or UNBOUND

    return follow() if is_inside else scope.tree.remember(("own", id(node), name), follow)


def source_name(entry: Value, name: str) -> str:
    """Undo what Python does to private names: `_Class__name` is written `__name`."""
    plain = name.removeprefix(f"_{entry.classes[-1].name.lstrip('_')}")
    return plain if is_private(plain) else name


def metaclass(lookup: Lookup, value: Value) -> Value | None:
    """Find what else than `type` or one of its well-known kin makes a class."""
    for entry in mro(lookup, value):
        for keyword in entry.classes[-1].keywords if entry.classes else ():
            if keyword.arg == "metaclass":
                found = lookup.evaluate(keyword.value, entry.definition_scope)
                if len(found) != 1:
                    return undecided(f"the metaclass {ast.unparse(keyword.value)}")
                if found[0].dotted not in _KNOWN_METACLASSES:
                    return found[0]
    return None


def may_add_names(lookup: Lookup, meta: Value) -> bool:
    """Whether a metaclass may give a class names that no statement of the class binds."""
    return any(_methods(lookup, meta, {*_MAKERS, "__getattr__", "__getattribute__"}))


def after_metaclass(lookup: Lookup, entry: Value, name: str, value: Value) -> Value:
    """Doubt what a class binds where its metaclass may replace it, or take it away."""
    meta = None if name.startswith("__") else metaclass(lookup, entry)
    if meta is None or not meta.classes:
        return value
    if any(one.dotted.startswith("enum.") for one in mro(lookup, meta)):
        return value
    is_def = isinstance(next(iter(value.nodes), None), DEFS)
    code = (node for maker in _methods(lookup, meta, _MAKERS) for node in ast.walk(maker))
    if any(not is_def or getattr(node, "value", None) == name for node in code):
        return undecided(f"the metaclass {meta.qualname} may replace it or take it away")
    return value


def _methods(lookup: Lookup, meta: Value, names: Set[str]) -> Iterator[ast.stmt]:
    bodies = (entry.classes[-1].body for entry in mro(lookup, meta) if entry.classes)
    return (one for body in bodies for one in body if getattr(one, "name", "") in names)


def _linear(lookup: Lookup, value: Value) -> tuple[Value, ...]:
    bases = [_base(lookup, one, value) for one in value.classes[-1].bases]
    orders = [mro(lookup, one) if one.classes else (one,) for one in bases]
    known = [[one for one in order if one is not _OBJECT] for order in orders]
    merged = _merge([*known, bases])
    if merged is None:
        return (value, undecided("its bases have no consistent order"), _OBJECT)
    return (value, *merged, _OBJECT)


def _base(lookup: Lookup, node: ast.expr, value: Value) -> Value:
    text = ast.unparse(node)
    if isinstance(node, ast.Starred):
        return undecided(f"the base {text}")
    bases = {
        _key(one): one for one in lookup.evaluate(node, value.definition_scope) if not one.is_none
    }
    if len(bases) != 1:
        return undecided(f"the base {text}, which is one of several,")
    base = next(iter(bases.values()))
    if base.kind is Kind.CLASS and not base.is_sure:
        return undecided(f"the base {text}, which may be another,")
    if base.classes or base.kind in (Kind.OUTSIDE, Kind.CLASS):
        return base
    return undecided(f"the base {text}, which cannot be resolved,")


def _merge(orders: list[list[Value]]) -> list[Value] | None:
    """Linearise as C3 does; None where there is no order."""
    merged: list[Value] = []
    while orders := [order for order in orders if order]:
        tails = {_key(one) for order in orders for one in order[1:]}
        head = next((order[0] for order in orders if _key(order[0]) not in tails), None)
        if head is None:
            return None
        merged.append(head)
        orders = [[one for one in order if _key(one) != _key(head)] for order in orders]
    return merged


def _key(value: Value) -> object:
    if value.classes:
        return id(value.classes[-1])
    return value.dotted if value.kind is Kind.OUTSIDE else id(value)


def class_effects(lookup: Lookup, value: Value) -> ClassEffects:
    """Tell what decorators and the `__init_subclass__` of bases do to a class."""
    return value.module_tree.remember(("made", id(value.classes[-1])), lambda: _made(lookup, value))


def _made(lookup: Lookup, value: Value) -> ClassEffects:
    work = ClassEffects("", {}, {}, "", "")
    for decorator in value.classes[-1].decorator_list:
        effect = decorators.effect_of(lookup, decorator, value.definition_scope)
        text = f"the decorator @{ast.unparse(decorator)}"
        touched = {**work.touched, **dict.fromkeys(effect.touched, text)}
        is_unknown = effect.outcome == decorators.UNKNOWN
        work = ClassEffects(
            effect.dataclass or work.flavour,
            effect.options or work.options,
            touched,
            f"{text} may set it" if effect.is_open or "__bases__" in touched else work.opened,
            f"nothing is known about {text}" if is_unknown else work.replaced,
            (*work.bases, *effect.bases),
        )
    return _with_hooks(lookup, value, work)


def _with_hooks(lookup: Lookup, value: Value, work: ClassEffects) -> ClassEffects:
    touched, opened = dict(work.touched), work.opened
    for entry in mro(lookup, value)[1:]:
        body = entry.classes[-1].body if entry.classes else ()
        if hooks := tuple(one for one in body if getattr(one, "name", "") == "__init_subclass__"):
            names, is_open = touched_by(lookup, replace(entry, kind=Kind.CLASSMETHOD, nodes=hooks))
            text = f"{entry.qualname}.__init_subclass__"
            touched |= dict.fromkeys(names, text)
            opened = opened or (f"{text} may set it" if is_open else "")
    return replace(work, touched=touched, opened=opened)
