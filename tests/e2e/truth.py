"""Ask imported modules and their source the same questions, and say where the answers differ.

`python truth.py PACKAGE … --python ENVIRONMENT/bin/python --seed N` prints JSON. What imported
modules hold is found out by introspect.py, in the environment that has the package; what their
source says by the resolver, from what `check` opens for an installed package.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchkit.analysis.upstream.reading.tree import Tree, open_installed
from patchkit.analysis.upstream.resolving.resolve import Resolution, Resolver
from patchkit.analysis.upstream.resolving.syntax import Signature, parameter
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from patchkit.analysis.upstream.reading.files import ReleaseSource

INTROSPECT = Path(__file__).with_name("introspect.py")
FUNCTIONS = {Kind.FUNCTION, Kind.ASYNC_FUNCTION, Kind.METHOD, Kind.ASYNC_METHOD}
HELD = {Kind.STATICMETHOD, Kind.CLASSMETHOD}
UNIQUE = {"__init__", "model_post_init", "model_config", "_replace", "_asdict", "_make"}
"""What Python's own classes write anew for each class that derives from them."""

Truth = dict[str, Any]


class Imported:
    """A package as imported modules have it.

    Args:
        python: the interpreter that has it.
        package: its name.
        options: further arguments of introspect.py.
    """

    def __init__(self, python: str, package: str, options: list[str]) -> None:
        self._process = subprocess.Popen(
            [python, str(INTROSPECT), package, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        self.found = found

    def same(self, pairs: list[tuple[list[str], list[str]]]) -> list[bool | None]:
        """Say of each pair of places whether they hold one object; then end."""
        shown, _ = self._process.communicate(json.dumps(pairs) + "\n", timeout=600)
        answers: list[bool | None] = json.loads(shown)
        return answers


class Answer:
    """One question, with what the source says and what is so.

    Args:
        static: what the source says.
        truth: what is so.
    """

    def __init__(self, static: Resolution, truth: Truth) -> None:
        self.static = static
        self.truth = truth
        self.undecided: list[str] = []
        self.wrong: list[str] = []
        self.places: list[list[str]] = []
        """One of these places must hold what the target is."""
        self._compare()

    def _compare(self) -> None:
        static, there = self.static, self.truth["there"]
        is_field = static.kind is Kind.FIELD and static.state == "present"
        if static.state == "undecidable":
            self.undecided.append("state")
        elif self._is_optional() and (self.truth["is_none"] or not there):
            # Told to depend on an import, which fails here.
            self.undecided.append("optional")
        elif is_field and not static.is_sure:
            self.undecided.append("attribute")
        elif is_field and not static.variants[0].on_class:
            if there or not self.truth["is_field"]:
                self.wrong.append("attribute" if there else "field")
        elif (static.state == "present") is not there:
            self.wrong.append("state")
        elif there:
            self._compare_present()

    def _is_optional(self) -> bool:
        return any(one.is_import_fallback for one in self.static.variants)

    def _compare_present(self) -> None:
        static = self.static
        if not static.is_sure:
            self.undecided.append("kind")
            return
        if not self._is_kind():
            self.wrong.append("kind")
        self._place()
        self._signature()

    def _is_kind(self) -> bool:
        kind, found = self.static.kind, self.truth["kind"]
        if kind in (Kind.CONSTANT, Kind.ASSIGNMENT):
            return found in ("constant", "field")
        if kind in (Kind.FIELD, Kind.ITEM, Kind.GENERATED, Kind.OUTSIDE):
            return True
        if found == "bound method":  # a function, for those who call it
            return kind in (Kind.FUNCTION, Kind.ASYNC_FUNCTION)
        return bool(found == str(kind))

    def _place(self) -> None:
        static, name = self.static, self.static.target.qualname.rpartition(".")[2]
        if static.kind in (Kind.ITEM, Kind.FIELD, Kind.GENERATED):
            return
        if self.truth["sort"] == "machinery":  # each class has its own
            return
        if name == "model_config":  # pydantic merges it with those of the bases
            return
        if static.kind is Kind.OUTSIDE:
            if not (static.module and name in UNIQUE):
                self.places = [[".", _spelled(one.dotted)] for one in static.variants]
        elif static.kind is Kind.MODULE:
            self.places = [[one.module, ""] for one in static.variants]
        elif self.truth["made_at"] not in [
            [one.module, one.qualname] for one in static.variants
        ]:
            self.places = [[one.module, one.qualname] for one in static.variants]

    def _signature(self) -> None:
        static, found = self.static, self.truth["signature"]
        if static.signature is None:
            called = {
                *FUNCTIONS,
                *HELD,
                Kind.CLASS,
                Kind.CACHED_FUNCTION,
                Kind.GENERATED,
            }
            self.undecided += ["signature"] if static.kind in called else []
        elif found is not None:
            real = Signature(parameter(*one) for one in found)
            self.truth["told"] = True
            # A model not built yet.
            if static.signature != real and str(real) != "(**data)":
                self.wrong.append("signature")
                self.truth["real"] = str(real)

    def row(self) -> dict[str, Any]:
        """Write it down."""
        static = self.static
        return {
            "target": str(static.target),
            "sort": self.truth["sort"],
            "static": f"{static.state}, {static.kind}, {static.module}:{static.qualname}"
            f"{static.signature or ''}",
            "reason": static.reason,
            "runtime": f"{self.truth['kind']}, {self.truth['type']}, "
            f"{':'.join(self.truth['made_at'])}{self.truth.get('real', '')}",
            "undecided": self.undecided,
            "wrong": self.wrong,
            "told": bool(self.truth.get("told")),
        }


def _opened(package: str, root: str) -> ReleaseSource:
    """Open what `check` opens; of a namespace package, the folder that it would open."""
    top, *below = package.split(".")
    return (
        Tree(package, None, Path(root), top) if below else open_installed(top, [root])
    )


def _spelled(dotted: str) -> str:
    """Name what a class really derives from that derives from a function of typing."""
    for name, base in (("NamedTuple", "tuple"), ("TypedDict", "dict")):
        for module in ("typing", "typing_extensions"):
            dotted = dotted.replace(f"{module}.{name}.", f"builtins.{base}.")
    return dotted


def answers_of(python: str, package: str, options: list[str]) -> dict[str, Any]:
    """Ask both sides about one package."""
    imported = Imported(python, package, options)
    root = imported.found["root"]
    version = imported.found.get("python", [3, 11])
    resolver = Resolver(
        _opened(package, root), python=(version[0], version[1]), system=sys.platform
    )
    answers = [
        Answer(resolver.resolve(Target(one["module"], one["qualname"])), one)
        for one in imported.found["answers"]
    ]
    _check_places(imported, answers)
    return {
        "modules": len(imported.found["modules"]),
        "failed": imported.found["failed"],
        "answers": [one.row() for one in answers],
    }


def _check_places(imported: Imported, answers: list[Answer]) -> None:
    pairs = [
        ([one.truth["module"], one.truth["qualname"]], place)
        for one in answers
        for place in one.places
    ]
    same = iter(imported.same(pairs))
    for one in answers:
        found = [next(same) for _ in one.places]
        if found and True not in found and None not in found:
            one.wrong.append("place")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("packages", nargs="+")
    options.add_argument("--python", default=sys.executable)
    given, rest = options.parse_known_args()
    found = {one: answers_of(given.python, one, rest) for one in given.packages}
    rows = [row for one in found.values() for row in one["answers"]]
    totals = Counter(part for row in rows for part in row["undecided"])
    wrong = Counter(part for row in rows for part in row["wrong"])
    print(
        json.dumps(
            {"packages": found, "rows": len(rows), "undecided": totals, "wrong": wrong}
        )
    )


if __name__ == "__main__":
    main()
