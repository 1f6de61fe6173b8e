"""Tells whether an object of a body can replace upstream's, by how it is called and its bases.

Callers of upstream's object may pass an argument by position or by name, wherever its parameter
allows both, and may leave out what has a default. The body's object has to take all these calls.
"""

from abc import ABC, ABCMeta
from collections.abc import Collection, Iterable, Iterator
from inspect import Parameter
from typing import NamedTuple

from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.classes import mro
from patchkit.analysis.upstream.resolving.fields import flavour
from patchkit.analysis.upstream.resolving.metaclasses import metaclass
from patchkit.analysis.upstream.resolving.named_elsewhere import OF_METACLASS
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.analysis.upstream.resolving.standard_library import standard_object
from patchkit.analysis.upstream.resolving.syntax import Signature
from patchkit.analysis.upstream.resolving.values import Kind, Value
from patchkit.core.rows.target import Item, Target

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_MORE = "more"
"""What is passed for `*args` and `**kwargs` begins with this, as no parameter's name does."""


class _Call(NamedTuple):
    """A call, `f(a, b=…)`; each argument is the name of the parameter that it is meant for."""

    args: list[str]
    kwargs: list[str]

    def __str__(self) -> str:
        keywords = [f"{name}=…" for name in self.kwargs]
        arguments = ", ".join([*self.args, *keywords])
        return f"f({arguments})"


def refused_call(theirs: Signature, ours: Signature) -> str | None:
    """Say which call that upstream's object takes is refused by the body's object.

    Both signatures have `self`, or neither has.

    Args:
        theirs: how upstream's object is called.
        ours: how the body's object is called.

    Returns:
        What is wrong, and with which call; None where ours takes every call.
    """
    for call in _representative_calls(theirs.parameters.values()):
        # Each argument is the name of the parameter that it is meant for. So `bound.arguments`
        # shows which of our parameters gets it.
        kwargs = {name: name for name in call.kwargs}
        try:
            bound = ours.bind(*call.args, **kwargs)
        except TypeError as error:
            return f"{error}, when called as {call}"
        swapped = _swapped(bound.arguments, theirs, ours)
        if swapped:
            return f"{swapped}, when called as {call}"
    return None


def refused_wrapper_call(ours: Signature) -> str | None:
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


def takes_no_arguments(resolver: Resolver, target: Target, facts: Facts) -> bool:
    """Whether a target is a class that refuses any argument, as it is made by `object` alone.

    Args:
        resolver: the sources.
        target: the target.
        facts: what the sources say of it.

    Returns:
        False for another class, and where the source does not tell.
    """
    if facts.kind != Kind.CLASS or not facts.is_sure or facts.signature is not None:
        return False
    bases = bases_of(resolver, target)
    if not bases.is_whole or bases.outside != ("builtins.object",):
        return False
    for variant in resolver.resolve(target).variants:
        if metaclass(resolver.lookup, variant) is not None:
            return False
        if flavour(resolver.lookup, variant):
            return False
    for name in ("__init__", "__new__"):
        maker = resolver.resolve(Target(target.module, f"{target.qualname}.{name}"))
        for found in maker.variants or (None,):
            if found is None or found.dotted != f"builtins.object.{name}":
                return False
    return True


def _representative_calls(parameters: Collection[Parameter]) -> Iterator[_Call]:
    """Yield calls that a signature takes, of which any narrower signature refuses at least one.

    They pass all arguments, or the required ones alone, in every mix of position and name; and more
    arguments than parameters, where the signature has `*args` or `**kwargs`.
    """
    required = [
        parameter for parameter in parameters if parameter.default is parameter.empty
    ]
    yield from _ways_to_pass(parameters)
    yield from _ways_to_pass(required)
    positional = _names(parameters, *_POSITIONAL)
    keywords = _names(parameters, Parameter.KEYWORD_ONLY)
    if _names(parameters, Parameter.VAR_POSITIONAL):
        # As many that hardly any object has enough parameters to take them all.
        further = [f"{_MORE} arguments"] * 9
        with_further = [*positional, *further]
        yield _Call(with_further, keywords)
    if _names(parameters, Parameter.VAR_KEYWORD):
        further_keyword = f"{_MORE}_keywords"
        yield _Call(positional, [*keywords, further_keyword])


def _ways_to_pass(parameters: Collection[Parameter]) -> Iterator[_Call]:
    """Yield `f(a, b)`, `f(a, b=…)` and `f(a=…, b=…)` for `a` and `b`: fewer each by position."""
    positional = _names(parameters, *_POSITIONAL)
    keywords = _names(parameters, Parameter.KEYWORD_ONLY)
    nameless = _names(parameters, Parameter.POSITIONAL_ONLY)
    fewest = len(nameless)  # those without a name can only be passed by position
    for count in range(len(positional), fewest - 1, -1):
        by_position = positional[:count]
        by_name = positional[count:]
        yield _Call(by_position, [*by_name, *keywords])


