"""Modules that no other finder finds and a patch serves: their specs and their loader."""

from __future__ import annotations

from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, cast

from patchkit.imports.half_imported import spec_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Serve = Callable[[str, ModuleType], bool]


class ProvidedLoader:
    """
    Loads a module by having it served.

    Args:
        name: the module's full name.
        serve: fills the module; says whether anybody did.
        package: further modules are provided beneath it.

    """

    def __init__(self, name: str, serve: Serve, *, package: bool) -> None:
        self.name = name
        # Whose it is, and where its content comes from, once it is filled.
        self.patch = ""
        self.body: ModuleType | None = None
        self.is_executing = False
        self._serve = serve
        self._package = package

    def create_module(self, spec: ModuleSpec) -> None:
        """Let importlib make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """
        Fill the module.

        Raises:
            ModuleNotFoundError: the patch is not for here after all.

        """
        self.is_executing = True
        try:
            if not self._serve(self.name, module):
                raise not_found(self.name)
        finally:
            self.is_executing = False

    def is_package(self, name: str) -> bool:
        """Whether further modules are provided beneath it."""
        return name == self.name and self._package

    def get_source(self, name: str) -> str | None:
        """Return the body's source: what `__file__` names."""
        get = getattr(getattr(self.body, "__loader__", None), "get_source", None)
        if get is None or self.body is None or name != self.name:
            return None
        return cast("str | None", get(self.body.__name__))


def spec_provided(name: str, serve: Serve, *, package: bool) -> ModuleSpec:
    """Make the spec of a module that a body serves, with a ProvidedLoader."""
    loader: Any = ProvidedLoader(name, serve, package=package)
    return ModuleSpec(name, loader, is_package=package)


def loader_of(module: ModuleType) -> ProvidedLoader | None:
    """Return the loader of a module that is provided; None where it is somebody else's."""
    loader = getattr(spec_of(module), "loader", None)
    return loader if isinstance(loader, ProvidedLoader) else None


def is_served(module: ModuleType) -> bool:
    """Whether a patch has filled a module that is provided, and has not been taken back."""
    loader = loader_of(module)
    return loader is not None and loader.patch != ""


def not_found(name: str) -> ModuleNotFoundError:
    """Make the error that Python raises where there is no such module."""
    return ModuleNotFoundError(f"No module named {name!r}", name=name)
