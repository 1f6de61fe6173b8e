"""Tells whether an object of a body can stand for upstream's, by its calls and its bases.

Callers may pass what has a name by position or by that name, and may leave out what has a default.
"""

from abc import ABC, ABCMeta
from collections.abc import Collection, Iterable, Iterator, Set
from inspect import Parameter
from typing import NamedTuple

from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.classes import metaclass, mro
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.analysis.upstream.resolving.syntax import Signature
from patchkit.analysis.upstream.resolving.values import Kind, Value
from patchkit.core.rows.target import Item, Target

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_MORE = "more"
"""Passed where there is room for anything; nothing upstream is called that."""


class _Call(NamedTuple):
    """A call, in which the name of each parameter stands for what is passed for it."""

    args: list[str]
    kwargs: list[str]

    def __str__(self) -> str:
        keywords = [f"{name}=…" for name in self.kwargs]
        arguments = ", ".join([*self.args, *keywords])
        return f"f({arguments})"


def refused_call(theirs: Signature, ours: Signature) -> str | None:
    """Say which call of theirs ours does not take; both have `self`, or neither.

    Args:
        theirs: how upstream's object is called.
        ours: how the body's object is called.

    Returns:
        What is wrong, and with which call; None where ours takes every call.
    """
    names = theirs.parameters.keys()
    parameters = theirs.parameters.values()
    by_name = {
        parameter.name
        for parameter in parameters
        if parameter.kind is not parameter.POSITIONAL_ONLY
    }
    common = by_name & ours.parameters.keys()
    for call in _telling_calls(parameters):
        kwargs = {name: name for name in call.kwargs}
        try:
            bound = ours.bind(*call.args, **kwargs)
        except TypeError as error:
            return f"{error}, when called as {call}"
        swapped = _swapped(bound.arguments, names, common)
        if swapped:
            return f"{swapped}, when called as {call}"
    return None


def takes_wrapped(ours: Signature) -> str | None:
    """Say why a function cannot be called as `by(wrapped, instance, args, kwargs)`.

    Args:
        ours: how the function is called.

    Returns:
        The reason; None where it can be called so.
    """
    try:
        ours.bind("wrapped", "instance", "args", "kwargs")
    except TypeError as error:
        return str(error)
    return None


def _telling_calls(parameters: Collection[Parameter]) -> Iterator[_Call]:
    """List the calls that show every difference: all and only what is required, however passed."""
    required = [
        parameter for parameter in parameters if parameter.default is parameter.empty
    ]
    yield from _ways_to_pass(parameters)
    yield from _ways_to_pass(required)
    positional = _names(parameters, *_POSITIONAL)
    keywords = _names(parameters, Parameter.KEYWORD_ONLY)
    if _names(parameters, Parameter.VAR_POSITIONAL):
        further = [f"{_MORE} arguments"] * 9
        with_further = [*positional, *further]
        yield _Call(with_further, keywords)
    if _names(parameters, Parameter.VAR_KEYWORD):
        further_keyword = f"{_MORE}_keywords"
        yield _Call(positional, [*keywords, further_keyword])


def _ways_to_pass(parameters: Collection[Parameter]) -> Iterator[_Call]:
    """Pass parameters by position as far as that goes, then one after another by name instead."""
    positional = _names(parameters, *_POSITIONAL)
    keywords = _names(parameters, Parameter.KEYWORD_ONLY)
    nameless = _names(parameters, Parameter.POSITIONAL_ONLY)
    fewest = len(nameless)
    for count in range(len(positional), fewest - 1, -1):
        by_position = positional[:count]
        by_name = positional[count:]
        yield _Call(by_position, [*by_name, *keywords])


def _names(parameters: Iterable[Parameter], *kinds: int) -> list[str]:
    return [parameter.name for parameter in parameters if parameter.kind in kinds]


def _swapped(arguments: dict[str, object], names: Set[str], by_name: Set[str]) -> str:
    """Find what arrives under a name that upstream has for something else, or we have for it."""
    for parameter, passed in arguments.items():
        is_other = isinstance(passed, str) and passed != parameter
        if not is_other:
            continue
        if parameter in names or passed in by_name:
            return f"{passed!r} arrives as {parameter!r}"
    return ""


class Bases(NamedTuple):
    """The classes that a class is or derives from.

    Args:
        inside: module and qualname of those in the same sources.
        outside: the dotted names of others, `vllm.a.B`.
        is_whole: whether they are all known.
    """

    inside: frozenset[tuple[str, str]]
    outside: tuple[str, ...]
    is_whole: bool


def bases_of(resolver: Resolver, target: Target) -> Bases:
    """Find what a class is and derives from.

    Args:
        resolver: the sources.
        target: the class.

    Returns:
        The classes; what is no class derives from itself alone.
    """
    inside = set()
    outside = []
    is_whole = True
    resolved = resolver.resolve(target)
    for variant in resolved.variants:
        classes: tuple[Value, ...] = (variant,)
        if variant.classes:
            classes = mro(resolver.lookup, variant)
        for base in classes:
            if base.kind is Kind.OUTSIDE and base.dotted:
                outside.append(base.dotted)
            elif base.classes:
                inside.add((base.module, base.qualname))
            else:
                is_whole = False
    return Bases(frozenset(inside), tuple(outside), is_whole)


def is_beside(resolver: Resolver, target: Target, facts: Facts) -> bool:
    """Whether a class has a name only as every class has it, or from its metaclass.

    Args:
        resolver: the sources.
        target: the name in the class.
        facts: what the sources say of it.
    """
    steps = target.steps
    if len(steps) < 2 or not facts.is_sure:
        return False
    if isinstance(steps[-1], Item):
        return False
    outer, _, name = target.qualname.rpartition(".")
    owner, _, _ = facts.qualname.rpartition(".")
    if facts.kind == Kind.OUTSIDE:
        return _is_of_every_class(facts.module, owner, name)
    if facts.kind == Kind.PROPERTY:  # it takes what is put on the class
        return False
    outer_class = Target(target.module, outer)
    metaclasses = _metaclasses(resolver, outer_class)
    return (facts.module, owner) in metaclasses


def _is_of_every_class(module: str, owner: str, name: str) -> bool:
    """Whether a name of the standard library comes from `object`, `type` or `ABCMeta` alone."""
    if name == "__new__" or name in vars(ABC):
        return False
    if module == "builtins":
        return owner in ("object", "type")
    if module != "abc":
        return False
    return hasattr(ABCMeta, name)


def _metaclasses(resolver: Resolver, target: Target) -> set[tuple[str, str]]:
    """Name the metaclass of a class and what it derives from, by module and qualname."""
    names: set[tuple[str, str]] = set()
    resolved = resolver.resolve(target)
    for variant in resolved.variants:
        if not variant.classes:
            continue
        maker = metaclass(resolver.lookup, variant)
        if maker and maker.classes:
            bases = mro(resolver.lookup, maker)
            names.update((base.module, base.qualname) for base in bases)
    return names