def _names(parameters: Iterable[Parameter], *kinds: int) -> list[str]:
    return [parameter.name for parameter in parameters if parameter.kind in kinds]


def _swapped(arguments: dict[str, object], theirs: Signature, ours: Signature) -> str:
    """Say that an argument arrives in another parameter than it is meant for; '' if none does.

    A parameter that only has another name is no fault: `f(a)` may become `f(x)`. It is one if
    either name means something else: `f(a, b)` may not become `f(b, a)` or, where callers may write
    `a=…`, `f(x, a)`.

    Args:
        arguments: by the body's parameters, the name of upstream's parameter that is passed.
        theirs: how upstream's object is called.
        ours: how the body's object is called.
    """
    for parameter, passed in arguments.items():
        # What our `*args` and `**kwargs` collect is no string, and cannot be swapped.
        if not isinstance(passed, str) or passed == parameter:
            continue
        is_for_another = parameter in theirs.parameters
        # A call by that name would reach another parameter of ours than this call does.
        has_other_home = passed in ours.parameters and _may_be_named(theirs, passed)
        if is_for_another or has_other_home:
            return f"{passed!r} arrives as {parameter!r}"
    return ""


def _may_be_named(signature: Signature, name: str) -> bool:
    """Whether a signature has a parameter of this name, and callers may pass it by name."""
    parameter = signature.parameters.get(name)
    if parameter is None:
        return False
    return parameter.kind is not parameter.POSITIONAL_ONLY


class Bases(NamedTuple):
    """The classes that a class is or derives from.

    Args:
        inside: module and qualname of those that the resolver's own sources define.
        outside: the dotted names of others, such as `vllm.a.B`.
        is_whole: whether all of them are known.
    """

    inside: frozenset[tuple[str, str]]
    outside: tuple[str, ...]
    is_whole: bool


def bases_of(resolver: Resolver, target: Target) -> Bases:
    """Find a class and all classes that it derives from.

    Args:
        resolver: the sources.
        target: the class; where several definitions are possible, the classes of each count.

    Returns:
        The classes; of a target that is no class, the target itself.
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
            elif base.classes:  # a class that the sources define
                inside.add((base.module, base.qualname))
            else:
                is_whole = False  # it cannot be told what that base is
    return Bases(frozenset(inside), tuple(outside), is_whole)


def is_default_attribute(resolver: Resolver, target: Target, facts: Facts) -> bool:
    """Whether a class has an attribute only as all classes do, or from its metaclass.

    `C.__eq__` of `object` is one: a patch may still add an `__eq__` to `C`.

    Args:
        resolver: the sources.
        target: the attribute of the class.
        facts: what the sources say of it.
    """
    steps = target.steps
    if len(steps) < 2 or not facts.is_sure:
        return False  # with one step, it is a name of a module
    if isinstance(steps[-1], Item):
        return False
    class_name, _, name = target.qualname.rpartition(".")
    owner, _, _ = facts.qualname.rpartition(".")
    if facts.kind == Kind.OUTSIDE:  # of the standard library, or of another package
        if facts.storage == OF_METACLASS:
            return not _has_setter(f"{facts.module}.{facts.qualname}")
        return _is_of_every_class(facts.module, owner, name)
    # What an Add sets on the class would go to a property of the metaclass instead.
    if facts.kind == Kind.PROPERTY:
        return False
    metaclasses = _metaclasses(resolver, Target(target.module, class_name))
    return (facts.module, owner) in metaclasses


def _has_setter(dotted: str) -> bool:
    """Whether an attribute of a metaclass of Python's own is a property, or the like.

    It answers for the attribute of the class, also where the class has one of its own.
    """
    found = standard_object(dotted)
    return found is None or hasattr(type(found.value), "__set__")


def _is_of_every_class(module: str, owner: str, name: str) -> bool:
    """Whether a name of the standard library comes from `object`, `type` or `ABCMeta`.

    `__new__`, and names that each class has for itself, such as `__doc__`, do not count.
    """
    if name == "__new__" or name in vars(ABC) or name == "__class__":
        return False
    if owner == "type" and _has_setter(f"builtins.type.{name}"):
        return False
    if module == "builtins":
        return owner in ("object", "type")
    if module != "abc":
        return False
    return hasattr(ABCMeta, name)


def _metaclasses(resolver: Resolver, target: Target) -> set[tuple[str, str]]:
    """Return the metaclass of a class, and the classes that the metaclass derives from.

    Each by its module and qualname, if the resolver's own sources define it.
    """
    names: set[tuple[str, str]] = set()
    resolved = resolver.resolve(target)
    for variant in resolved.variants:
        if not variant.classes:
            continue  # it is no class, or one of another package
        metaclass_of_it = metaclass(resolver.lookup, variant)
        if metaclass_of_it and metaclass_of_it.classes:
            bases = mro(resolver.lookup, metaclass_of_it)
            names.update((base.module, base.qualname) for base in bases)
    return names
