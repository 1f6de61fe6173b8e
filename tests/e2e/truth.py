"""
Ask imported vLLM and its source the same questions, and say where the answers differ.

Run as a process of its own: it imports hundreds of vLLM's modules. Prints JSON.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import functools
import importlib
import inspect
import io
import json
import random
import re
import sys
import types
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from patchkit.changes.resolve import MISSING, locate_free
from patchkit.errors import TargetError
from patchkit.target import Target, steps_of
from patchkit.upstream.resolving.module_tree import module_name
from patchkit.upstream.resolving.resolve import Resolution, Resolver
from patchkit.upstream.resolving.signature import Signature, of_inspected
from patchkit.upstream.resolving.values import Kind

FUNCTION_KINDS = {Kind.FUNCTION, Kind.ASYNC_FUNCTION, Kind.METHOD, Kind.ASYNC_METHOD}
CALLED = FUNCTION_KINDS | {Kind.STATICMETHOD, Kind.CLASSMETHOD, Kind.CLASS, Kind.CACHED_FUNCTION}
VALUES = {"constant", "field"}
MACHINERY = re.compile(
    r"_abc_impl|_is_(runtime_)?protocol|_.*_map_|_.*_(values|type|repr|member|names)_|_fields|_field_defaults|_generate_next_value_|_use_args_"
)
"""Names that Python's own classes give to each class that derives from them."""


UNIQUE = {"__init__", "model_post_init", "model_config", "_replace", "_asdict", "_make"}
"""What Python's own classes write anew for each class that derives from them."""


class Installed:
    """vLLM as it lies in site-packages."""

    version = None

    def __init__(self, root: Path) -> None:
        self.name = str(root)
        self._root = root
        self._paths = frozenset(
            one.relative_to(root).as_posix() for one in (root / "vllm").rglob("*.py")
        )

    def read(self, path: str) -> bytes | None:
        return (self._root / path).read_bytes() if path in self._paths else None

    def has(self, path: str) -> bool:
        return path in self._paths or (self._root / path).is_file()

    def paths(self) -> frozenset[str]:
        return self._paths

    def mark(self, path: str) -> Any:
        return None

    def prefetch(self, paths: Any) -> None:
        return None


def import_some(names: list[str], wanted: int) -> tuple[list[str], dict[str, str]]:
    """Import modules until there are enough; also say which do not import, and why."""
    imported: list[str] = []
    failed: dict[str, str] = {}
    for name in names:
        if len(imported) == wanted:
            break
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                importlib.import_module(name)
        except BaseException as error:
            failed[name] = f"{type(error).__name__}: {error}"[:200]
        else:
            imported.append(name)
    return imported, failed


def candidates(module: types.ModuleType, tree: ast.Module, chance: random.Random) -> list[str]:
    """List what may be asked about a module: what is there, what seems to be, what is not."""
    names = [name for name in vars(module) if not name.startswith("__")]
    names += [name for name in seeming(tree) if name not in names]
    names += [f"{one}_not_there" for one in names[:2]] + ["NoSuchName"]
    for name, value in list(vars(module).items()):
        if isinstance(value, type) and value.__module__ == module.__name__:
            own = [one for one in vars(value) if one.isidentifier() and not is_dunder(one)]
            bases = [
                one for base in value.__mro__[1:-1] for one in vars(base) if not is_dunder(one)
            ]
            chosen = own + chance.sample(bases, min(3, len(bases))) + ["no_such_member", "__init__"]
            chosen += seeming_members(tree, name)
            names += [f"{name}.{one}" for one in dict.fromkeys(chosen)]
        elif isinstance(value, (dict, list)) and not name.startswith("__"):
            keys = list(value)[:3] if isinstance(value, dict) else list(range(len(value)))[:3]
            names += [f"{name}[{key!r}]" for key in keys if isinstance(key, (str, int))]
            names += [f"{name}['no such key']"] if isinstance(value, dict) else []
    return names


def seeming(tree: ast.Module) -> list[str]:
    """List names that a module's source binds somewhere, whether or not it does when it runs."""
    found = []
    for one in ast.walk(tree):
        if isinstance(one, ast.If) and "TYPE_CHECKING" in ast.unparse(one.test):
            for inner in one.body:
                aliases = getattr(inner, "names", ())
                found += [(alias.asname or alias.name).split(".")[0] for alias in aliases]
    return [name for name in dict.fromkeys(found) if name.isidentifier()]


