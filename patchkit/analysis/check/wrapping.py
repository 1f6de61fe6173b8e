"""Judges the function of a Wrap: whether it takes what it is called with, and passes that on."""

import ast
from collections.abc import Callable, Iterator
from functools import lru_cache
from inspect import Parameter

from patchkit.analysis.check import codes
from patchkit.analysis.check.compatibility import refused_wrapper_call
from patchkit.analysis.check.findings import REWRITE, Fault
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.syntax import DEFS, Def, Signature
from patchkit.analysis.upstream.resolving.values import METHODS, Kind

_CONVENTION = ("wrapped", "instance", "args", "kwargs")
"""What the function of a Wrap is called with, by position."""

_BOUND = METHODS - {Kind.STATICMETHOD}
"""Kinds of what is bound to an instance or a class before it is called."""
_LABELS = ("__doc__", "__module__", "__name__", "__qualname__")
"""Attributes of a function that say nothing of how it is called."""
_SPECIAL = ("__class_getitem__", "__init_subclass__", "__new__")
"""Methods that Python binds in other ways than their definition shows."""


def wrapper_faults(
    name: str,
    wrapper: Facts,
    node: ast.AST | None,
    method: Callable[[], Facts | None],
    *,
    takes_none: bool,
) -> Iterator[Fault]:
    """Judge how the function of a Wrap is called, and how it calls the original.

    Args:
        name: The name of the function, or of the class, in the body.
        wrapper: What it is.
        node: Its definition, if there is one.
        method: Returns what it wraps, if that stands on a class; called for few wrappers.
        takes_none: Whether it is a class that surely takes no arguments.

    Yields:
        A fault if it does not take a wrapper's arguments, passes them on as they are, or passes the
        instance to a method that is bound to it.
    """
    refusal = None
    takes = name
    if takes_none:
        refusal = "it has no __init__ that takes arguments"
    elif wrapper.signature is not None:
        takes = f"{name}{wrapper.signature}"
        refusal = refused_wrapper_call(wrapper.signature)
        if not refusal and isinstance(node, DEFS) and wrapper.is_sure:
            refusal = _passed_on_whole(node, wrapper.signature)
    if refusal:
        convention = ", ".join(_CONVENTION)
        message = f"{takes} has to take ({convention}): {refusal}"
        yield Fault(codes.SIGNATURE_CHANGED, message, REWRITE, name)
    elif isinstance(node, DEFS) and wrapper.is_sure:
        names = _names_of_passed_twice(node)
        if names and _is_bound(method()):
            wrapped, instance, args = names
            message = (
                f"found {wrapped}({instance}, *{args}, …) in {name}, which passes the instance "
                f"twice; expected {wrapped}(*{args}, …), as {wrapped} is a bound method"
            )
            yield Fault(codes.SIGNATURE_CHANGED, message, REWRITE, name)


def _passed_on_whole(node: Def, signature: Signature) -> str | None:
    """Say that `*args` of a wrapper gets the tuple and the dict, and passes both on.

    Args:
        node: The wrapper, which takes a wrapper's call.
        signature: How it is called.

    Returns:
        The reason; None where the wrapper may well take the two apart.
    """
    parameters = [*signature.parameters.values()]
    kinds = [parameter.kind for parameter in parameters]
    if Parameter.VAR_POSITIONAL not in kinds or node.decorator_list:
        return None
    named_count = kinds.index(Parameter.VAR_POSITIONAL)
    collected = _CONVENTION[named_count:]
    if not named_count or not collected:
        return None  # nothing has the name of the original, or nothing is collected
    first = parameters[0].name
    rest = parameters[named_count].name
    if _is_bound_again(node, first) or _is_bound_again(node, rest):
        return None
    calls = [call for call in _calls(node) if _is_name(call.func, first)]
    is_passed = any(_passes(call, rest) for call in calls)
    if not is_passed or _is_looked_into(node, rest):
        return None
    call = f"{first}(*{rest}, …)"
    if len(collected) == 1:
        return f"*{rest} gets {collected[0]}, and {call} passes it on as it is"
    listed = ", ".join(collected)
    return f"*{rest} gets ({listed}), and {call} passes them on as they are"


def _is_bound(method: Facts | None) -> bool:
    """Whether what is wrapped is a method that is bound before the wrapper gets it."""
    if method is None or not method.is_sure:
        return False
    name = method.qualname.rpartition(".")[2]
    return method.kind in _BOUND and name not in _SPECIAL


@lru_cache(maxsize=1024)  # a row is judged in each release, and its body is the same
def _names_of_passed_twice(node: Def) -> tuple[str, str, str] | None:
    """Find a call of the original with the instance in front: `wrapped(instance, *args)`.

    Args:
        node: The wrapper.

    Returns:
        How the wrapper calls its first three parameters; None where there is no such call, or where
        the original may have been made a plain function before, or is called so on trial.
    """
    parameters = [*node.args.posonlyargs, *node.args.args]
    if len(parameters) < len(_CONVENTION) or node.decorator_list:
        return None
    wrapped, instance, args = [parameter.arg for parameter in parameters[:3]]
    if any(_is_bound_again(node, name) for name in (wrapped, instance, args)):
        return None
    calls = [call for call in _calls(node) if _is_name(call.func, wrapped)]
    harmless: set[ast.AST] = {call.func for call in calls}
    # Code that looks at the original, or that calls it in several ways, may know what it is.
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in _LABELS:
            harmless.add(part.value)
        if _is_name(part, wrapped) and part not in harmless:
            return None
    for call in calls:
        begins = call.args[:2]
        if len(begins) < 2 or not _is_name(begins[0], instance):
            return None
        if not isinstance(begins[1], ast.Starred) or not _is_name(
            begins[1].value, args
        ):
            return None
    if not calls:
        return None
    return wrapped, instance, args


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            yield part


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _passes(call: ast.Call, name: str) -> bool:
    """Whether a call passes `*name`."""
    return any(
        isinstance(argument, ast.Starred) and _is_name(argument.value, name)
        for argument in call.args
    )


def _is_bound_again(node: Def, name: str) -> bool:
    """Whether a function binds the name of a parameter again, also in a function inside it."""
    parameters_with_name = 0
    for part in ast.walk(node):
        if isinstance(part, ast.arg):
            parameters_with_name += part.arg == name
        elif isinstance(part, ast.Name):
            if part.id == name and not isinstance(part.ctx, ast.Load):
                return True
        elif name in _names_bound_by(part) and part is not node:
            return True
    return parameters_with_name > 1


def _names_bound_by(part: ast.AST) -> list[str]:
    """Return the names that a part of a function binds without an `ast.Name`."""
    if isinstance(part, (ast.Global, ast.Nonlocal)):
        return part.names
    if isinstance(part, ast.alias):
        return [(part.asname or part.name).partition(".")[0]]
    names = [getattr(part, "name", None), getattr(part, "rest", None)]
    return [name for name in names if isinstance(name, str)]


def _is_looked_into(node: Def, name: str) -> bool:
    """Whether a function may take apart what `*name` collects, and not only pass or print it."""
    harmless: set[ast.AST] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            harmless.update(
                argument.value
                for argument in part.args
                if isinstance(argument, ast.Starred)
            )
        elif isinstance(part, ast.Expr):  # its value is thrown away
            harmless.update(ast.walk(part))
    return any(_is_name(part, name) and part not in harmless for part in ast.walk(node))
