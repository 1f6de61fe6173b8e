"""Fakes modules that cannot be imported, in the child process that observes a pile."""

from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _StubType(type):
    """The type of stubs: classes that have any attribute and can be used as decorators."""

    def __getattr__(cls, name: str) -> Any:
        """Return another stub for any attribute that is missing."""
        return _stub(name, cls.__module__)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return what is decorated, if it is called like a decorator; else an instance."""
        is_decorator = len(args) == 1 and callable(args[0])
        if is_decorator:
            return args[0]
        return super().__call__(*args, **kwargs)


def _stub(name: str, module: str) -> type:
    """Make a class that stands for a name of a module that cannot be imported.

    Raises:
        AttributeError: Python itself asks for a special name, which a stub must not have.
    """
    if name.startswith("__"):
        raise AttributeError(name)
    members = {"__init__": lambda *_, **__: None, "__module__": module}
    return _StubType(name, (), members)


class _StubModule(ModuleType):
    """An empty package that stands for one that cannot be imported; it has any attribute."""

    is_stub = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        value = _stub(name, self.__name__)
        setattr(self, name, value)
        return value


class StubFinder:
    """A finder and loader of stubs for packages, and for all modules inside of them.

    Args:
        packages: The packages that become stubs where they cannot be imported.
    """

    def __init__(self, packages: Iterable[str]) -> None:
        self._packages = tuple(packages)

    def find_spec(self, name: str, *_: object) -> Any:
        """Return a spec for a module of these packages.

        Args:
            name: The module.

        Returns:
            The spec; None for any other module.
        """
        path = f"{name}."
        for package in self._packages:
            prefix = f"{package}."
            if path.startswith(prefix):
                return ModuleSpec(name, self)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: Any) -> ModuleType:
        """Return the stub.

        Args:
            spec: What `find_spec` has returned.
        """
        return _StubModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing: a stub has no code.

        Args:
            module: The stub.
        """
