"""The study of where vLLM starts processes: which starts are found, and what role each has."""

from __future__ import annotations

import ast
from textwrap import dedent
from typing import TYPE_CHECKING

import process_starts as tool
import pytest

if TYPE_CHECKING:
    from pathlib import Path

CORE = "class EngineCoreProc:\n    @staticmethod\n    def run_engine_core(): ...\n"
ACTORS = """
class EngineCoreActorMixin: ...
class DPActor(EngineCoreActorMixin): ...
class OtherActor(EngineCoreActorMixin): ...
"""
STARTS = """
import multiprocessing, os, subprocess, sys
import psutil
from .engine import EngineCoreProc
def engine(context):
    context.Process(target=EngineCoreProc.run_engine_core)
def nothing():
    psutil.Process(os.getpid())
def actor(wide):
    import ray
    from vllm.v1.engine.core import DPActor, OtherActor
    cls = DPActor if wide else OtherActor
    return ray.remote(cls)
def pool():
    return multiprocessing.get_context("fork").Pool(2)
def programs():
    subprocess.run(["ninja", "-j1"])
    command = [sys.executable, "-m", "vllm.snapshot.server"]
    subprocess.Popen(command)
"""


def starts(source: str) -> list[tuple[str, str, str]]:
    """Where, how and what a module starts."""
    all_starts = tool.starts("pkg.mod", ast.parse(dedent(source)))
    return [
        (start.place.partition(":")[2], start.by, start.what) for start in all_starts
    ]


def tree(folder: Path, **files: str) -> Path:
    """Write a small package named vllm; `__` in a name is a folder's end."""
    for name, text in {"__init__": "", **files}.items():
        place = name if name == "__init__" else name.replace("__", "/")
        path = folder / "vllm" / f"{place}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for parent in {path.parent for path in folder.rglob("*.py")}:
        (parent / "__init__.py").touch()
    return folder


@pytest.fixture
def seeded(tmp_path: Path) -> Path:
    """A package that starts processes in many ways, all of which have a role or a reason."""
    reexport = "from vllm.v1.engine.core import EngineCoreProc\n"
    return tree(
        tmp_path, v1__engine__core=CORE + ACTORS, engine=reexport, starts=STARTS
    )


def test_every_start_has_a_role_or_a_reason(
    seeded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Targets are followed to where they are defined, actors to their bases."""
    assert tool.main(["--path", str(seeded)]) == 0
    lines = [
        line for line in capsys.readouterr().out.splitlines() if line.startswith("|")
    ]
    none = "none: it runs functions for its parent, and no engine"
    assert lines[2:] == [
        "| `vllm.starts:engine` | `EngineCoreProc.run_engine_core` | engine-core |",
        "| `vllm.starts:actor` | `cls` | engine-core |",
        f"| `vllm.starts:pool` | `multiprocessing.pool:worker` | {none} |",
        "| `vllm.starts:programs` | `vllm.snapshot.server` | main |",
        "| anywhere | `ninja` | none: other programs |",
    ]


@pytest.mark.parametrize(
    "start",
    [
        "import multiprocessing as m\nm.Process(target=run)\n",
        "import os\nos.fork()\n",
        "import subprocess, sys\nsubprocess.run([sys.executable, 'x.py'])\n",
        "import subprocess\ndef run(command): subprocess.run(command)\n",
        "import ray\n@ray.remote(num_gpus=1)\nclass Worker: ...\n",
        "from subprocess import Popen\nPopen('python -c pass')\n",
    ],
)
def test_a_start_that_nobody_knows_is_named(
    seeded: Path, start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 1, and the table says where the start is."""
    tree(seeded, more=f"def run(): ...\n{start}")
    assert tool.main(["--path", str(seeded)]) == 1
    (line,) = [
        line for line in capsys.readouterr().out.splitlines() if "**unknown**" in line
    ]
    assert line.startswith("| `vllm.more:")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "class A:\n  def f(self, c):\n    c.Process(target=self.run)",
            ("A.f", "target", "self.run"),
        ),
        ("import os\nos.execvp('x', ['x', 'y'])", ("(module)", "command", "x")),
        (
            "import asyncio\nasyncio.create_subprocess_exec('gzip', 'f')",
            ("(module)", "command", "gzip"),
        ),
        ("import sys, os\nos.spawnv(0, 'ninja', [])", ("(module)", "command", "ninja")),
        (
            "import ray\ndef f():\n  @ray.remote\n  class A: ...",
            ("f", "actor", "A"),
        ),
    ],
)
def test_each_way_to_start_a_process_is_found(
    source: str, expected: tuple[str, str, str]
) -> None:
    """It is found once, at the function that starts the process."""
    assert starts(source) == [expected]


def test_what_only_looks_like_a_start_is_none() -> None:
    """Somebody else's `Process`, `run` and `spawn` start nothing."""
    source = "import psutil\npsutil.Process(1)\nself.spawn(f)\nrun('x')\nx.run('y')"
    assert starts(source) == []


def test_the_table_is_written_into_a_page(seeded: Path, tmp_path: Path) -> None:
    """It replaces what stands between the page's marks; the text around them stays."""
    page = tmp_path / "page.md"
    page.write_text(f"before\n{tool.MARKS[0]}\nold\n{tool.MARKS[1]}\nafter\n")
    assert tool.main(["--path", str(seeded), "--write", str(page)]) == 0
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "| `vllm.starts:engine` |" in text
