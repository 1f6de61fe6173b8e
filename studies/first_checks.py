"""Takes the time of three first looks at many releases, with an empty cache and then a full one.

Two are a `check` of sixty rows for functions of an installed package, drawn at random: of vLLM on
all its releases, and of transformers on those from 4.0 on. The third is a `fit` of what vllm-omni
uses on 21 releases of vLLM. Fetching is included, so that the index and the network count; nothing
else should run meanwhile.

Each is compared with a floor: another process that has all fetched files at hand, and parses each
of them once.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROWS = 60
CHECKED = {"vllm": "vllm>=0.1,<0.34", "transformers": "transformers>=4,<6"}
FITTED = ("vllm-omni==0.30.0", "vllm>=0.17.1,<=0.30.0")
_PACK = "sample_rows"
_ROW = """    Patch(
        name="row-{number}",
        body="patch_sample",
        requires=("{releases}",),
        roles={{Role.WORKER}},
        changes=(Wrap("{target}", by="around"),),
        why="A question about a target.",
        upstream="none: nobody runs this",
        sunset="the measurement has ended",
    ),
"""
_BODY = "def around(wrapped, instance, args, kwargs):\n    return wrapped(*args, **kwargs)\n"
_FLOOR = """
import ast, gc, sys, zlib
from pathlib import Path
gc.disable()
count = size = 0
for file in Path(sys.argv[1]).rglob("*"):
    # An entry of the cache has a hash before its packed content. Data is kept as JSON.
    text = zlib.decompress(file.read_bytes()[32:]) if file.is_file() else b"{"
    if not text.startswith((b"{", b"[")):
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        count += 1
        size += len(text)
print(f"floor: {count:,} files, {size / 1e6:.0f} MB", file=sys.stderr)
"""
_FIRST, _FLOOR_CASE, _KEPT = "empty cache", "each fetched file parsed once", "all kept"


class Look(NamedTuple):
    """A first look.

    Args:
        arguments: Those of patchkit.
        targets: What the rows of the pack are about; empty if it needs none.
        releases: That the rows are for.
    """

    arguments: Sequence[str]
    targets: Sequence[str] = ()
    releases: str = ""


class Cost(NamedTuple):
    """What a command took, in seconds.

    Args:
        wall: Of the clock.
        cpu: Of all CPUs, its child processes included.
    """

    wall: float
    cpu: float


def functions_of(package: str) -> Iterator[str]:
    """Yield the functions of a package's modules, and the methods of its classes.

    Args:
        package: A package that is installed here.

    Yields:
        Targets, of functions without decorators.
    """
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    for file in sorted(root.rglob("*.py")):
        parts = file.relative_to(root.parent).with_suffix("").parts
        module = ".".join(parts).removesuffix(".__init__")
        for node in ast.parse(file.read_text("utf-8")).body:
            members = node.body if isinstance(node, ast.ClassDef) else [node]
            prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
            for member in members:
                if isinstance(member, ast.FunctionDef) and not member.decorator_list:
                    yield f"{module}:{prefix}{member.name}"


def looks() -> dict[str, Look]:
    """Draw the targets of each `check`.

    Returns:
        The looks, by what they are called.
    """
    found: dict[str, Look] = {}
    for package, releases in CHECKED.items():
        targets = list(functions_of(package))
        random.Random(0).shuffle(targets)
        arguments = ("check", "--releases", releases, "--patches", _PACK)
        label = f"check, {ROWS} rows, {releases}"
        found[label] = Look(arguments, targets[:ROWS], releases)
    distribution, releases = FITTED
    fitted = ("fit", distribution, "--releases", releases)
    found[f"fit {distribution}, {releases}"] = Look(fitted)
    return found


def write_pack(folder: Path, look: Look) -> None:
    """Write a pack with a Wrap of each target.

    Args:
        folder: Where its package is made.
        look: Has the targets, and the releases that the rows are for.
    """
    package = folder / _PACK
    package.mkdir()
    declared = "".join(
        _ROW.format(number=number, target=target, releases=look.releases)
        for number, target in enumerate(look.targets)
    )
    (package / "patch_sample.py").write_text(_BODY)
    (package / "__init__.py").write_text(
        f"from patchkit import Patch, Role, Wrap\n\nPATCHES = (\n{declared})\n"
    )


def cost_of(arguments: Sequence[str], folder: Path, cache: Path) -> Cost:
    """Run a command of Python in a new process.

    Args:
        arguments: Those of Python.
        folder: The current folder, which holds the pack.
        cache: The folder of the cache.

    Returns:
        What it took; 1 is a good exit code, as there are findings.
    """
    environ = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(folder)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environ,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    wall = time.monotonic() - begin
    if done.returncode not in (0, 1):
        raise subprocess.CalledProcessError(done.returncode, done.args)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, used)


def spread(values: Sequence[float], unit: str) -> str:
    """Spell the median of some values, and in brackets their quartiles.

    Args:
        values: Two or more.
        unit: Written behind the median.

    Returns:
        Such as `36.2 s (36.0 to 36.4)`.
    """
    first, median, third = statistics.quantiles(values, n=4, method="inclusive")
    return f"{median:.3g}{unit} ({first:.3g} to {third:.3g})"


def tell(label: str, costs: dict[str, list[Cost]]) -> None:
    """Print what the cases of a command took, and its ratios to the floor.

    Args:
        label: The command.
        costs: What each run took, by the case, one for each round.
    """
    print(label)
    for case, of_case in costs.items():
        wall = spread([cost.wall for cost in of_case], " s")
        cpu = spread([cost.cpu for cost in of_case], " s")
        print(f"  {case}: wall {wall}, CPU {cpu}", flush=True)
    pairs = list(zip(costs[_FIRST], costs[_FLOOR_CASE], strict=True))
    wall = spread([first.wall / floor.wall for first, floor in pairs], "")
    cpu = spread([first.cpu / floor.cpu for first, floor in pairs], "")
    print(f"  against the floor: wall x{wall}, CPU x{cpu}", flush=True)


def main() -> None:
    """Run the looks in turns, and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    rounds = parser.parse_args().rounds
    if rounds < 2:
        parser.error(f"found --rounds {rounds}, expected 2 or more, for quartiles")
    asked = looks()
    costs: dict[str, dict[str, list[Cost]]] = {label: {} for label in asked}
    for _ in range(rounds):
        for label, look in asked.items():
            with tempfile.TemporaryDirectory(prefix="patchkit-study-") as name:
                folder = Path(name)
                cache = folder / "cache"
                write_pack(folder, look)
                looked = ["-m", "patchkit", *look.arguments, "--format", "concise"]
                cases = {
                    _FIRST: looked,
                    _FLOOR_CASE: ["-c", _FLOOR, str(cache)],
                    _KEPT: looked,
                }
                for case, command in cases.items():
                    cost = cost_of(command, folder, cache)
                    costs[label].setdefault(case, []).append(cost)
    for label, of_label in costs.items():
        tell(label, of_label)


if __name__ == "__main__":
    main()
