"""Tells what decorators do: well-known ones are listed, those of the release are read."""

import ast
from dataclasses import dataclass, field

from patchkit.analysis.upstream.resolving.dataclass_makers import (
    DATACLASSES,
    SPREAD,
    dataclass_maker,
)
from patchkit.analysis.upstream.resolving.decorator_source import (
    SAME,
    UNKNOWN,
    WRAPS,
    WRAPS_ASYNC,
    DecoratorOutcome,
    DecoratorSource,
)
from patchkit.analysis.upstream.resolving.machinery import SET_BY_ZOPE
from patchkit.analysis.upstream.resolving.outside import as_typing, is_registration
from patchkit.analysis.upstream.resolving.syntax import Def, Signature, signature_of
from patchkit.analysis.upstream.resolving.touches import bases_added_by, touched_by
from patchkit.analysis.upstream.resolving.values import (
    AS_METHOD,
    Kind,
    Lookup,
    Scope,
    Value,
)

_SET_BY_ATTRS = frozenset(
    {
        "__attrs_attrs__",
        "__attrs_init__",
        "__delattr__",
        "__eq__",
        "__ge__",
        "__getstate__",
        "__gt__",
        "__hash__",
        "__init__",
        "__le__",
        "__lt__",
        "__match_args__",
        "__ne__",
        "__repr__",
        "__setattr__",
        "__setstate__",
        "__slots__",
        "__weakref__",
    }
)
"""Attributes that a decorator of attrs may set on a class."""
_OF_ATTRS = frozenset(
    {
        "attr.attributes",
        "attr.attrs",
        "attr.dataclass",
        "attr.define",
        "attr.frozen",
        "attr.mutable",
        "attr.s",
        "attrs.define",
        "attrs.frozen",
        "attrs.mutable",
    }
)
_DEFINED_BY_ATTRS = frozenset(
    {"attr._make.attrs", "attr._next_gen.define", "attr._next_gen.frozen"}
)
"""The same decorators by where attrs defines them, for a release of attrs itself."""
_COMPARISONS = frozenset({"__lt__", "__le__", "__gt__", "__ge__"})
_SET_BY_DEPRECATED = frozenset({"__deprecated__", "__init_subclass__", "__new__"})
_SET_ON_PROTOCOLS = frozenset(
    {"__non_callable_proto_members__", "_is_runtime_protocol"}
)
_SAME = frozenset(
    {
        "abc.abstractmethod",
        "atexit.register",
        "enum.unique",
        "mypy_extensions.mypyc_attr",
        "mypy_extensions.trait",
        "pydantic.computed_field",
        "pydantic.field_serializer",
        "pydantic.field_validator",
        "pydantic.functional_validators.field_validator",
        "pydantic.functional_validators.model_validator",
        "pydantic.model_serializer",
        "pydantic.model_validator",
        "pydantic.root_validator",
        "pydantic.validator",
        "torch.jit.export",
        "torch.jit.ignore",
        "torch.jit.unused",
        "torch.library.impl",
        "torch.library.register_fake",
        "torch.no_grad.__call__",
        "typing.dataclass_transform",
        "typing.deprecated",
        "typing.final",
        "typing.no_type_check",
        "typing.override",
        "typing.runtime_checkable",
        "warnings.deprecated",
    }
)
"""Decorators outside the release that return the object that they decorate."""
_SET_ON_CLASSES = {
    "typing.dataclass_transform": frozenset({"__dataclass_transform__"}),
    "typing.deprecated": _SET_BY_DEPRECATED,
    "typing.final": frozenset({"__final__"}),
    "typing.no_type_check": frozenset({"__no_type_check__"}),
    "typing.runtime_checkable": _SET_ON_PROTOCOLS,
    "warnings.deprecated": _SET_BY_DEPRECATED,
}
"""What some of them set on a class; what derives from the class has it as well."""
_OF_ZOPE = frozenset(
    {
        "zope.interface.implementer",
        "zope.interface.implementer_only",
        "zope.interface.provider",
    }
)
"""Decorators of zope.interface, which return the class that they decorate."""
_CLASSMETHODS_OF_CLS = frozenset(
    {
        "pydantic.field_validator",
        "pydantic.functional_validators.field_validator",
        "pydantic.functional_validators.model_validator",
        "pydantic.model_validator",
        "pydantic.root_validator",
        "pydantic.validator",
    }
)
"""Decorators that make a classmethod of a function whose first parameter is called `cls`."""
_ROUTES = ("fastapi.APIRouter.", "fastapi.FastAPI.")
"""Classes whose methods are decorators that return the object that they decorate."""
_WRAPS = frozenset(
    {
        "contextlib.asynccontextmanager",
        "contextlib.contextmanager",
        "functools.singledispatch",
        "torch.autograd.no_grad",
        "torch.compile",
        "torch.enable_grad",
        "torch.inference_mode",
        "torch.no_grad",
    }
)
"""Decorators outside the release that return a function with the same signature."""
DESCRIPTORS = {
    "builtins.staticmethod": Kind.STATICMETHOD,
    "builtins.classmethod": Kind.CLASSMETHOD,
    "builtins.property": Kind.PROPERTY,
    "abc.abstractproperty": Kind.PROPERTY,
    "functools.cached_property": Kind.CACHED_PROPERTY,
    "functools.lru_cache": Kind.CACHED_FUNCTION,
    "functools.cache": Kind.CACHED_FUNCTION,
}
_NOT_WRAPPABLE = frozenset(
    {Kind.STATICMETHOD, Kind.CLASSMETHOD, Kind.PROPERTY, Kind.CACHED_PROPERTY}
)
"""Descriptors: nothing is known of what a decorator for functions makes of them."""


