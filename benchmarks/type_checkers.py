"""One question about an installed vLLM: patchkit, griffe, pyright and ty, each in a new process.

Type checkers answer it by a module that imports and reads the names: what is not there is an error.
"""

from __future__ import annotations

import ast
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import cpu_of_child, in_turns
from benchmarks.results import Result, lines_of
from patchkit.analysis.upstream.reading.tree import open_installed
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_THERE, _ABSENT = 60, 12
_PATCHKIT = "patchkit"
_GRIFFE = "griffe, the whole package"
_PYRIGHT = "pyright"
_TY = "ty"
# Run where griffe is installed.
_LOAD = """
import json, sys
from griffe import GriffeLoader
loader = GriffeLoader(search_paths=[sys.argv[1]], allow_inspection=False)
loader.load("vllm")
found = []
for target in json.load(open(sys.argv[2])):
    try:
        loader.modules_collection[target.replace(":", ".")]
        found.append(target)
    except Exception:
        pass
print(json.dumps(found))
"""


def run(rounds: int = 3) -> Result:
    """Ask whether 72 functions are there, of which twelve are not; CPU time of each tool."""
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
        question = _Question(Path(name))
        cases: dict[str, Callable[[], float]] = {
            tool: lambda tool=tool: question.asked(tool)  # type: ignore[misc]
            for tool in (_PATCHKIT, _GRIFFE, _PYRIGHT, _TY)
        }
        samples = in_turns(cases, rounds)
        wrong = {tool: question.wrong(tool) for tool in cases}
    return Result(
        name="type-checkers",
        title=f"{_THERE} functions that are in the installed vLLM, and {_ABSENT} that are not",
        unit="s",
        rounds=rounds,
        against=(_PATCHKIT,),
        lines=lines_of(samples, [_PATCHKIT], 1.0),
        aims=[],
        notes=[
            "wrong answers: "
            + ", ".join(f"{tool} {count}" for tool, count in wrong.items()),
            "ty is a type checker written in Rust; it and pyright answer for one installed "
            "environment, and say nothing of signatures, moves or other releases",
        ],
    )


class _Question:
    """Targets, and a module that reads them.

    Args:
        place: a folder to write to.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        there = sorted(_functions())
        random.Random(0).shuffle(there)
        self._there = there[:_THERE]
        self._absent = [f"{one}_of_old" for one in there[_THERE : _THERE + _ABSENT]]
        self._targets = [*self._there, *self._absent]
        random.Random(1).shuffle(self._targets)
        (place / "targets.json").write_text(json.dumps(self._targets))
        (place / "reads.py").write_text("".join(_lines(self._targets)))
        # Without it, type checkers look for the settings of the folders above.
        (place / "pyproject.toml").write_text(
            "[project]\nname = 'reads'\nversion = '1'\n"
        )
        tools = place / "tools"
        subprocess.run([sys.executable, "-m", "venv", str(tools)], check=True)
        self._bin = tools / "bin"
        install = [str(self._bin / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, "griffe", "pyright[nodejs]", "ty"], check=True)
        for tool in (_PYRIGHT, _TY):  # pyright fetches its program the first time
            self._output(tool)

    def asked(self, tool: str) -> float:
        """Ask a tool in a new process, and return the CPU seconds."""
        code = 1 if tool in (_PYRIGHT, _TY) else 0  # as there are errors
        return cpu_of_child(self._command(tool), self._environ(), code, self._place)

    def wrong(self, tool: str) -> int:
        """Count the targets of which a tool says the wrong thing."""
        output = self._output(tool)
        if tool in (_PATCHKIT, _GRIFFE):
            found = set(json.loads(output.splitlines()[-1]))
            lacking = set(self._targets) - found
        elif tool == _PYRIGHT:
            told = json.loads(output)["generalDiagnostics"]
            lines = {each["range"]["start"]["line"] for each in told}
            # Each target has two lines.
            lacking = {self._targets[line // 2] for line in lines}
        else:  # ty quotes the lines
            lacking = {
                target
                for number, target in enumerate(self._targets)
                if f"name_{number}_" in output
            }
        return len(lacking ^ set(self._absent))

    def _output(self, tool: str) -> str:
        done = subprocess.run(
            self._command(tool),
            env=self._environ(),
            cwd=self._place,
            check=False,
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout

    def _command(self, tool: str) -> Sequence[str]:
        python = str(self._bin / "python")
        site = str(_site())
        commands: dict[str, Sequence[str]] = {
            _PATCHKIT: (
                sys.executable,
                "-m",
                "benchmarks.type_checkers",
                "targets.json",
            ),
            _GRIFFE: (python, "-c", _LOAD, site, "targets.json"),
            _PYRIGHT: (
                *(str(self._bin / "pyright"), "--pythonpath", sys.executable),
                *("--outputjson", "reads.py"),
            ),
            _TY: (
                *(str(self._bin / "ty"), "check", "--python", sys.executable),
                *("--output-format", "full", "reads.py"),
            ),
        }
        return commands[tool]

    def _environ(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}


def _site() -> Path:
    """The folder that has the installed vLLM."""
    spec = find_spec("vllm")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parents[1]


def _functions() -> Iterator[str]:
    """Yield the methods of classes in vLLM that have no decorator."""
    root = _site() / "vllm"
    for file in (root / "v1").rglob("*.py"):
        module = ".".join(file.relative_to(root.parent).with_suffix("").parts)
        for node in ast.parse(file.read_text("utf-8")).body:
            if not isinstance(node, ast.ClassDef):
                continue
            names = Counter(getattr(member, "name", "") for member in node.body)
            for member in node.body:
                if (
                    isinstance(member, ast.FunctionDef)
                    and not member.decorator_list
                    and names[member.name] == 1
                ):
                    yield f"{module.removesuffix('.__init__')}:{node.name}.{member.name}"


def _lines(targets: Sequence[str]) -> Iterator[str]:
    """Yield lines that read targets, each with a name by which an error is known."""
    for number, target in enumerate(targets):
        module, _, qualname = target.partition(":")
        name, _, attribute = qualname.partition(".")
        yield f"from {module} import {name} as C{number}\n"
        yield f"name_{number}_ = C{number}.{attribute}\n"


def _answer(file: Path) -> None:
    """Print the targets of a file that are in the installed vLLM."""
    resolver = Resolver(open_installed("vllm"))
    targets = json.loads(file.read_text())
    found = [
        target
        for target in targets
        if resolver.resolve(Target.parse(target)).state == "present"
    ]
    print(json.dumps(found))


if __name__ == "__main__":
    _answer(Path(sys.argv[1]))
