"""CPU time of `patchkit check` with many rows on many releases: it is to grow as the rows do."""

from __future__ import annotations

import ast
import functools
import os
import random
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import cpu_of_child, in_turns
from benchmarks.results import Aim, Result, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_RELEASES = "vllm>=0.8,<0.34"
_FEW, _MANY = 250, 1000
_FEW_KEPT = f"{_FEW} rows, all kept"
_MANY_KEPT = f"{_MANY:,} rows, all kept"
_PACK = "sample_rows"
_ROW = """    Patch(
        name="row-{number}",
        body="patch_{number}",
        requires=("vllm>=0.8,<0.34",),
        roles={{Role.WORKER}},
        changes=(Wrap("{target}", by="around"),),
        why="A question about a target.",
        upstream="none: nobody runs this",
        sunset="the measurement has ended",
    ),
"""
_BODY = """
import vllm.envs as envs
from vllm.logger import init_logger

logger = init_logger(__name__)


def around(wrapped, instance, args, kwargs):
    logger.debug(envs.VLLM_LOGGING_LEVEL)
    return wrapped(*args, **kwargs)
"""


def run(rounds: int = 3) -> Result:
    """Check 250 and 1,000 rows, each with a body of its own, on fifty releases of the index."""
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
        few = _Pack(Path(name) / "few", _FEW)
        many = _Pack(Path(name) / "many", _MANY)
        few.write()
        many.write()
        cold = many.checked()
        few.checked()
        cases = {_FEW_KEPT: few.checked, _MANY_KEPT: many.checked}
        samples = in_turns(cases, rounds)
    kept = samples.spread(_MANY_KEPT).median
    growth = samples.ratio(_MANY_KEPT, _FEW_KEPT).median
    return Result(
        name="check-rows",
        title=f"rows, checked against {_RELEASES} in a new process: CPU time",
        unit="s",
        rounds=rounds,
        against=[_FEW_KEPT],
        lines=lines_of(samples, [_FEW_KEPT], 1.0),
        aims=[
            Aim(f"{_MANY:,} rows, all kept: seconds", kept, 6.0),
            Aim("four times the rows, against the fewer", growth, 4.2),
            Aim(f"{_MANY:,} rows, nothing kept, once: seconds", cold, 60.0),
        ],
        notes=["functions of the installed vLLM, drawn at random; each has a body"],
    )


@dataclass(frozen=True)
class _Pack:
    """A pack of Wraps, and the cache of its checks.

    Args:
        home: its folder.
        count: how many rows it has.
    """

    home: Path
    count: int

    def write(self) -> None:
        """Write the pack."""
        package = self.home / _PACK
        package.mkdir(parents=True)
        rows: list[str] = []
        for number, target in enumerate(_targets()[: self.count]):
            rows.append(_ROW.format(number=number, target=target))
            (package / f"patch_{number}.py").write_text(_BODY)
        declared = "".join(rows)
        (package / "__init__.py").write_text(
            f"from patchkit import Patch, Role, Wrap\n\nPATCHES = (\n{declared})\n"
        )

    def checked(self) -> float:
        """Check the rows, and return the CPU seconds; as there are findings, it ends with 1."""
        command = [sys.executable, "-m", "patchkit", "check", "--releases", _RELEASES]
        command += ["--patches", _PACK, "--format", "concise", "--ignore", "PK2"]
        environ = {
            **os.environ,
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "PYTHONPATH": f"{self.home}{os.pathsep}{Path(__file__).parents[1]}",
        }
        # In a folder whose pyproject.toml names no packs.
        return cpu_of_child(command, environ, exit_code=1, folder=self.home)


@functools.cache
def _targets() -> list[str]:
    """Return functions and methods of the installed vLLM, in a random order."""
    targets = sorted(_found())
    random.Random(0).shuffle(targets)
    return targets


def _found() -> Iterator[str]:
    """Yield the functions of modules, and the methods of classes, that have no decorator."""
    spec = find_spec("vllm")
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    for file in root.rglob("*.py"):
        parts = file.relative_to(root.parent).with_suffix("").parts
        module = ".".join(parts).removesuffix(".__init__")
        tree = ast.parse(file.read_text("utf-8"))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.decorator_list:
                yield f"{module}:{node.name}"
            elif isinstance(node, ast.ClassDef):
                for member in node.body:
                    if (
                        isinstance(member, ast.FunctionDef)
                        and not member.decorator_list
                    ):
                        yield f"{module}:{node.name}.{member.name}"