@dataclass(frozen=True)
class DecoratorEffect:
    """What one decorator does.

    Args:
        outcome: What it returns: `SAME`, `WRAPS`, `WRAPS_ASYNC` or `UNKNOWN` of
            `decorator_source`.
        kind: The descriptor that it makes of a function; None if it makes none.
        touched: The attributes that it sets on a class.
        removed: Those of them that it deletes.
        makes_other: Whether it makes another object of a class, as far as its source tells.
        certain: Those of the touched attributes that it sets in any case.
        patterns: What further attributes match that it may set on a class, as it computes them.
        is_open: Whether it may set other attributes, too.
        replaces_any: Whether it sets names that are computed, such as those of all methods.
        dataclass: The flavour of dataclass that it makes of a class; '' if it makes none.
        bases: Classes that it adds to the bases of a class.
        options: Its keyword arguments; "**" stands for those that it is passed as `**options`.
        binds_cls: Whether it makes a classmethod of a function whose first parameter is `cls`.
    """

    outcome: DecoratorOutcome
    kind: Kind | None = None
    touched: frozenset[str] = frozenset()
    is_open: bool = False
    replaces_any: bool = False
    dataclass: str = ""
    bases: tuple[Value, ...] = ()
    options: dict[str, ast.expr] = field(default_factory=dict)
    binds_cls: bool = False
    removed: frozenset[str] = frozenset()
    makes_other: bool = False
    patterns: frozenset[str] = frozenset()
    certain: frozenset[str] = frozenset()


_UNKNOWN_EFFECT = DecoratorEffect(UNKNOWN, is_open=True)


def effect_of(lookup: Lookup, decorator: ast.expr, scope: Scope) -> DecoratorEffect:
    """Return what a decorator does.

    Args:
        lookup: The release.
        decorator: What stands behind the `@`.
        scope: Where it stands.

    Returns:
        An unknown effect if the expression may be several decorators that do different things.
    """
    key = ("effect", id(decorator))
    conclusions = scope.tree.conclusions
    return lookup.remember(
        conclusions, key, lambda: _effect_of(lookup, decorator, scope)
    )


def _effect_of(lookup: Lookup, decorator: ast.expr, scope: Scope) -> DecoratorEffect:
    """Work out what a decorator does; see `effect_of`, which remembers it."""
    function = decorator
    options: dict[str, ast.expr] = {}
    if isinstance(decorator, ast.Call):
        function = decorator.func
        options = {
            keyword.arg or SPREAD: keyword.value for keyword in decorator.keywords
        }
    effects = [
        _effect_of_value(lookup, value, decorator, options)
        for value in lookup.evaluate(function, scope)
    ]
    if len({(effect.outcome, effect.kind) for effect in effects}) != 1:
        return _UNKNOWN_EFFECT
    return effects[0]


def function_kind(lookup: Lookup, node: Def, scope: Scope) -> tuple[Kind | None, str]:
    """Return what kind of object a `def` makes, its decorators applied.

    Args:
        lookup: The release.
        node: The `def`.
        scope: The scope of its decorators.

    Returns:
        The kind, and ''; or None, and the decorator about which nothing is known.
    """
    is_async = isinstance(node, ast.AsyncFunctionDef)
    descriptor: Kind | None = None
    # Python applies the lowest decorator first.
    for decorator in reversed(node.decorator_list):
        effect = effect_of(lookup, decorator, scope)
        if effect.outcome == UNKNOWN:
            return None, ast.unparse(decorator)
        if effect.kind is not None:
            descriptor = effect.kind
        elif effect.binds_cls and descriptor is None and _is_of_cls(node):
            descriptor = Kind.CLASSMETHOD
        elif effect.outcome.result in (WRAPS.result, WRAPS_ASYNC.result):
            if descriptor in _NOT_WRAPPABLE:
                return None, ast.unparse(decorator)
            # The wrapper is a function, whatever it wraps, such as a cache.
            is_async = effect.outcome.result == WRAPS_ASYNC.result
            descriptor = None
    if descriptor is not None:
        return descriptor, ""
    kind = Kind.FUNCTION
    if is_async:
        kind = Kind.ASYNC_FUNCTION
    if scope.classes:
        kind = AS_METHOD[kind]
    return kind, ""


