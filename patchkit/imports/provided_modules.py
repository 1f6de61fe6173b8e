"""Specs and loader of modules that only a patch provides."""

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
    Loads a module that a patch provides.

    Args:
        name: the module's full name.
        serve: fills the module; returns whether a patch did.
        package: whether modules below it are provided too.

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
        """Let importlib create the module."""

    def exec_module(self, module: ModuleType) -> None:
        """
        Fill the module.

        Raises:
            ModuleNotFoundError: the patch does not apply here after all.

        """
        self.is_executing = True
        try:
            if not self._serve(self.name, module):
                raise not_found(self.name)
        finally:
            self.is_executing = False

    def is_package(self, name: str) -> bool:
        """Whether modules below it are provided too."""
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
    """Return the loader of a provided module; None for any other module."""
    loader = getattr(spec_of(module), "loader", None)
    return loader if isinstance(loader, ProvidedLoader) else None


def is_served(module: ModuleType) -> bool:
    """Whether a patch has filled this module, and has not been undone."""
    loader = loader_of(module)
    return loader is not None and loader.patch != ""


def not_found(name: str) -> ModuleNotFoundError:
    """Make the error that Python raises for a missing module."""
    return ModuleNotFoundError(f"No module named {name!r}", name=name)


def refuse_withdrawn(name: str, module: ModuleType) -> None:
    """Fail the import of a module that was served by a patch whose other changes have failed."""
    if loader_of(module) is not None and not is_served(module):
        raise not_found(name)
