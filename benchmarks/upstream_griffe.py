"""One question about one release: patchkit from the index, against `pip download` and griffe."""

from __future__ import annotations

import ast
import functools
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.traffic import MeteredLibrary
from benchmarks.upstream_index import PATHS
from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.check.opening import on_index
from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.analysis.upstream.resolving.module_tree import module_name
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_RELEASE = "vllm==0.33.0"
_TARGETS = 60
_COLD = "patchkit, nothing kept"
_WARM = "patchkit, all kept"
_BOTH = "pip download, then griffe"
_GRIFFE = "griffe alone, the files that are asked for"
_PACKAGE = "griffe alone, the whole package"
_DOWNLOAD = (
    *(
        "--quiet",
        "--no-cache-dir",
        "--no-deps",
        "--only-binary=:all:",
        "--python-version=3.12",
    ),
    *("--platform=manylinux_2_28_x86_64", "--implementation=cp", "--abi=abi3"),
)
# Run where griffe is installed. Each file by itself is the least that it can be asked, and finds
# only what is defined where it is named; the whole package is what its manual shows.
_BY_FILE = """
import json, sys
from pathlib import Path
from griffe import visit
modules, answers = {}, {}
for target in json.load(sys.stdin):
    name, _, qualname = target.partition(":")
    file = Path(sys.argv[1], *name.split("."))
    file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    if name not in modules:
        modules[name] = visit(name, filepath=file, code=file.read_text())
    found = modules[name][qualname]
    answers[target] = [[one.name, str(one.kind)] for one in found.parameters]
json.dump(answers, sys.stdout)
"""
_WHOLE = """
import json, sys
from griffe import GriffeLoader
loader = GriffeLoader(search_paths=[sys.argv[1]], allow_inspection=False)
loader.load("vllm")
answers = {}
for target in json.load(sys.stdin):
    found = loader.modules_collection[target.replace(":", ".")]
    answers[target] = [[one.name, str(one.kind)] for one in found.parameters]
json.dump(answers, sys.stdout)
"""


def run(rounds: int = 3) -> Result:
    """Ask whether 60 functions are in a release, and their signatures; each time a new process."""
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
        place = Path(name)
        python = _with_griffe(place / "griffe")
        targets, moved = _targets(place / "kept")
        size = _download(python, place / "wheel").stat().st_size
        asked = json.dumps(targets)
        by_file = functools.partial(_griffe, python, place / "wheel", asked, _BY_FILE)
        whole = functools.partial(_griffe, python, place / "wheel", asked, _WHOLE)
        found = len(by_file())
        cases: dict[str, Callable[[], float]] = {
            _COLD: functools.partial(_cold, asked),
            _WARM: functools.partial(_ask, place / "kept", asked),
            _BOTH: functools.partial(_download_and_ask, python, asked),
            _GRIFFE: lambda: _timed(by_file),
            _PACKAGE: lambda: _timed(whole),
        }
        samples = in_turns(cases, rounds)
    return Result(
        name="index-griffe",
        title=f"{_RELEASE}, {len(targets)} functions, there or not, with signatures: wall time",
        unit="s",
        rounds=rounds,
        against=(_BOTH,),
        lines=lines_of(samples, [_BOTH], 1.0),
        aims=[Aim("nothing kept: seconds", samples.spread(_COLD).median, 3.0)],
        notes=[
            f"moved: patchkit {moved / 1e6:.1f} MB, pip {size / 1e6:.1f} MB",
            f"griffe finds {found} of {len(targets)} too",
        ],
    )


def _targets(place: Path) -> tuple[list[str], int]:
    """Choose functions and methods that are there, and fill a cache with the answers."""
    with Library(cache=Cache(place)) as library:
        subject = on_index(_RELEASE, library)[0]
        each = [list(_functions(path, subject.source.read(path))) for path in PATHS]
        by_turns = (
            row[at]
            for at in range(max(map(len, each)))
            for row in each
            if at < len(row)
        )
        chosen = sorted(islice(by_turns, _TARGETS))
    _ask(place, json.dumps(chosen))
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
        return chosen, answer(Path(name), chosen)


def _functions(path: str, content: bytes | None) -> Iterator[str]:
    for node in ast.parse(content or b"").body:
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        around = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for one in members:
            if (
                isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
                and not one.decorator_list
            ):
                yield f"{module_name(path)}:{around}{one.name}"


def answer(place: Path, targets: list[str]) -> int:
    """Look targets up in the release, and return how many bytes moved.

    Raises:
        AssertionError: one is not there, or its signature is not told.
    """
    library = MeteredLibrary(cache=Cache(place))
    with library:
        subject = on_index(_RELEASE, library)[0]
        wanted = [Target.parse(one) for one in targets]
        faults = learn_all([subject], lambda _: wanted)  # as `check` does
        assert not faults, faults
        lacking = [one for one in wanted if subject.facts(one).signature is None]
        assert not lacking, lacking
        return library.web.moved


def _with_griffe(place: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    python = place / "bin" / "python"
    subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "griffe"], check=True
    )
    return python


def _download(python: Path, place: Path) -> Path:
    """Bring the wheel here and unpack its Python."""
    command = [
        str(python),
        "-m",
        "pip",
        "download",
        *_DOWNLOAD,
        "--dest",
        str(place),
        _RELEASE,
    ]
    subprocess.run(command, check=True)
    wheel = next(place.glob("*.whl"))
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(
            place, [one for one in opened.namelist() if one.endswith(".py")]
        )
    return wheel


def _griffe(python: Path, place: Path, asked: str, script: str) -> dict[str, object]:
    command = [str(python), "-c", script, str(place)]
    done = subprocess.run(
        command, input=asked, check=True, stdout=subprocess.PIPE, text=True
    )
    return dict(json.loads(done.stdout))


def _download_and_ask(python: Path, asked: str) -> float:
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
        _download(python, Path(name))
        _griffe(python, Path(name), asked, _BY_FILE)
        return time.perf_counter() - begin


def _cold(asked: str) -> float:
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
        return _ask(Path(name), asked)


def _ask(place: Path, asked: str) -> float:
    command = [sys.executable, "-m", "benchmarks.upstream_griffe", str(place)]
    root = Path(__file__).parents[1]
    return _timed(
        lambda: subprocess.run(command, input=asked, check=True, cwd=root, text=True)
    )


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    answer(Path(sys.argv[1]), json.load(sys.stdin))
