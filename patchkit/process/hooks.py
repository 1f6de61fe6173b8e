"""The functions of upstream and of the standard library that patchkit itself wraps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.changes.context import Context
from patchkit.changes.owners import locate
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from patchkit.changes.sites import Sites
    from patchkit.rows.target import Target


class Hooks:
    """What to wrap, by module."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self._hooks: dict[str, list[tuple[Target, Any]]] = {}

    @property
    def modules(self) -> list[str]:
        """Names of the modules."""
        return list(self._hooks)

    def wrap(self, target: Target, by: Any) -> None:
        """Wrap a function after each execution of its module; call this before arming."""
        self._hooks.setdefault(target.module, []).append((target, by))

    def run(self, name: str, module: ModuleType) -> None:
        """Wrap the functions of a module that has executed, as far as they exist."""
        for target, by in self._hooks.get(name, ()):
            self._wrap(module, target, by)

    def _wrap(self, module: ModuleType, target: Target, by: Any) -> None:
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
