"""Compares the attributes of modules and classes before and after a pile is imported.

A pile is a package that patches upstream as it is imported. `observed` runs this file as a program
in a child process; it imports nothing but Python's library.
"""

import contextlib
import importlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any

_INNER = ("__func__", "fget", "func", "__wrapped__")
"""The attributes in which descriptors and decorated functions have the function itself."""
_MISSING = object()

Attribute = tuple[str, str]
"""An attribute: its module, and its qualified name there."""

Attributes = Mapping[Attribute, Any]
"""The values of attributes."""


def main() -> None:
    """Read the request from standard input, and write the answer into the file that it names."""
    request = json.load(sys.stdin)
    faults_of_first = _import(request["first"])
    faults = dict(faults_of_first)
    # Only now: modules that can be imported without stubs shall not find them.
    stub_finder = _StubFinder(request["stubs"])
    sys.meta_path.append(stub_finder)
    faults_of_stubs = _import(request["stubs"])
    faults |= dict(faults_of_stubs)
    packages = request["packages"]
    before = dict(_attributes(packages))
    faults_of_pile = _import(request["modules"])
    faults |= dict(faults_of_pile)
    after = dict(_attributes(packages))
    changes = list(_changes(before, after))
    answer = {"faults": faults, "changes": changes}
    # Not by pathlib: this file imports as little as it can.
    with open(request["answer"], "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(answer, file)


def _changes(before: Attributes, after: Attributes) -> Iterator[dict[str, Any]]:
    """Describe the attributes that differ, of modules and classes that existed before."""
    owners = {_owner(attribute) for attribute in before}
    for attribute, value in after.items():
        original = before.get(attribute, _MISSING)
        if original is value:
            continue
        owner = _owner(attribute)
        if owner in owners and is_code(value):
            yield described(attribute, value, before, after)


def _owner(attribute: Attribute) -> Attribute:
    """Return the class or the module that has an attribute; a module has the qualname ''."""
    module, qualname = attribute
    owner = qualname.rpartition(".")[0]
    return module, owner


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

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        value = _stub(name, self.__name__)
        setattr(self, name, value)
        return value


class _StubFinder:
    """A finder and loader of stubs for packages, and for all modules inside of them.

    Args:
        packages: The packages that become stubs where they cannot be imported.
    """

    def __init__(self, packages: Iterable[str]) -> None:
        self._packages = tuple(packages)

    def find_spec(self, name: str, *_: object) -> Any:
        """Return a spec for a module of these packages; None for any other module."""
        path = f"{name}."
        for package in self._packages:
            prefix = f"{package}."
            if path.startswith(prefix):
                return ModuleSpec(name, self)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: Any) -> ModuleType:
        """Make the stub."""
        return _StubModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing: a stub has no code."""


def _import(modules: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Import modules one after another, and yield those that fail, with their errors."""
    for module in modules:
        try:
            importlib.import_module(module)
        except BaseException as error:  # noqa: BLE001 - the pile may raise anything
            error_name = type(error).__name__
            yield module, f"{error_name}: {error}"


def _attributes(packages: Iterable[str]) -> Iterator[tuple[Attribute, Any]]:
    """Yield the attributes of the loaded modules of packages, and of the classes defined there."""
    tops = set(packages)
    loaded_modules = sorted(sys.modules.items())
    for name, module in loaded_modules:
        top = name.partition(".")[0]
        if top not in tops or type(module) is _StubModule:
            continue
        namespace = getattr(module, "__dict__", {})
        for key, value in list(namespace.items()):
            yield (name, key), value
            if isinstance(value, type) and value.__module__ == name:
                for member, member_value in vars(value).items():
                    qualname = f"{key}.{member}"
                    yield (name, qualname), member_value


def is_code(value: object) -> bool:
    """Whether a value is code or a descriptor, rather than a module or plain data.

    Args:
        value: The value.
    """
    if isinstance(value, ModuleType):
        return False
    if callable(value):
        return True
    return hasattr(type(value), "__get__")


def described(
    attribute: Attribute, value: Any, before: Attributes, after: Attributes
) -> dict[str, Any]:
    """Describe a change for the answer.

    Args:
        attribute: The attribute that has changed.
        value: Its value now.
        before: All attributes before the pile was imported.
        after: All attributes now.

    Returns:
        The fields of an `ObservedChange`.
    """
    original = before.get(attribute, _MISSING)
    copies = []
    for other, other_value in after.items():
        if other_value is not original:
            continue
        _, qualname_of_other = other
        is_of_module = "." not in qualname_of_other
        # Copies are names of modules, as `from lib import f` makes them; members of classes, and
        # what is no code, such as a number that many modules have, do not count.
        if is_of_module and is_code(other_value):
            copies.append(":".join(other))
    inner = unwrapped(value)
    module = getattr(inner, "__module__", "")
    qualname = getattr(inner, "__qualname__", "")
    return {
        "target": ":".join(attribute),
        "is_new": original is _MISSING,
        "by": f"{module}:{qualname}",
        "copies": copies,
    }


def unwrapped(value: Any) -> Any:
    """Return the function inside of a static method, a property or another descriptor.

    It goes on from wrapper to wrapper until it finds a function or a class.

    Args:
        value: The descriptor; anything else is returned as it is.
    """
    if isinstance(value, (FunctionType, type)):
        return value
    for name in _INNER:
        with contextlib.suppress(Exception):
            # Not `getattr`, which would run a `__getattr__` of the pile.
            return unwrapped(object.__getattribute__(value, name))
    return value


if __name__ == "__main__":
    # Python puts the folder of this file first: its modules would hide others of their names.
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]
    main()
