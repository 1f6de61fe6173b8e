from __future__ import annotations

import importlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
benchmark = importlib.import_module("benchmarks.upstream_griffe")


def test_the_functions_of_a_file() -> None:
    """Functions and methods at the top are asked for; what is decorated or nested is not."""
    source = b"""
def f():
    def inner(): ...
async def g(): ...
@decorated
def h(): ...
class C:
    def m(self): ...
    @property
    def p(self): ...
    class D:
        def n(self): ...
X = 1
"""
    targets = list(benchmark._functions("vllm/a/__init__.py", source))
    assert targets == ["vllm.a:f", "vllm.a:g", "vllm.a:C.m"]
    assert list(benchmark._functions("vllm/a.py", None)) == []


def test_an_answer_needs_every_signature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of a wrong answer counts for nothing: a target without signature is an error."""
    with zipfile.ZipFile(tmp_path / "vllm-0.33.0-py3-none-any.whl", "w") as archive:
        archive.writestr("vllm/__init__.py", "def f(a): ...\n")
        archive.writestr("vllm-0.33.0.dist-info/METADATA", "Name: vllm\n")
    settings = {
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": ".",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    # A file here moves nothing.
    assert benchmark.answer(tmp_path / "kept", ["vllm:f"]) == 0
    with pytest.raises(AssertionError, match="'gone'"):
        benchmark.answer(tmp_path / "kept", ["vllm:f", "vllm:gone"])


def test_what_griffe_is_asked_is_python() -> None:
    """Both questions compile; they are run where griffe is installed, which is not here."""
    for script in (benchmark._BY_FILE, benchmark._WHOLE):
        compile(script, "question", "exec")


@pytest.mark.processes
def test_griffe_is_asked_by_another_python(tmp_path: Path) -> None:
    """The targets go in as JSON, the folder as an argument, and the answers come back as JSON."""
    script = (
        "import json, sys; "
        "print(json.dumps({one: sys.argv[1] for one in json.load(sys.stdin)}))"
    )
    targets = json.dumps(["vllm:f"])
    answers = benchmark._griffe(Path(sys.executable), tmp_path, targets, script)
    assert answers == {"vllm:f": str(tmp_path)}
    with pytest.raises(subprocess.CalledProcessError):
        benchmark._griffe(
            Path(sys.executable), tmp_path, targets, "raise SystemExit(1)"
        )
