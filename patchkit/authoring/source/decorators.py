"""Tells which decorators of upstream a function keeps that takes the place of another."""

import ast
from collections.abc import Iterable

from patchkit.analysis.upstream.resolving.code_kinds import own_parts
from patchkit.analysis.upstream.resolving.syntax import Def, dotted
from patchkit.authoring.source.definitions import PARTS_OF_PROPERTY

_KINDS = frozenset(
    {
        "staticmethod",
        "classmethod",
        "property",
        "cached_property",
        *PARTS_OF_PROPERTY,
    }
)
"""Decorators that make another kind of method of a function, by the end of their names."""
_CACHES = frozenset({"cache", "lru_cache"})
_CONTEXTS = frozenset({"contextmanager", "asynccontextmanager"})
"""What `Replace` puts around a generator that takes the place of such a function."""
_FOR_TYPES = frozenset({"final", "override"})
_TRANSPARENT = _KINDS | _CACHES | _CONTEXTS | _FOR_TYPES


def kept_decorators(old: Def, new: Def, *, unrelated: bool) -> list[ast.expr]:
    """Return the decorators of a function that hold for what takes its place, too.

    They are those that `Replace` keeps: what kind of method it is, a cache, a context manager.
    Any other decorator is the replacement's own to have.

    Args:
        old: The function.
        new: The function of a body that takes its place.
        unrelated: Whether the row allows another thing in its place.
    """
    names_of_new = set(map(_last_name, new.decorator_list))
    if names_of_new & (_KINDS | _CACHES):
        return []  # `Replace` takes what is no plain function as it is
    kept_names = _FOR_TYPES - names_of_new  # not a second time
    if not unrelated:
        kept_names |= _CACHES
        if _yields(new):
            kept_names |= _CONTEXTS
    decorators: list[ast.expr] = []
    # From the outermost one on. A decorator that is in none of the sets above is dropped, and those
    # beneath it with it, except what says the kind of method.
    is_below_dropped = False
    for decorator in old.decorator_list:
        name = _last_name(decorator)
        is_kind_of_method = name in _KINDS
        if is_kind_of_method or (name in kept_names and not is_below_dropped):
            decorators.append(decorator)
        if name not in _TRANSPARENT:
            is_below_dropped = True
    return decorators


def makes_descriptor(decorators: Iterable[ast.expr]) -> bool:
    """Whether decorators make something else than a plain method.

    Args:
        decorators: The decorators of a function in a class.
    """
    return not _KINDS.isdisjoint(map(_last_name, decorators))


def shapes_functions(decorators: Iterable[ast.expr]) -> bool:
    """Whether decorators are also put around any plain function that replaces theirs.

    Args:
        decorators: The decorators of the function that is replaced.
    """
    return not (_KINDS | _CACHES | _CONTEXTS).isdisjoint(map(_last_name, decorators))


def _last_name(decorator: ast.expr) -> str:
    """Return the end of the dotted name of a decorator, or of what makes it."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return dotted(function).rpartition(".")[2]


def _yields(function: Def) -> bool:
    """Whether a function is a generator."""
    return any(
        isinstance(part, (ast.Yield, ast.YieldFrom)) for part in own_parts(function)
    )
