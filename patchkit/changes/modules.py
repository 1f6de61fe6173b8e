"""
Changes of modules: Provide serves one that upstream lacks; BeforeImport and AfterImport call.

A body function that is called runs beside the module's execution.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from patchkit.changes.owners import MISSING, namespace
from patchkit.errors import TargetError
from patchkit.imports.half_imported import spec_of
from patchkit.imports.supplied_modules import loader_of
from patchkit.rows.declaration import Provide

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchkit.changes.context import Context
    from patchkit.changes.sites import Site
    from patchkit.rows.declaration import AfterImport, BeforeImport

    Fill = Callable[[ModuleType], object]

_IMPORTLIBS = frozenset(
    {
        *("__name__", "__package__", "__loader__", "__spec__", "__file__", "__cached__"),
        *("__path__", "__builtins__"),
    }
)
"""Attributes of a module that say how it was imported."""


def prepare(
    change: Provide | BeforeImport | AfterImport, context: Context
) -> PreparedProvide | PreparedCall:
    """Find what the body has for the module; a TargetError where that cannot serve."""
    if isinstance(change, Provide):
        return _prepared_provide(change, context)
    function = context.object_named(change.call)
    if not callable(function):
        raise TargetError(f"{change.kind}({change.module!r}): {change.call!r} is {function!r}")
    return PreparedCall(function, context.module if change.kind == "AfterImport" else None)


@dataclass
class PreparedCall:
    """A body function that only has to be called."""

    function: Any
    module: ModuleType | None
    sites: tuple[Site, ...] = ()
    _result: object = None

    def apply(self) -> None:
        """Call it; what it returns takes the effect back, if it can be called."""
        takes_module = self.module is not None and _required_arguments(self.function) == 1
        given = (self.module,) if takes_module else ()
        self._result = self.function(*given)

    def undo(self) -> None:
        """Call what the function returned, once."""
        take_back, self._result = self._result, None
        if callable(take_back):
            take_back()


def _required_arguments(function: Any) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a builtin nobody knows
        return 0
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(
        parameter.kind in positional and parameter.default is parameter.empty
        for parameter in parameters
    )


# -- Provide --------------------------------------------------------------------------------------


@dataclass
class PreparedProvide:
    """A module as importlib made it, to be filled; what `fill` returns takes an effect back."""

    module: ModuleType
    patch: str
    body: ModuleType
    fill: Fill
    sites: tuple[Site, ...] = ()
    _former: Any = None
    _is_made: bool = False
    _take_back: Callable[[], object] | None = None

    def apply(self) -> None:
        """Fill the module, and say whose it is; its file is the body's."""
        parent, child = _in_parent(self.module)
        self._former = namespace(parent).get(child, MISSING)
        self._is_made = True
        loader = loader_of(self.module)
        assert loader is not None  # `prepare` has seen it
        loader.patch, loader.body = self.patch, self.body
        file = getattr(self.body, "__file__", None)
        if file is not None:
            self.module.__file__ = spec_of(self.module).origin = file
        result = self.fill(self.module)
        self._take_back = result if callable(result) else None

    def undo(self) -> None:
        """
        Have the module forgotten where it still stands; who holds it may go on using it.

        While it executes (again), it is importlib's: that finds it in `sys.modules` afterwards.
        """
        if not self._is_made:
            return
        self._is_made = False
        parent, child = _in_parent(self.module)
        if namespace(parent).get(child) is self.module:
            if self._former is MISSING:
                delattr(parent, child)
            else:
                setattr(parent, child, self._former)
        loader = loader_of(self.module)
        if loader is not None:
            loader.patch = ""
        is_executing = loader is not None and loader.is_executing
        name = self.module.__name__
        if sys.modules.get(name) is self.module and not is_executing:
            del sys.modules[name]
        take_back, self._take_back = self._take_back, None
        if take_back is not None:
            take_back()


def _prepared_provide(change: Provide, context: Context) -> PreparedProvide:
    assert context.module is not None
    words, loader = f"Provide({change.module!r})", loader_of(context.module)
    if loader is None:
        where = getattr(context.module, "__file__", None) or repr(context.module)
        raise TargetError(
            f"{words}: upstream has this module already, found {where}; expected none. Let the "
            "row's requires end before that release"
        )
    if loader.patch:
        others = f"patch {loader.patch} provides this module already"
        raise TargetError(f"{words}: {others}; expected one patch that does")
    value = context.object_named(change.by)
    fill = _filler(value, context.body)
    if fill is None:
        raise TargetError(
            f"{words}: {change.by} of body {context.body.__name__} is {value!r},"
            " expected a list of names, a module, a class, or a function that takes the module"
        )
    return PreparedProvide(context.module, context.patch, context.body, fill)


def _in_parent(module: ModuleType) -> tuple[Any, str]:
    parent, _, child = module.__name__.rpartition(".")
    return sys.modules.get(parent), child


def _filler(value: object, body: ModuleType) -> Fill | None:
    if isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value):
        missing = [name for name in value if not hasattr(body, name)]
        if missing:
            what = f"body {body.__name__} has no {missing[0]!r}"
            raise TargetError(f"{what}, which is to be provided")
        named = {name: getattr(body, name) for name in value}
        return _with(body, {"__all__": list(value), **named})
    if isinstance(value, ModuleType):
        content = {name: held for name, held in vars(value).items() if name not in _IMPORTLIBS}
        return _with(value, content)
    if isinstance(value, type):
        return _with(value, {name: getattr(value, name) for name in dir(value) if name[0] != "_"})
    return value if callable(value) else None


def _with(source: object, content: dict[str, Any]) -> Fill:
    def fill(module: ModuleType) -> None:
        module.__doc__ = source.__doc__
        for name, value in content.items():
            setattr(module, name, value)

    return fill