def seeming_members(tree: ast.Module, name: str) -> list[str]:
    """List what a class's source seems to give it: annotations, attributes of instances."""
    for one in tree.body:
        if isinstance(one, ast.ClassDef) and one.name == name:
            found = [
                node.attr
                for node in ast.walk(one)
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            ]
            found += [
                node.target.id
                for node in one.body
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
            ]
            return [one for one in dict.fromkeys(found) if not one.startswith("__")]
    return []


def is_dunder(name: str) -> bool:
    return name.startswith("__") or MACHINERY.fullmatch(name) is not None


def runtime_kind(value: Any, owner: Any) -> str:
    """Name what a stored value is, in the words of the static kinds."""
    in_class = isinstance(owner, type)
    for kind, name in (
        (staticmethod, "staticmethod"),
        (classmethod, "classmethod"),
        (property, "property"),
        (functools.cached_property, "cached property"),
        (types.ModuleType, "module"),
        (type, "class"),
    ):
        if isinstance(value, kind):
            return name
    if isinstance(value, types.FunctionType):
        is_async = inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value)
        what = "async " if is_async else ""
        return what + ("method" if in_class else "function")
    if type(value) is type(functools.cache(len)):
        return "cached function"
    if type(value).__name__ in ("member_descriptor", "_tuplegetter"):
        return "field"
    return "constant"


def runtime_signature(value: Any) -> Signature | None:
    """Read the signature of a stored value."""
    function = ask(value, "__func__", value)
    function = ask(function, "fget") or ask(function, "func") or function
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return of_inspected(inspect.signature(function))
    except Exception:  # stand-ins for missing packages raise what they like
        return None


def ask(value: Any, name: str, default: Any = "") -> Any:
    """Read an attribute of anything, which may raise anything."""
    try:
        return getattr(value, name, default)
    except Exception:
        return default


