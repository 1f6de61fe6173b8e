"""BeforeImport and AfterImport: a body function runs beside a module's execution."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from patchkit.errors import TargetError

if TYPE_CHECKING:
    from types import ModuleType

    from patchkit.changes.context import Context
    from patchkit.changes.sites import Site
    from patchkit.rows.declaration import AfterImport, BeforeImport


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


def prepare(change: BeforeImport | AfterImport, context: Context) -> PreparedCall:
    """Find the function in the body."""
    function = context.object_named(change.call)
    if not callable(function):
        raise TargetError(f"{change.kind}({change.module!r}): {change.call!r} is {function!r}")
    module = context.module if change.kind == "AfterImport" else None
    return PreparedCall(function, module)


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
