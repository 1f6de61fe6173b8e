"""Takes the time of two first looks at many releases, each with an empty cache and then a full one.

The one is a `check` of sixty rows for functions of the installed transformers, drawn at random, on
all its releases from 4.0 on. The other is a `fit` of what vllm-omni uses on 21 releases of vLLM.
Fetching is included, so that the index and the network count; nothing else should run meanwhile.
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
CHECKED = "transformers>=4,<6"
FITTED = ("vllm-omni==0.30.0", "vllm>=0.17.1,<=0.30.0")
_PACK = "sample_rows"
_ROW = """    Patch(
        name="row-{number}",
        body="patch_sample",
        requires=("transformers>=4",),
        roles={{Role.WORKER}},
        changes=(Wrap("{target}", by="around"),),
        why="A question about a target.",
        upstream="none: nobody runs this",
        sunset="the measurement has ended",
    ),
"""
_BODY = "def around(wrapped, instance, args, kwargs):\n    return wrapped(*args, **kwargs)\n"


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


def write_pack(folder: Path, targets: Sequence[str]) -> None:
    """Write a pack with a Wrap of each target.

    Args:
        folder: Where its package is made.
        targets: The targets.
    """
    package = folder / _PACK
    package.mkdir()
    rows = [_ROW.format(number=n, target=target) for n, target in enumerate(targets)]
    declared = "".join(rows)
    (package / "patch_sample.py").write_text(_BODY)
    (package / "__init__.py").write_text(
        f"from patchkit import Patch, Role, Wrap\n\nPATCHES = (\n{declared})\n"
    )


def cost_of(arguments: Sequence[str], folder: Path, cache: Path) -> Cost:
    """Run a command of patchkit in a new process.

    Args:
        arguments: Those of the command.
        folder: The current folder, which holds the pack.
        cache: The folder of the cache.

    Returns:
        What it took; 1 is a good exit code, as there are findings.
    """
    environ = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(folder)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "patchkit", *arguments],
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


def tell(label: str, costs: Sequence[Cost]) -> None:
    """Print the medians and the extremes of some runs.

    Args:
        label: What ran.
        costs: What each run took.
    """
    words = []
    for name, values in zip(Cost._fields, zip(*costs, strict=True), strict=True):
        median = statistics.median(values)
        words.append(f"{name} {median:.1f} s ({min(values):.1f} to {max(values):.1f})")
    print(f"{label}: {', '.join(words)}", flush=True)


def main() -> None:
    """Run both looks in turns, and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    rounds = parser.parse_args().rounds
    targets = list(functions_of("transformers"))
    random.Random(0).shuffle(targets)
    distribution, releases = FITTED
    concise = ("--format", "concise")
    check = ["check", "--releases", CHECKED, "--patches", _PACK, *concise]
    fit = ["fit", distribution, "--releases", releases, *concise]
    commands = {
        f"check, {ROWS} rows, {CHECKED}": check,
        f"fit {distribution}, {releases}": fit,
    }
    costs: dict[str, list[Cost]] = {}
    for _ in range(rounds):
        for label, arguments in commands.items():
            with tempfile.TemporaryDirectory(prefix="patchkit-study-") as name:
                folder = Path(name)
                write_pack(folder, targets[:ROWS])
                for state in ("empty cache", "all kept"):
                    cost = cost_of(arguments, folder, folder / "cache")
                    costs.setdefault(f"{label}, {state}", []).append(cost)
    for label, of_label in costs.items():
        tell(label, of_label)


if __name__ == "__main__":
    main()
