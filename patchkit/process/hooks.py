"""What patchkit itself hooks into upstream: called after an import, or around a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.changes.context import Context
from patchkit.changes.owners import locate
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from patchkit.changes.sites import Sites
    from patchkit.rows.target import Target

    Hook = Callable[[ModuleType], None]


class Hooks:
    """The hooks, by the module after whose import they are called."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self._hooks: dict[str, list[Hook]] = {}

    @property
    def modules(self) -> list[str]:
        """Names of the modules."""
        return list(self._hooks)

    def when_imported(self, name: str, hook: Hook) -> None:
        """Call `hook(module)` after each execution of a module; say so before arming."""
        self._hooks.setdefault(name, []).append(hook)

    def run(self, name: str, module: ModuleType) -> None:
        """Call the hooks of a module that has executed."""
        for hook in self._hooks.get(name, ()):
            hook(module)

    def around(self, module: ModuleType, target: Target, by: Any) -> None:
        """Wrap an upstream function; does nothing where it is not there."""
        from patchkit.changes.objects.wrap import wrapped_at  # noqa: PLC0415 - brings inspect

        try:
            location = locate(module, target.qualname)
            if getattr(location.owner, "__module__", target.module) != target.module:
                return  # only a name for another module's class
            context = Context(module, module, self._sites, rank=(-1, 0))
            ready = wrapped_at([location], by, context, str(target))
        except TargetError:
            return
        ready.apply()
