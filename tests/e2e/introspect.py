"""What imported modules of a package really hold, asked by introspection: nothing of patchkit here.

Runs in the environment that has the package. Prints one line of JSON, the questions with their
answers; then answers, line by line, whether two places hold the same object.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import importlib
import importlib.machinery
import io
import json
import os
import random
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reflection import (
    MISSING,
    ask,
    is_field,
    kind_of,
    locate,
    signature_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MACHINERY = re.compile(
    r"_abc_impl|_is_(runtime_)?protocol|_.*_map_|_.*_(values|type|repr|member|names)_|_fields"
    r"|_field_defaults|_generate_next_value_|_use_args_|_new_member_|_boundary_|_mask_|_flag_mask_"
    r"|_all_bits_|_singles_mask_|_inverted_|_value2member_map_|_hashable_values_|_sort_order_"
)
"""Names that Python's own classes give to each class that derives from them."""
WRITTEN = (
    *("__init__", "__repr__", "__eq__", "__lt__", "__ge__", "__hash__", "__setattr__"),
    *("__post_init__", "__init_subclass__", "__new__"),
    *("__call__", "__enter__", "__len__"),
)
"""What machinery may write, or not."""
NOT_ASKED = re.compile(
    r"(^|\.)(tests?|testing|conftest|__main__|_?test_\w+|benchmarks?|setup|examples?)(\.|$)"
)
SHARES = {
    "exists": 30,
    "made up": 8,
    "types only": 7,
    "conditional": 8,
    "member": 17,
    "inherited": 8,
    "field": 6,
    "slot": 4,
    "instance": 4,
    "written": 4,
    "item": 4,
}
"""How many of a hundred questions are of a sort."""


def module_names(root: Path, package: str) -> list[str]:
    """List the modules that lie in the files of a package, extension modules included."""
    suffixes = [*importlib.machinery.EXTENSION_SUFFIXES, ".py"]
    found = set()
    for file in (root / package.replace(".", "/")).rglob("*"):
        suffix = next((one for one in suffixes if file.name.endswith(one)), None)
        if suffix and file.is_file():
            inside = file.relative_to(root).as_posix().removesuffix(suffix)
            found.add(inside.removesuffix("/__init__").replace("/", "."))
    return sorted(one for one in found if not NOT_ASKED.search(one))


def import_some(names: list[str], wanted: int) -> tuple[list[str], dict[str, str]]:
    """Import modules until there are enough; also say which do not import, and why."""
    imported: list[str] = []
    failed: dict[str, str] = {}
    for name in names:
        if len(imported) == wanted:
            break
        try:
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                importlib.import_module(name)
        except BaseException as error:
            failed[name] = f"{type(error).__name__}: {error}"[:200]
        else:
            imported.append(name)
    return imported, failed


