"""Changes of modules: Provide serves one that upstream lacks; BeforeImport and AfterImport call.

A body function that is called runs beside the module's execution.
"""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

from patchkit.core.rows.declaration import AfterImport, BeforeImport, Provide
from patchkit.errors import TargetError
from patchkit.runtime.changes.context import Context, unwind
from patchkit.runtime.changes.owners import MISSING, namespace
from patchkit.runtime.changes.sites import Site
from patchkit.runtime.imports.half_imported import spec_of
from patchkit.runtime.imports.supplied_modules import loader_of

Fill = Callable[[ModuleType], object]

_IMPORTLIBS = (
    *("__name__", "__package__", "__loader__", "__spec__", "__file__", "__cached__"),
    *("__path__", "__builtins__"),
)
"""Attributes of a module that say how it was imported."""


def prepare(
    change: Provide | BeforeImport | AfterImport, context: Context
) -> "PreparedProvide | PreparedCall":
    """Find what the body has for the module; a TargetError where that cannot serve."""
    if isinstance(change, Provide):
        return _prepared_provide(change, context)
    function = context.object_named(change.call)
    if not callable(function):
        raise TargetError(f"{change.kind}({change.module!r}): {change.call!r} is {function!r}")
    return PreparedCall(function, context.module if change.kind == "AfterImport" else None)


@dataclass
class PreparedCall:
    """A body function that only has to be called; what it returns takes the effect back."""

    function: Any
    module: ModuleType | None
    sites: tuple[Site, ...] = ()
    _result: object = None

    def apply(self) -> None:
        """Call it, with the module if it asks for one."""
        self._result = self.function(*_arguments(self.function, self.module))

    def undo(self) -> None:
        """Call what the function returned, once."""
        take_back, self._result = self._result, None
        if callable(take_back):
            take_back()


def _arguments(function: Any, module: ModuleType | None) -> tuple[ModuleType, ...]:
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a builtin nobody knows
        return ()
    required = [one for one in given if one.default is one.empty]
    takes_one = len(required) == 1 and required[0].kind <= inspect.Parameter.POSITIONAL_OR_KEYWORD
    return (module,) if module is not None and takes_one else ()


@dataclass
class PreparedProvide:
    """A module as importlib made it, to be filled; what `fill` returns takes an effect back."""

    module: ModuleType
    patch: str
    body: ModuleType
    fill: Fill
    sites: tuple[Site, ...] = ()
    _undos: list[Callable[[], Any]] = field(default_factory=list)

    def apply(self) -> None:
        """Fill the module, and say whose it is; its file is the body's."""
        parent, child = _in_parent(self.module)
        self._undos.append(partial(self._forget, namespace(parent).get(child, MISSING)))
        loader = loader_of(self.module)
        assert loader is not None  # `prepare` has seen it
        loader.patch = self.patch
        file = getattr(self.body, "__file__", None)
        if file is not None:
            self.module.__file__ = spec_of(self.module).origin = file
        result = self.fill(self.module)
        if callable(result):
            self._undos.append(result)

    def undo(self) -> None:
        """Take the effect back, and have the module forgotten."""
        if errors := unwind(self._undos):
            raise errors[0]

    def _forget(self, former: Any) -> None:
        """Have the module forgotten where it still stands; who holds it may go on using it.

        While it executes (again), it is importlib's: that finds it in `sys.modules` afterwards.
        """
        parent, child = _in_parent(self.module)
        if namespace(parent).get(child) is self.module:
            if former is MISSING:
                delattr(parent, child)
            else:
                setattr(parent, child, former)
        loader = loader_of(self.module)
        if loader is not None:
            loader.patch = ""
        is_executing = loader is not None and loader.is_executing
        name = self.module.__name__
        if sys.modules.get(name) is self.module and not is_executing:
            del sys.modules[name]


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
