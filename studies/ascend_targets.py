#!/usr/bin/env python3
"""List what a package monkey-patches in vLLM, and check it against releases of vLLM.

`python studies/ascend_targets.py WHEEL` reads the modules below `vllm_ascend/patch/` of a wheel
file or a directory and prints the attributes that they set, one `module:qualname` a line. Nothing
is imported or run. With `--releases SPEC` it prints what each is in the releases that SPEC allows,
and where those went that are gone.
"""

from __future__ import annotations

import argparse
import ast
import json
import zipfile
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from patchkit.analysis.check.history import histories
from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.check.opening import on_index
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Container,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from patchkit.analysis.check.history import HistoryEntry
    from patchkit.analysis.check.releases import CheckedRelease

PACKAGE = "vllm"
BELOW = "vllm_ascend/patch/"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Scope:
    """What names stand for, as far as imports and plain assignments tell.

    Args:
        places: dotted names; several where a name is bound in several ways.
        texts: strings.
    """

    places: dict[str, list[str]] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)

    def inner(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Scope:
        """Make the scope of a function, which begins with what is known around it."""
        arguments = {
            one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)
        }
        return Scope(_without(self.places, arguments), _without(self.texts, arguments))

    def bind(self, node: ast.expr, value: ast.expr) -> None:
        """Take note of what an assignment gives a name."""
        if isinstance(node, ast.Name):
            _add(self.places, node.id, self.dotted(value))
            _add(self.texts, node.id, self.strings(value))

    def bind_import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Take note of what an import binds."""
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                if node.module and not node.level:
                    name = alias.asname or alias.name
                    _add(self.places, name, [f"{node.module}.{alias.name}"])
            elif alias.asname:
                _add(self.places, alias.asname, [alias.name])
            else:
                top = alias.name.partition(".")[0]
                _add(self.places, top, [top])

    def dotted(self, node: ast.expr) -> list[str]:
        """Name the places that an expression may stand for."""
        if isinstance(node, ast.Name):
            return self.places.get(node.id, [])
        if isinstance(node, ast.Attribute):
            return [f"{place}.{node.attr}" for place in self.dotted(node.value)]
        if isinstance(node, ast.IfExp):
            return [*self.dotted(node.body), *self.dotted(node.orelse)]
        if isinstance(node, (ast.Tuple, ast.List)):
            return [place for one in node.elts for place in self.dotted(one)]
        named = _module_name(node)
        return self.strings(named) if named else []

    def strings(self, node: ast.expr) -> list[str]:
        """Tell the strings that an expression may be."""
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else []
        if isinstance(node, ast.Name):
            return self.texts.get(node.id, [])
        if isinstance(node, (ast.Tuple, ast.List)):
            return [text for one in node.elts for text in self.strings(one)]
        return []


def _without(
    known: Mapping[str, list[str]], names: Container[str]
) -> dict[str, list[str]]:
    return {name: list(values) for name, values in known.items() if name not in names}


def _add(known: dict[str, list[str]], name: str, values: Iterable[str]) -> None:
    kept = known.get(name, [])
    found = list(dict.fromkeys([*kept, *values]))
    if found:
        known[name] = found


def _module_name(node: ast.expr) -> ast.expr | None:
    """Return the name in `sys.modules[name]`, `sys.modules.get(name)`, `import_module(name)`."""
    if isinstance(node, ast.Subscript):
        return node.slice if ast.unparse(node.value) == "sys.modules" else None
    if not isinstance(node, ast.Call) or not node.args:
        return None
    called = ast.unparse(node.func)
    known = ("sys.modules.get", "importlib.import_module", "import_module")
    return node.args[0] if called in known else None


def set_in(body: Iterable[ast.AST], scope: Scope) -> Iterator[str]:
    """Name the attributes that statements set; in functions too, whoever calls them."""
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            scope.bind_import(node)
        elif isinstance(node, FUNCTIONS):
            yield from set_in(node.body, scope.inner(node))
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.For)):
            yield from _by_statement(node, scope)
        elif isinstance(node, ast.Call):
            yield from _by_call(node, scope)
        if not isinstance(node, FUNCTIONS):
            yield from set_in(ast.iter_child_nodes(node), scope)


def _by_statement(
    node: ast.Assign | ast.AnnAssign | ast.For, scope: Scope
) -> Iterator[str]:
    value = node.iter if isinstance(node, ast.For) else node.value
    for one in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if value is not None:
            scope.bind(one, value)
        if isinstance(one, ast.Attribute) and value is not None:
            yield from scope.dotted(one)


def _by_call(node: ast.Call, scope: Scope) -> Iterator[str]:
    if ast.unparse(node.func) == "setattr" and len(node.args) == 3:
        for place in scope.dotted(node.args[0]):
            yield from (f"{place}.{name}" for name in scope.strings(node.args[1]))


def files(place: Path) -> Iterator[bytes]:
    """Read the modules that patch, of a wheel file or a directory.

    Raises:
        SystemExit: there are none.
    """
    found = list(_in_directory(place) if place.is_dir() else _in_wheel(place))
    if not found:
        raise SystemExit(f"{place}: found no Python below {BELOW}")
    yield from found


def _in_directory(place: Path) -> Iterator[bytes]:
    for file in sorted(place.rglob("*.py")):
        if f"/{BELOW}" in file.resolve().as_posix():
            yield file.read_bytes()


def _in_wheel(place: Path) -> Iterator[bytes]:
    with zipfile.ZipFile(place) as wheel:
        for name in sorted(wheel.namelist()):
            if name.startswith(BELOW) and name.endswith(".py"):
                yield wheel.read(name)


def dotted_targets(place: Path) -> list[str]:
    """List what the modules set in vLLM, as dotted names, sorted."""
    found: set[str] = set()
    for content in files(place):
        found.update(set_in(ast.parse(content).body, Scope()))
    return sorted(one for one in found if one.startswith(f"{PACKAGE}."))


def split(dotted: str, is_module: Callable[[str], bool]) -> Target:
    """Make a target of a dotted name: a module as long as there are any, then names."""
    parts = dotted.split(".")
    ends = (
        end for end in range(len(parts) - 1, 0, -1) if is_module(".".join(parts[:end]))
    )
    end = next(ends, 1)
    return Target(".".join(parts[:end]), ".".join(parts[end:]))


def looks_like_module(dotted: str) -> bool:
    """Whether no part is written as a class is; releases tell it better."""
    return not any(part.lstrip("_")[:1].isupper() for part in dotted.split("."))


def modules_of(subjects: Iterable[CheckedRelease]) -> frozenset[str]:
    """Name the modules that any release has."""
    found: set[str] = set()
    for subject in subjects:
        for path in subject.source.paths():
            if path.endswith(".py"):
                found.add(
                    path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                )
    return frozenset(found)


class Span(NamedTuple):
    """Releases in which a target is the same.

    Args:
        releases: the first and the last.
        state: what it is in them.
        moved_to: where it is instead; '' where nothing is known.
        likeness: of its source there.
    """

    releases: str
    state: str
    moved_to: str
    likeness: float | None


def _text(target: Target | None) -> str:
    return str(target or "")


@dataclass(frozen=True)
class Story:
    """A target, and what it is in each release.

    Args:
        target: what is set.
        steps: one for each release.
        owner: by release, the state of the module or class that holds it.
    """

    target: Target
    steps: Sequence[HistoryEntry]
    owner: Mapping[str, str]

    def state(self, step: HistoryEntry) -> str:
        """Say what it is; `added` where no release has it, and its owner is there to take it."""
        if step.state != "absent" or any(one.state == "present" for one in self.steps):
            return step.state
        held = self.owner[step.release]
        return "added" if held == "present" else held

    def spans(self) -> Iterator[Span]:
        """Tell releases that agree, what it is in them, and where it went."""
        for _, group in groupby(self.steps, self._alike):
            steps = list(group)
            first, last = steps[0], steps[-1]
            releases = " - ".join(dict.fromkeys((first.release, last.release)))
            yield Span(
                releases, self.state(first), _text(first.moved_to), first.likeness
            )

    def _alike(self, step: HistoryEntry) -> tuple[object, ...]:
        return self.state(step), step.moved_to, step.likeness


def stories(
    dotted: Sequence[str], subjects: Sequence[CheckedRelease]
) -> Iterator[Story]:
    """Follow targets through releases, which must all be readable."""
    known = modules_of(subjects)
    targets = list(dict.fromkeys(split(one, known.__contains__) for one in dotted))
    faults = learn_all(subjects, lambda _: [*targets, *map(_owner, targets)])
    if faults:
        raise SystemExit("; ".join(map(str, faults.values())))
    followed = histories(targets, subjects)
    for target in targets:
        owner = {one.version: one.facts(_owner(target)).state for one in subjects}
        yield Story(target, followed[target], owner)


def _owner(target: Target) -> Target:
    return Target(target.module, target.qualname.rpartition(".")[0])


def as_data(story: Story) -> dict[str, object]:
    """Write a story for programs."""
    return {
        "target": str(story.target),
        "spans": [one._asdict() for one in story.spans()],
    }


def lines(story: Story) -> Iterator[str]:
    """Write a story for people."""
    yield str(story.target)
    for releases, state, moved, likeness in story.spans():
        alike = "" if likeness is None else f", {likeness:.0%} alike"
        yield f"    {releases:20} {state}{f', now {moved}{alike}' if moved else ''}"


def follow(dotted: Sequence[str], spec: str, *, as_json: bool) -> None:
    """Print the stories of targets in the releases that a requirement allows."""
    with Library() as library:
        found = stories(dotted, on_index(spec, library))
        if as_json:
            print(json.dumps([as_data(one) for one in found], indent=1))
            return
        for story in found:
            print("\n".join(lines(story)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, and print."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").strip().partition("\n")[0]
    )
    parser.add_argument("place", type=Path, help="a wheel file, or a directory")
    parser.add_argument(
        "--releases", metavar="SPEC", help="such as 'vllm>=0.18.1,<=0.33.0'"
    )
    parser.add_argument(
        "--json", action="store_true", help="for programs; with --releases"
    )
    options = parser.parse_args(arguments)
    dotted = dotted_targets(options.place)
    if options.releases:
        follow(dotted, options.releases, as_json=options.json)
        return 0
    for target in dict.fromkeys(str(split(one, looks_like_module)) for one in dotted):
        print(target)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
