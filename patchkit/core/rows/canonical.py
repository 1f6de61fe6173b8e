"""Writes values as texts that are the same in every process, for digests that are compared.

`repr` does not do: it may contain an address, and the order of a set differs between processes.
"""

import builtins
import enum
from copyreg import dispatch_table
from types import BuiltinFunctionType, FunctionType, GenericAlias
from typing import Any

from patchkit.errors import CanonicalError

_VOCABULARY = "patchkit.core.rows.declaration"
"""Where `Wrap`, `Role` and others are defined; digests name them as packs import them."""

_LITERALS = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(...),
    type(NotImplemented),
)


def canonical(value: object) -> str:
    """Write a value as text, equal for equal values.

    Args:
        value: Any value.

    Returns:
        The text.

    Raises:
        CanonicalError: The value, or one in it, has no such text, as a lambda has none.
    """
    try:
        return _text(value)
    except RecursionError:
        raise CanonicalError(f"a {type(value).__name__} that holds itself") from None
    except ValueError:  # Python writes numbers of up to 4,300 digits
        raise CanonicalError("a number with more digits than Python writes") from None


def _text(value: Any) -> str:
    """Write a value, and all that it contains; RecursionError if it contains itself."""
    kind = type(value)
    if kind in _LITERALS:
        return repr(value)
    if isinstance(value, enum.Enum):
        return f"{_name(kind)}.{value.name}"
    # In Python 3.10, `list[int]` is an instance of `type`, too; it is a GenericAlias.
    if (
        isinstance(value, (type, FunctionType, BuiltinFunctionType))
        and kind is not GenericAlias
    ):
        return _name(value)
    if isinstance(value, (set, frozenset)):
        return _set_text(value)
    if kind is dict:
        return _call(kind, sorted(map(_item_text, value.items())))
    if kind in {list, tuple}:
        return _call(kind, map(_text, value))
    if hasattr(kind, "__forward_arg__"):  # the ForwardRef in `Optional["Name"]`
        return f"{_name(kind)}({value.__forward_arg__!r})"
    return _reduced(value)


def _item_text(item: tuple[Any, Any]) -> str:
    """Write an item of a dict."""
    key, value = item
    return f"{_text(key)}: {_text(value)}"


def _set_text(value: Any) -> str:
    """Write a set, its members sorted."""
    text = _call(type(value), sorted(map(_text, value)))
    # An instance of a subclass may have attributes.
    attributes = getattr(value, "__dict__", None)
    if attributes:
        text += _text(attributes)
    return text


def _name(value: Any) -> str:
    """Name a class or function by its module and qualname; CanonicalError for a local one."""
    module = value.__module__ or builtins.__name__
    if module == _VOCABULARY:
        module = "patchkit"
    name = f"{module}:{value.__qualname__}"
    if "<" in name:  # `<lambda>`, or `<locals>` of a function
        raise CanonicalError(f"{name}, which has no name of its own")
    return name


def _call(kind: type, texts: Any) -> str:
    return f"{_name(kind)}({', '.join(texts)})"


def _reduced(value: Any) -> str:
    """Write a value as the call that pickle would rebuild it with, and its state."""
    # The class is used, not the value, as `list[int]` passes on the methods of `list`.
    kind: Any = type(value)
    # A function that code has registered with `copyreg` for the class, as `re` does.
    reduce = dispatch_table.get(kind)
    try:
        # Always protocol 4, as the default differs between versions of Python.
        reduced: Any = reduce(value) if reduce else kind.__reduce_ex__(value, 4)
    except Exception as error:
        raise CanonicalError(f"a {kind.__name__}: {error}") from error
    if isinstance(reduced, str):  # the name of a global, such as that of `typing.Any`
        return f"{getattr(value, '__module__', None) or kind.__module__}:{reduced}"
    function, arguments, *state = reduced
    # pickle gives the items of a list's or dict's subclass as iterators, whose content counts.
    parts = [list(part) if hasattr(part, "__next__") else part for part in state]
    texts = map(_text, [*arguments, *parts])
    return f"{_text(function)}({', '.join(texts)})"
