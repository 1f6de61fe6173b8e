"""Describes what a pile has put in the place of something: by its name, and as a row may say it.

The program `observing` loads this file in a child process; it imports nothing but Python's library.
"""

import contextlib
import functools
import inspect
import sys
from collections.abc import Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any

_MISSING = object()
_INNER = ("__func__", "fget", "func", "__wrapped__")
"""The attributes in which descriptors and decorated functions have the function itself."""
_VARIABLE_ARGUMENTS = 0x04 | 0x08
"""Flags of code that takes `*args` or `**kwargs`."""
_RESULTS = (
    inspect.CO_COROUTINE
    | inspect.CO_GENERATOR
    | inspect.CO_ASYNC_GENERATOR
    | inspect.CO_ITERABLE_COROUTINE
)
"""Flags of code that returns something else than it computes, such as a coroutine."""
_KINDS_OF_METHODS = (classmethod, property, functools.cached_property)
"""What a row makes of any function that it puts in the place of one of them."""
_BY_POSITION = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)
"""The kinds of parameters whose arguments may be passed by position."""
_BY_NAME = (
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)
"""The kinds of parameters whose arguments may be passed by name."""
_LITERALS: tuple[type[Any], ...] = (bool, int, float, str, bytes, type(None))
"""The types of values that a statement of a pile may spell out."""
_DEEPEST = 3
"""How many containers may be around a part of such a value."""
_LONGEST = 200
"""How many characters such a value may have."""


