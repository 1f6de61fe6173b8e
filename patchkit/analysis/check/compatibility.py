"""Whether an object of a body can stand for upstream's: how it is called, what it derives from.

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
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.target import Item, Target

_PLACES = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_MORE = "more"  # passed where there is room for anything; nothing upstream is called that


def refused_call(theirs: Signature, ours: Signature) -> str | None:
    """Say which call of theirs ours does not take, None for none; both have `self`, or neither."""
    parameters = theirs.parameters.values()
    named = {one.name for one in parameters if one.kind is not one.POSITIONAL_ONLY}
    names, elsewhere = theirs.parameters.keys(), named & ours.parameters.keys()
    for args, kwargs in _calls(parameters):
        try:
            bound = ours.bind(*args, **{name: name for name in kwargs})
        except TypeError as error:
            fault = str(error)
        else:
            fault = _swapped(bound.arguments, names, elsewhere)
        if fault:
            return f"{fault}, when called as f({', '.join([*args, *map('{}=…'.format, kwargs)])})"
    return None


def takes_wrapped(ours: Signature) -> str | None:
    """Say why a function cannot be called as `by(wrapped, instance, args, kwargs)`, or None."""
    try:
        ours.bind("wrapped", "instance", "args", "kwargs")
    except TypeError as error:
        return str(error)
    return None


def _calls(parameters: Collection[Parameter]) -> Iterator[tuple[list[str], list[str]]]:
    """The calls that show every difference: all and only what is required, each way of passing."""
    for chosen in (parameters, [one for one in parameters if one.default is one.empty]):
        places, names = _named(chosen, *_PLACES), _named(chosen, Parameter.KEYWORD_ONLY)
        for count in range(len(places), len(_named(chosen, Parameter.POSITIONAL_ONLY)) - 1, -1):
            yield places[:count], [*places[count:], *names]
    places, names = _named(parameters, *_PLACES), _named(parameters, Parameter.KEYWORD_ONLY)
    if _named(parameters, Parameter.VAR_POSITIONAL):
        yield [*places, *[f"{_MORE} arguments"] * 9], names
    if _named(parameters, Parameter.VAR_KEYWORD):
        yield places, [*names, f"{_MORE}_keywords"]


def _named(parameters: Iterable[Parameter], *kinds: int) -> list[str]:
    return [one.name for one in parameters if one.kind in kinds]


def _swapped(arguments: dict[str, object], names: Set[str], elsewhere: Set[str]) -> str:
    """Find what arrives under a name that upstream has for something else, or we have for it."""
    for parameter, passed in arguments.items():
        is_other = isinstance(passed, str) and passed != parameter
        if is_other and (parameter in names or passed in elsewhere):
            return f"{passed!r} arrives as {parameter!r}"
    return ""


class Bases(NamedTuple):
    """The classes that a class is or derives from."""

    inside: frozenset[tuple[str, str]]  # (module, qualname) of those in the same sources
    outside: tuple[str, ...]  # the dotted names of others, `vllm.a.B`
    is_whole: bool  # whether they are all known


def bases_of(resolver: Resolver, target: Target) -> Bases:
    """Tell what a class is and derives from; what is no class derives from itself alone."""
    inside, outside, is_whole = set(), [], True
    for variant in resolver.resolve(target).variants:
        for one in mro(resolver.lookup, variant) if variant.classes else (variant,):
            if one.kind is Kind.OUTSIDE and one.dotted:
                outside.append(one.dotted)
            elif one.classes:
                inside.add((one.module, one.qualname))
            else:
                is_whole = False
    return Bases(frozenset(inside), tuple(outside), is_whole)


def is_beside(resolver: Resolver, place: Target, facts: Facts) -> bool:
    """Whether a class has a name only as every class has it, or from its metaclass."""
    if len(place.steps) < 2 or isinstance(place.steps[-1], Item) or not facts.is_sure:
        return False
    outer, _, name = place.qualname.rpartition(".")
    owner = facts.qualname.rpartition(".")[0]
    if facts.kind == Kind.OUTSIDE:
        if name == "__new__" or name in vars(ABC):
            return False
        is_objects = facts.module == "builtins" and owner in ("object", "type")
        return is_objects or (facts.module == "abc" and hasattr(ABCMeta, name))
    if facts.kind == Kind.PROPERTY:  # it takes what is put on the class
        return False
    lookup = resolver.lookup
    classes = [one for one in resolver.resolve(Target(place.module, outer)).variants if one.classes]
    metas = [meta for one in classes if (meta := metaclass(lookup, one)) and meta.classes]
    makers = {(one.module, one.qualname) for meta in metas for one in mro(lookup, meta)}
    return (facts.module, owner) in makers