def _is_of_cls(node: Def) -> bool:
    """Whether the first parameter of a function is called `cls`."""
    parameters = [*node.args.posonlyargs, *node.args.args]
    return bool(parameters) and parameters[0].arg == "cls"


def signature_below(lookup: Lookup, node: Def, scope: Scope) -> Signature | None:
    """Return how a `def` is called below its decorators, if these are known.

    Args:
        lookup: The release.
        node: The `def`.
        scope: The scope of its decorators.

    Returns:
        None if one of them puts a wrapper with parameters of its own in its place.
    """
    signature = signature_of(node.args)
    for decorator in node.decorator_list:
        takes = effect_of(lookup, decorator, scope).outcome.takes
        if takes is not None and not takes.covers(signature):
            return None
    return signature


def _effect_of_value(
    lookup: Lookup,
    value: Value,
    decorator: ast.expr,
    options: dict[str, ast.expr],
) -> DecoratorEffect:
    """Return what a decorator does, for one of the objects that its name may stand for.

    Args:
        lookup: The release.
        value: The object: the decorator, or what is called to make it.
        decorator: What stands behind the `@`.
        options: Its keyword arguments.
    """
    if value.kind is Kind.OUTSIDE or value.dotted:
        return _well_known_effect(as_typing(value.dotted), options)
    if isinstance(value.expression, ast.Lambda):
        return DecoratorEffect(UNKNOWN, is_open=True, makes_other=True)
    if value.state != "present" or value.tree is None or not value.nodes:
        return _UNKNOWN_EFFECT
    node = value.nodes[0]
    if f"{value.module}.{value.qualname}" in _DEFINED_BY_ATTRS:
        return _well_known_effect("attr.s", options)
    if not isinstance(node, ast.FunctionDef):
        return _UNKNOWN_EFFECT  # a class, or an object with a `__call__`
    source = DecoratorSource(lookup, value)
    attributes = touched_by(lookup, value)
    touched = attributes.names
    is_call = isinstance(decorator, ast.Call)
    maker = dataclass_maker(lookup, value.tree, node, options)
    flavour = maker.flavour
    outcome = SAME  # of one that makes a dataclass, which returns the class
    is_open = attributes.is_open
    if flavour in ("", "unknown"):
        is_open = attributes.may_set_others
    if not flavour:
        outcome = source.outcome(node, is_call=is_call)
    bases: tuple[Value, ...] = ()
    if "__bases__" in touched:
        bases = tuple(bases_added_by(lookup, value))
        if bases:
            touched -= {"__bases__"}  # it is known which bases are added
    return DecoratorEffect(
        outcome,
        touched=touched,
        is_open=is_open or outcome == UNKNOWN,
        replaces_any=attributes.replaces_any,
        dataclass=flavour,
        bases=bases,
        options=maker.options,
        removed=attributes.removed,
        patterns=attributes.patterns,
        certain=frozenset() if is_call else attributes.certain,
        makes_other=outcome != SAME and source.makes_other(node, is_call=is_call),
    )


def _well_known_effect(name: str, options: dict[str, ast.expr]) -> DecoratorEffect:
    """Return what a decorator outside the release does, by its dotted name."""
    if name in DESCRIPTORS:
        return DecoratorEffect(SAME, DESCRIPTORS[name], makes_other=True)
    if is_registration(name):  # `@Mapping.register`, which returns the class
        return DecoratorEffect(SAME)
    if name in _OF_ZOPE:
        return DecoratorEffect(SAME, touched=SET_BY_ZOPE)
    if name in _OF_ATTRS:
        return DecoratorEffect(
            SAME, touched=_SET_BY_ATTRS, dataclass="attrs", options=options
        )
    if name == "functools.total_ordering":
        return DecoratorEffect(SAME, touched=_COMPARISONS)
    if name in DATACLASSES:
        return DecoratorEffect(SAME, dataclass=DATACLASSES[name], options=options)
    if name in _SAME or name.startswith(_ROUTES):
        binds_cls = name in _CLASSMETHODS_OF_CLS
        touched = _SET_ON_CLASSES.get(name, frozenset())
        return DecoratorEffect(
            SAME, touched=touched, options=options, binds_cls=binds_cls
        )
    if name in _WRAPS:
        return DecoratorEffect(WRAPS, makes_other=True)
    return _UNKNOWN_EFFECT
