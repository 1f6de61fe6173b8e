"""What a pile changes as it is imported: attributes of modules and classes, before and after.

This file is also the program of the child in which that happens; it needs Python alone.
"""

import contextlib
import importlib
import json
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any

_INNER = ("__func__", "fget", "func", "__wrapped__")
_MISSING = object()


def main() -> None:
    """Read the request from standard input, and write the answer where that says."""
    asked = json.load(sys.stdin)
    faults = dict(_import(asked["first"]))
    sys.meta_path.append(_Stubs(asked["stubs"]))  # late: whoever can do without, does
    faults |= dict(_import(asked["stubs"]))
    before = dict(_attributes(asked["packages"]))
    faults |= dict(_import(asked["modules"]))
    after = dict(_attributes(asked["packages"]))
    owners = {(module, name.rpartition(".")[0]) for module, name in before}
    new = [(place, one) for place, one in after.items() if before.get(place, _MISSING) is not one]
    known = [each for each in new if (each[0][0], each[0][1].rpartition(".")[0]) in owners]
    changes = [told(place, one, before, after) for place, one in known if matters(one)]
    with open(asked["answer"], "w", encoding="utf-8") as file:  # noqa: PTH123 - as light as can be
        json.dump({"faults": faults, "changes": changes}, file)


class _StubType(type):
    """A class that has whatever it is asked for; called with a function, it is a decorator."""

    def __getattr__(cls, name: str) -> Any:
        return _stub(name, cls.__module__)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        is_decorator = len(args) == 1 and callable(args[0])
        return args[0] if is_decorator else super().__call__(*args, **kwargs)


def _stub(name: str, module: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return _StubType(name, (), {"__init__": lambda *_, **__: None, "__module__": module})


class _Stub(ModuleType):
    """A module that has whatever it is asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        value = _stub(name, self.__name__)
        setattr(self, name, value)
        return value


class _Stubs:
    """Finds modules that are not here, and all below them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def find_spec(self, name: str, *_: object) -> Any:
        """Say that there is such a module, if its package is to be a stub."""
        is_ours = any(f"{name}.".startswith(f"{one}.") for one in self._names)
        return ModuleSpec(name, self) if is_ours else None  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> ModuleType:
        """Make it."""
        return _Stub(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leave it as it is."""


def _import(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException as error:  # noqa: BLE001 - whatever the pile raises is told
            yield name, f"{type(error).__name__}: {error}"


def _attributes(packages: Iterable[str]) -> Iterator[tuple[tuple[str, str], Any]]:
    tops = set(packages)
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] in tops and type(module) is not _Stub:
            for key, value in list(getattr(module, "__dict__", {}).items()):
                yield (name, key), value
                if isinstance(value, type) and value.__module__ == name:
                    yield from (((name, f"{key}.{one}"), held) for one, held in vars(value).items())


def matters(value: object) -> bool:
    """Whether a value is code, or gives some: not a module, nor data."""
    is_module = isinstance(value, ModuleType)
    return not is_module and (callable(value) or hasattr(type(value), "__get__"))


def told(place: tuple[str, str], value: Any, before: Any, after: Any) -> dict[str, Any]:
    """Describe a change: what is there now, and which copies of the original are left."""
    original = before.get(place, _MISSING)
    held = [place for place, one in after.items() if one is original and matters(one)]
    copies = [":".join(place) for place in held if "." not in place[1]]
    inner = unwrapped(value)
    return {
        "target": ":".join(place),
        "is_new": original is _MISSING,
        "by": f"{getattr(inner, '__module__', '')}:{getattr(inner, '__qualname__', '')}",
        "copies": copies,
    }


def unwrapped(value: Any) -> Any:
    """Return the function in a static method, a property or another that holds one."""
    if not isinstance(value, (FunctionType, type)):
        for name in _INNER:
            with contextlib.suppress(Exception):
                return unwrapped(object.__getattribute__(value, name))
    return value


if __name__ == "__main__":
    # Its neighbours here are no modules of the pile's.
    sys.path[: not getattr(sys.flags, "safe_path", False)] = []
    main()