class Candidates:
    """Lists what may be asked about a module, by sort.

    Args:
        name: of the module, which is imported.
        chance: draws.
    """

    def __init__(self, name: str, chance: random.Random) -> None:
        self.name = name
        self.module = sys.modules[name]
        self.chance = chance
        file = Path(getattr(self.module, "__file__", None) or "")
        self.tree = (
            ast.parse(file.read_bytes()) if file.suffix == ".py" else ast.Module([], [])
        )

    def all(self) -> Iterator[tuple[str, str]]:
        """Every sort and name."""
        names = [
            one for one in vars(self.module) if one.isidentifier() and one[:2] != "__"
        ]
        yield from (("exists", one) for one in names)
        for one in self.chance.sample(names, min(3, len(names))):
            yield "made up", f"{one}_not_there"
            yield "made up", one.swapcase()
        yield "made up", "NoSuchName"
        typed = (
            one for one in self.only_typed() if one not in names and one[:2] != "__"
        )
        yield from (("types only", one) for one in typed)
        yield from (
            ("conditional", one) for one in self.conditional() if one[:2] != "__"
        )
        for name, value in list(vars(self.module).items()):
            # Not isinstance: that wakes lazy objects.
            if issubclass(type(value), type) and value.__module__ == self.name:
                yield from (
                    (sort, f"{name}.{one}") for sort, one in self.members(name, value)
                )
            elif type(value) in (dict, list) and not name.startswith("__"):
                yield from (("item", f"{name}[{key!r}]") for key in self.keys(value))

    def keys(self, value: dict[Any, Any] | list[Any]) -> list[Any]:
        known = list(value) if isinstance(value, dict) else list(range(len(value)))
        plain = [
            one for one in known if isinstance(one, (str, int)) and "]" not in str(one)
        ]
        more = ["no such key"] if isinstance(value, dict) else []
        return self.chance.sample(plain, min(2, len(plain))) + more

    def members(self, name: str, value: type) -> Iterator[tuple[str, str]]:
        own = [one for one in vars(value) if self.is_asked(one)]
        above = [
            one
            for base in value.__mro__[1:-1]
            for one in vars(base)
            if self.is_asked(one)
        ]
        yield from (("member", one) for one in own)
        yield from (
            ("inherited", one) for one in self.chance.sample(above, min(4, len(above)))
        )
        yield from (("written", one) for one in self.chance.sample(WRITTEN, 2))
        yield "made up", "no_such_member"
        slots = [vars(base).get("__slots__", ()) for base in value.__mro__]
        for one in slots:
            names = [one] if isinstance(one, str) else list(one)
            yield from (
                ("slot", str(each)) for each in names[:6] if str(each)[:2] != "__"
            )
        yield from self.written(name)

    def written(self, name: str) -> Iterator[tuple[str, str]]:
        """List what a class's source seems to give it: annotations, attributes of instances."""
        for one in self.tree.body:
            if isinstance(one, ast.ClassDef) and one.name == name:
                stored = (
                    node for node in ast.walk(one) if isinstance(node, ast.Attribute)
                )
                names = (
                    node.attr for node in stored if isinstance(node.ctx, ast.Store)
                )
                yield from (("instance", each) for each in names if each[:2] != "__")
                parts = (
                    part.target for part in one.body if isinstance(part, ast.AnnAssign)
                )
                names = (each.id for each in parts if isinstance(each, ast.Name))
                yield from (("field", each) for each in names if each[:2] != "__")

    def is_asked(self, name: str) -> bool:
        return (
            name.isidentifier()
            and name[:2] != "__"
            and MACHINERY.fullmatch(name) is None
        )

    def only_typed(self) -> Iterator[str]:
        for one in ast.walk(self.tree):
            if isinstance(one, ast.If) and "TYPE_CHECKING" in ast.unparse(one.test):
                yield from bound_in(one.body)

    def conditional(self) -> Iterator[str]:
        for one in self.tree.body:
            if isinstance(one, ast.Try) or (
                isinstance(one, ast.If) and "TYPE_CHECKING" not in ast.unparse(one.test)
            ):
                for body in (
                    one.body,
                    one.orelse,
                    *(h.body for h in getattr(one, "handlers", ())),
                ):
                    yield from bound_in(body)


def bound_in(body: list[ast.stmt]) -> Iterator[str]:
    for one in body:
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield one.name
        elif isinstance(one, (ast.Import, ast.ImportFrom)):
            names = (alias.asname or alias.name.split(".")[0] for alias in one.names)
            yield from (name for name in names if name != "*")
        elif isinstance(one, ast.Assign):
            yield from (each.id for each in one.targets if isinstance(each, ast.Name))


