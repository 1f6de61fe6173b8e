"""A package that a test writes down, read and imported: what Python makes of it is the truth."""

from __future__ import annotations

import importlib
import inspect
import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from patchkit.analysis.upstream.reading.tree import open_installed
from patchkit.analysis.upstream.resolving.resolve import Resolution, Resolver
from patchkit.analysis.upstream.resolving.syntax import Signature, parameter
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


class RealPackage:
    """The package `up`, as files that are read and as modules that are imported.

    Args:
        folder: where its files are written.
        patch: imports it from there, until the test ends.
        modules: the sources of its modules below `up`; `up/__init__.py` is empty.
    """

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, **modules: str) -> None:
        package = folder / "up"
        package.mkdir()
        (package / "__init__.py").touch()
        for name, text in modules.items():
            (package / f"{name}.py").write_text(dedent(text))
        patch.syspath_prepend(folder)
        for name in [one for one in sys.modules if one.partition(".")[0] == "up"]:
            patch.delitem(sys.modules, name)
        self.modules: dict[str, Any] = {}
        for name in modules:
            self.modules[name] = importlib.import_module(f"up.{name}")
        for name in [one for one in sys.modules if one.partition(".")[0] == "up"]:
            del sys.modules[name]
        self._resolver = Resolver(
            open_installed("up", [str(folder)]), python=sys.version_info[:2]
        )

    def resolve(self, module: str, qualname: str) -> Resolution:
        """Return what the source says of a name of a module below `up`."""
        return self._resolver.resolve(Target(f"up.{module}", qualname))

    def has(self, module: str, qualname: str) -> bool:
        """Whether the imported module has a name."""
        value = self.modules[module]
        for name in qualname.split("."):
            if not hasattr(value, name):
                return False
            value = getattr(value, name)
        return True

    def signature(self, module: str, qualname: str) -> Signature:
        """Return how Python says that something is called, as it is stored."""
        value = self.modules[module]
        for name in qualname.split("."):
            value = inspect.getattr_static(value, name)
        found = inspect.signature(getattr(value, "__func__", value))
        return Signature(
            parameter(one.name, int(one.kind), one.default is not one.empty)
            for one in found.parameters.values()
        )