class Judge:
    """
    Compares one answer at a time.

    Args:
        resolver: for the source.

    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    def row(self, module: str, qualname: str) -> dict[str, Any] | None:
        target = Target(module, qualname)
        static = self._resolver.resolve(target)
        try:
            place = locate_free(sys.modules[module], qualname)
            owner, value = place.owner, place.value
        except TargetError:
            owner, value = None, MISSING
        except Exception:  # a lazy name whose module does not import here cannot be asked
            return None
        undecided, wrong = self._compare(static, owner, value)
        return {
            "target": str(target),
            "static": f"{static.state}, {static.kind}, {static.module}:{static.qualname}"
            f"{static.signature or ''}",
            "reason": static.reason,
            "runtime": "missing"
            if value is MISSING
            else f"{runtime_kind(value, owner)}, {type(value).__name__}, "
            f"{ask(value, '__module__')}:{ask(value, '__qualname__')}"
            f"{runtime_signature(value) or ''}",
            "undecided": undecided,
            "wrong": wrong,
        }

    def _compare(self, static: Resolution, owner: Any, value: Any) -> tuple[list[str], list[str]]:
        if static.state == "undecidable":
            return ["state"], []
        if static.is_optional and (value is None or value is MISSING):
            return ["optional"], []  # it was told to depend on an import, which fails here
        there = value is not MISSING
        if static.kind is Kind.FIELD and static.state == "present" and not static.is_sure:
            return ["attribute"], []
        if static.kind is Kind.FIELD and static.state == "present" and not static.attribute:
            return [], self._field(static, owner, there=there)
        if (static.state == "present") is not there:
            return [], ["state"]
        return self._compare_present(static, owner, value) if there else ([], [])

    def _compare_present(
        self, static: Resolution, owner: Any, value: Any
    ) -> tuple[list[str], list[str]]:
        if static.kind is Kind.ASSIGNMENT and len(static.variants) == 1:
            return ["value"], [] if self._is_assigned(static, value) else ["kind"]
        if not static.is_sure:
            return ["kind"], []
        undecided: list[str] = []
        wrong = [] if self._same_kind(static, owner, value) else ["kind"]
        if not self._same_place(static, value):
            wrong.append("module")
        if static.kind in CALLED:
            answer = self._same_signature(static, value)
            if answer is None:
                undecided.append("signature")
            elif not answer:
                wrong.append("signature")
        return undecided, wrong

    def _is_assigned(self, static: Resolution, value: Any) -> bool:
        """Whether a value is not one that a `def` or `class` of that name makes."""
        made_here = (ask(value, "__module__"), ask(value, "__qualname__"))
        return made_here != (static.module, static.qualname)

    def _field(self, static: Resolution, owner: Any, *, there: bool) -> list[str]:
        name = steps_of(static.target.qualname)[-1]
        if there:
            return ["attribute"]
        known = set(getattr(owner, "model_fields", ())) | set(
            getattr(owner, "__private_attributes__", ())
        )
        if dataclasses.is_dataclass(owner):
            known |= {one.name for one in dataclasses.fields(owner)}
            known |= set(owner.__dataclass_fields__)
        known |= set(getattr(owner, "__annotations__", ())) if issubclass(owner, dict) else set()
        return [] if name in known else ["field"]

    def _same_kind(self, static: Resolution, owner: Any, value: Any) -> bool:
        found = runtime_kind(value, owner)
        if static.kind in (Kind.CONSTANT, Kind.ASSIGNMENT):
            return found in VALUES
        if static.kind is Kind.OUTSIDE:
            return self._is_outside(static, owner, value)
        if static.kind in (Kind.FIELD, Kind.ITEM, Kind.GENERATED):
            return True
        return found == str(static.kind)

    def _is_outside(self, static: Resolution, owner: Any, value: Any) -> bool:
        name = static.target.qualname.rpartition(".")[2]
        if isinstance(owner, type) and static.module:  # inherited from a class outside
            holder = next((one for one in owner.__mro__ if name in vars(one)), None)
            return holder is None or not holder.__module__.startswith("vllm") or name in UNIQUE
        return find(static.variants[0].dotted) is value

    def _same_place(self, static: Resolution, value: Any) -> bool:
        """Whether what stands where the source says it is defined is the very object."""
        if static.kind in (Kind.OUTSIDE, Kind.ITEM, Kind.FIELD, Kind.GENERATED):
            return True
        if static.kind is Kind.MODULE:
            return value is sys.modules.get(static.module)
        return any(
            self._stands_at(one.module, one.qualname, static, value) for one in static.variants
        )

    def _stands_at(self, module: str, qualname: str, static: Resolution, value: Any) -> bool:
        try:
            found = locate_free(importlib.import_module(module), qualname).value
        except Exception:  # it is defined in a module that does not import here
            return False
        if found is not value and not plain_equal(found, value):
            return False
        function = ask(value, "__func__", value)
        if static.kind in FUNCTION_KINDS | {Kind.STATICMETHOD, Kind.CLASSMETHOD, Kind.CLASS}:
            return ask(function, "__module__", None) in (module, None)
        return True

    def _same_signature(self, static: Resolution, value: Any) -> bool | None:
        if static.signature is None:
            return None
        found = runtime_signature(value)
        if isinstance(value, type) and str(found) == "(*args, **kwargs)":
            # inspect stops at a __new__ that leaves it to __init__ to say more
            started = runtime_signature(inspect.getattr_static(value, "__init__"))
            found = started.bound() if started else None
        if str(found) == "(**data)":
            return None  # a model that pydantic has not built yet
        return None if found is None else found == static.signature


def plain_equal(one: Any, two: Any) -> bool:
    return type(one) is type(two) and isinstance(one, (int, str, float, tuple)) and one == two


def find(dotted: str) -> Any:
    """Import a dotted name's module and return what it names."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for name in parts[cut:]:
            found = (
                inspect.getattr_static(found, name, None)
                if isinstance(found, type)
                else getattr(found, name, None)
            )
        return found
    return None


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=32)
    options.add_argument("--modules", type=int, default=300)
    options.add_argument("--targets", type=int, default=2000)
    given = options.parse_args()
    chance = random.Random(given.seed)
    import vllm

    source = Installed(Path(vllm.__file__).parents[1])
    names = sorted(module_name(path) for path in source.paths() if "__main__" not in path)
    chance.shuffle(names)
    imported, failed = import_some(names, given.modules)
    judge = Judge(Resolver(source, python=sys.version_info[:2], system=sys.platform))
    asked = []
    for name in imported:
        path = Path(sys.modules[name].__file__ or "")
        tree = ast.parse(path.read_bytes()) if path.suffix == ".py" else ast.Module([], [])
        asked += [(name, one) for one in candidates(sys.modules[name], tree, chance)]
    chance.shuffle(asked)
    rows = []
    for name, qualname in asked[: given.targets]:
        try:
            steps_of(qualname)
        except ValueError:
            continue
        row = judge.row(name, qualname)
        rows += [row] if row else []
    totals = Counter(part for row in rows for part in row["undecided"])
    print(
        json.dumps(
            {
                "modules": len(imported),
                "failed": failed,
                "candidates": len(asked),
                "rows": len(rows),
                "undecided": totals,
                "answers": rows,
            }
        )
    )


if __name__ == "__main__":
    main()