def drawn(
    names: list[str], wanted: int, chance: random.Random
) -> list[tuple[str, str, str]]:
    """Draw questions of each sort; what is short of one sort is asked of what there is."""
    by_sort: dict[str, list[tuple[str, str, str]]] = {sort: [] for sort in SHARES}
    compiled: list[tuple[str, str, str]] = []
    for name in names:
        candidates = Candidates(name, chance)
        for sort, qualname in dict.fromkeys(candidates.all()):
            if not candidates.tree.body and sort in ("exists", "member", "made up"):
                compiled.append(("extension", name, qualname))
            else:
                by_sort[sort].append((sort, name, qualname))
    found = chance.sample(compiled, min(len(compiled), wanted * 5 // 100))
    for sort, share in SHARES.items():
        found += chance.sample(
            by_sort[sort], min(len(by_sort[sort]), wanted * share // 100)
        )
    left = [one for many in by_sort.values() for one in many if one not in set(found)]
    found += chance.sample(left, max(0, min(len(left), wanted - len(found))))
    return found


def drawn_machinery(
    names: list[str], wanted: int, chance: random.Random
) -> list[tuple[str, str, str]]:
    """Draw what metaclasses and decorators put on classes; half of it is of other classes."""
    classes: list[tuple[str, str, type]] = []
    known: set[str] = set()
    for module in names:
        for name, value in list(vars(sys.modules[module]).items()):
            if issubclass(type(value), type) and value.__module__ == module:
                classes.append((module, name, value))
                known.update(special_names(value))
    if not classes:
        return []
    found: dict[tuple[str, str, str], None] = {}
    everywhere = sorted(known)
    for number in range(wanted):
        module, name, value = chance.choice(classes)
        own = sorted(special_names(value)) if number % 2 else everywhere
        found["machinery", module, f"{name}.{chance.choice(own)}"] = None
    return list(found)


def special_names(cls: type) -> set[str]:
    """List the names with an underscore in front that a class has, or its metaclass."""
    names = {*dir(cls), *dir(type(cls))}
    return {one for one in names if one[:1] == "_" and one.isidentifier()}


def answer(sort: str, module: str, qualname: str) -> dict[str, Any]:
    """Say all that is so at a place."""
    owner, value = locate(module, qualname)
    there = value is not MISSING
    name = qualname.rpartition(".")[2]
    function = ask(value, "__func__", value)
    holder = (
        next((c for c in ask(owner, "__mro__", ()) if name in vars(c)), None)
        if isinstance(owner, type)
        else None
    )
    return {
        "sort": sort,
        "module": module,
        "qualname": qualname,
        "there": there,
        "kind": kind_of(value, owner) if there else "missing",
        "type": type(value).__name__ if there else "",
        "is_none": value is None,
        "made_at": [
            str(ask(function, "__module__")),
            str(ask(function, "__qualname__")),
        ],
        "held_by": f"{holder.__module__}.{holder.__qualname__}" if holder else "",
        "signature": signature_of(value) if there and callable_or_held(value) else None,
        "is_field": is_field(owner, name),
    }


def callable_or_held(value: Any) -> bool:
    return callable(value) or isinstance(
        value, (staticmethod, classmethod, property, functools.cached_property)
    )


def same(target: list[str], place: list[str]) -> bool | None:
    """Whether a place holds the very object that a target is; None where it cannot be asked."""
    try:
        _, value = locate(*target)
        _, other = dotted(place[1]) if place[0] == "." else locate(*place)
    except BaseException:
        return None
    if other is value or (type(other) is type(value) and plain_equal(other, value)):
        return True
    one, two = ask(value, "__func__", value), ask(other, "__func__", other)
    return one is two


def plain_equal(one: Any, two: Any) -> bool:
    return isinstance(one, (int, str, float, tuple, bytes)) and bool(one == two)


def dotted(name: str) -> tuple[Any, Any]:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        owner, found = locate(".".join(parts[:cut]), ".".join(parts[cut:]))
        if found is MISSING:
            found = functools.reduce(
                getattr, parts[cut:], sys.modules[".".join(parts[:cut])]
            )
        return owner, found
    return None, MISSING


def prepare(package: str) -> None:
    """Do what a program does before it imports a package."""
    if package == "django":
        settings = importlib.import_module("django.conf").settings
        base = "admin auth contenttypes sessions messages sites redirects"
        apps = [f"django.contrib.{one}" for one in base.split()]
        settings.configure(INSTALLED_APPS=apps, STATIC_URL="/static/")
        importlib.import_module("django").setup()


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("package")
    options.add_argument("--seed", type=int, default=32)
    options.add_argument("--modules", type=int, default=100)
    options.add_argument("--targets", type=int, default=300)
    options.add_argument("--machinery", type=int, default=0)
    given = options.parse_args()
    say, sys.stdout = sys.stdout, sys.stderr
    chance = random.Random(f"{given.seed} {given.package}")
    # A namespace package has no file of its own.
    spec = importlib.machinery.PathFinder.find_spec(given.package.partition(".")[0])
    assert spec is not None
    assert spec.submodule_search_locations is not None
    root = Path(next(iter(spec.submodule_search_locations))).parent
    prepare(given.package)
    names = module_names(root, given.package)
    chance.shuffle(names)
    imported, failed = import_some(names, given.modules)
    asked = drawn(imported, given.targets, chance)
    asked += drawn_machinery(imported, given.machinery, chance)
    rows = []
    for one in asked:
        try:
            rows.append(answer(*one))
        except Exception as error:  # a lazy name whose module does not import here
            failed[":".join(one[1:])] = repr(error)[:200]
    head = {
        "root": str(root),
        "python": list(sys.version_info[:2]),
        "modules": imported,
        "failed": failed,
        "answers": rows,
    }
    print(json.dumps(head), file=say, flush=True)
    for line in sys.stdin:
        print(
            json.dumps([same(*pair) for pair in json.loads(line)]), file=say, flush=True
        )
    os._exit(0)  # threads that packages started do not matter


if __name__ == "__main__":
    main()