def described(difference: Any, names: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Describe a change, and how a row may make it.

    Args:
        difference: The `AttributeDifference`.
        names: The names in modules, as module and name, that are still bound to the original.

    Returns:
        The fields of an `ObservedChange` without its step and its module.
    """
    module, qualname = difference.attribute
    value = difference.value
    original = difference.original
    is_new = difference.is_new
    copies = []
    # Other names of what is no code, such as a number, are no copies: many modules have it.
    if not is_new and is_code(original):
        copies = [":".join(name) for name in names]
    inherited = _inherited(module, qualname)
    form = difference.form
    replaced = inherited if is_new else original
    if form == "attribute" and _changes_kind(value, replaced):
        form = "kind"
    is_unrelated = False
    if not is_new:
        is_unrelated = _is_unrelated(value, original)
    elif inherited is not _MISSING:  # what hides it gets its calls
        is_unrelated = _is_unrelated(value, inherited)
    is_function = _is_a(value, FunctionType) and _is_a(original, FunctionType)
    literal = ""
    if difference.form != "deleted":
        literal = _literal(value)
    return {
        "target": f"{module}:{qualname}",
        "is_new": is_new,
        "by": _name(value),
        "copies": copies,
        "is_inherited": inherited is not _MISSING,
        "is_code": is_code(value),
        "form": form,
        "same_as": difference.same_as,
        "own": _own_path(value),
        "factory": _factory(value, original),
        "is_unrelated": is_unrelated,
        "is_function": is_function,
        "literal": literal,
        "line": _line(value),
    }


def _name(value: Any) -> str:
    """Return the name of a value, as `module:qualname`; the latter is '' where it has none."""
    definition = unwrapped(value)
    module = getattr(definition, "__module__", "")
    qualname = getattr(definition, "__qualname__", "")
    if not isinstance(module, str) or not isinstance(qualname, str):
        return ":"
    return f"{module}:{qualname}"


def _line(value: Any) -> int:
    """Return the line on which a function begins; -1 if it is in no file, and 0 for no function."""
    code: Any = getattr(unwrapped(value), "__code__", None)
    if not _is_a(code, CodeType):
        return 0
    if code.co_filename.startswith("<"):
        return -1
    return int(code.co_firstlineno)


def _literal(value: Any) -> str:
    """Return a value as a statement spells it out; '' for what is none of Python's plain types."""
    if not _is_plain(value, 0):
        return ""
    text = repr(value)
    if len(text) > _LONGEST:
        return ""
    return text


def _is_plain(value: Any, depth: int) -> bool:
    """Return whether a value is of a plain type, or a container of such values."""
    if type(value) in _LITERALS:
        return True
    parts: list[Any] = []
    if type(value) is dict:
        parts = [*value, *value.values()]
    elif type(value) in (tuple, list):
        parts = list(value)
    else:
        return False
    if depth > _DEEPEST or len(parts) > _LONGEST:
        return False
    return all(_is_plain(part, depth + 1) for part in parts)


def _is_a(value: Any, kinds: type[Any] | tuple[type[Any], ...]) -> bool:
    """As `isinstance`, which would run the code of a proxy to ask for its class."""
    return issubclass(type(value), kinds)


def is_code(value: Any) -> bool:
    """Whether a value is code or a descriptor, rather than a module or plain data.

    Args:
        value: The value.
    """
    if _is_a(value, ModuleType):
        return False
    if callable(value):
        return True
    return hasattr(type(value), "__get__")


def unwrapped(value: Any) -> Any:
    """Return the function inside of a static method, a property or another descriptor.

    It goes on from wrapper to wrapper until it finds a function or a class.

    Args:
        value: The descriptor; anything else is returned as it is.
    """
    if _is_a(value, (FunctionType, type)):
        return value
    for name in _INNER:
        with contextlib.suppress(Exception):
            # Not `getattr`, which would run a `__getattr__` of the pile.
            return unwrapped(object.__getattribute__(value, name))
    return value


def _inherited(module: str, qualname: str) -> Any:
    """Return what a base of a class has under the name of an attribute; _MISSING for nothing."""
    owner: Any = sys.modules.get(module)
    *outer, name = qualname.split(".")
    for part in outer:
        owner = getattr(owner, "__dict__", {}).get(part)
    if not outer or not _is_a(owner, type):
        return _MISSING
    for base in owner.__mro__[1:]:
        if name in vars(base):
            return vars(base)[name]
    return _MISSING


def _own_path(value: Any) -> str:
    """Return where an import finds a function or a class, as `module:qualname`; '' if none does."""
    if not _is_a(value, (FunctionType, type)):
        return ""
    if _is_a(value, FunctionType):
        # `functools.wraps` gives a function the name and the module of another one.
        own_module = value.__globals__.get("__name__")
        if own_module != value.__module__:
            return ""
    name = value.__qualname__
    # In a class or a function, no `from module import name` finds it.
    if "." in name:
        return ""
    module: Any = sys.modules.get(value.__module__)
    imported = getattr(module, "__dict__", {}).get(name)
    if imported is not value:
        return ""
    return f"{value.__module__}:{name}"


def _factory(value: Any, original: Any) -> str:
    """Return the function that has made a value of the original: `wrap` in `lib.f = wrap(lib.f)`.

    It is a function of a module and takes one parameter, which the value, a function defined inside
    of it, keeps.

    Returns:
        The function, as `module:name`; '' where there is none.
    """
    if not _is_a(value, FunctionType) or not _is_a(original, FunctionType):
        return ""
    code = value.__code__
    # `functools.wraps` gives the closure the original's `__qualname__`, but not its code's.
    path = getattr(code, "co_qualname", value.__qualname__)
    name = path.partition(".<locals>.")[0]
    factory = value.__globals__.get(name)
    if not _is_a(factory, FunctionType) or not _takes_one_argument(factory):
        return ""
    factory_code = factory.__code__
    # The code of a function that is defined inside of another one is a constant of that one.
    is_defined_inside = any(constant is code for constant in factory_code.co_consts)
    if not is_defined_inside:
        return ""
    parameter = factory_code.co_varnames[0]
    if _kept_by(value, parameter) is not original:
        return ""
    module = str(value.__globals__.get("__name__", ""))
    return f"{module}:{name}"


def _takes_one_argument(function: FunctionType) -> bool:
    """Whether a function has one parameter, and no `*args` or `**kwargs`."""
    code = function.__code__
    if code.co_flags & _VARIABLE_ARGUMENTS:
        return False
    return code.co_argcount == 1 and not code.co_kwonlyargcount


def _kept_by(closure: FunctionType, variable: str) -> Any:
    """Return what a closure keeps in a variable of the function around it; None where nothing."""
    names = closure.__code__.co_freevars
    for name, cell in zip(names, closure.__closure__ or (), strict=True):
        if name == variable:
            with contextlib.suppress(ValueError):  # the cell is empty
                return cell.cell_contents
    return None


def _is_unrelated(value: Any, original: Any) -> bool:
    """Return whether a class does not derive from the original, or refuses its arguments."""
    if _is_a(original, type):
        # By `__mro__`: a metaclass may refuse `issubclass`, as that of a TypedDict does.
        return not _is_a(value, type) or original not in value.__mro__
    if _is_a(original, FunctionType) and _is_a(value, FunctionType):
        if _returns_another_kind(value, original):
            return True
        return not _takes_calls_of(value, original)
    return is_code(original)


def _changes_kind(value: Any, original: Any) -> bool:
    """Return whether a plain method takes the place of a class method, a property or the like.

    A row would make another one of that kind of it. A static method counts if its replacement is
    given an instance.
    """
    if not _is_a(value, FunctionType):
        return False
    if _is_a(original, staticmethod):
        code: CodeType = value.__code__
        return code.co_varnames[: code.co_argcount][:1] == ("self",)
    return _is_a(original, _KINDS_OF_METHODS)


def _returns_another_kind(value: FunctionType, original: FunctionType) -> bool:
    """Return whether one of two functions gives a coroutine, a generator or the like.

    Of a decorated function that is not known, and no row asks for it.
    """
    for function in (value, original):
        if hasattr(function, "__wrapped__"):
            return False
    found = value.__code__.co_flags & _RESULTS
    expected = original.__code__.co_flags & _RESULTS
    return found != expected


def _takes_calls_of(value: FunctionType, original: FunctionType) -> bool:
    """Return whether a function takes the calls that another one takes.

    These are a call with what has no default, one with all parameters, and one with their names,
    but for the first, which may be `self`.
    """
    try:
        parameters = list(inspect.signature(original).parameters.values())
        accepted = inspect.signature(value)
    except (TypeError, ValueError):
        return False
    required = [each for each in parameters if each.default is each.empty]
    by_position = [each for each in parameters if each.kind in _BY_POSITION]
    calls = [
        _arguments(required, len(required)),
        _arguments(parameters, len(parameters)),
        _arguments(parameters, len(by_position[:1])),
    ]
    for positional, words in calls:
        try:
            accepted.bind(*positional, **words)
        except TypeError:
            return False
    return True


def _arguments(
    parameters: Iterable[inspect.Parameter], most: int
) -> tuple[list[None], dict[str, None]]:
    """Return arguments for parameters, by position and by name.

    Args:
        parameters: The parameters.
        most: How many are passed by position, at most.
    """
    positional = list[None]()
    words: dict[str, None] = {}
    for each in parameters:
        is_only_positional = each.kind is each.POSITIONAL_ONLY
        if is_only_positional or (each.kind in _BY_POSITION and len(positional) < most):
            positional.append(None)
        elif each.kind in _BY_NAME:
            words[each.name] = None
    return positional, words
