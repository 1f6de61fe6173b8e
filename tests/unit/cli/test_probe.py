"""`patchkit probe` on plain programs, whose calls are counted by how they are written."""

from __future__ import annotations

import json
import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.packages import REPOSITORY as ROOT
from support.programs import program

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Python = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.processes

UP = "probed_upstream"
REPOSITORY = str(ROOT)

# What `probed_kinds.py` calls, by its text.
CALLS = {
    "plain": 5,
    "re_exported": 5,
    "never": 0,
    "decorated": 2,
    "also_decorated": 3,
    "cached": 5,
    "coroutine": 2,
    "generator": 6,
    "Base.inherited": 5,
    "Child.inherited": 2,
    "Sibling.inherited": 3,
    "Base.overridden": 1,
    "Child.overridden": 1,
    "Child": 2,
    "Child.method": 8,
    "Child.made": 1,
    "Child.helper": 2,
    "Child.size": 9,
    "Child.weight": 1,
    "Point": 2,
    "Second": 4,
}
UNCOUNTED = {
    "LIMIT": "it is of type int, which is read, not called",
    "Plain": "its instances are made by no Python function",
    "Color": "the members of an enum are made with it",
    "absolute": "it is of type builtin_function_or_method",
}


@pytest.fixture
def probe(python: Python, tmp_path: Path) -> Python:
    """`patchkit probe`, with journals that the test takes away, beside the programs."""
    for name in ("upstream", "kinds", "processes", "server"):
        text = program(__file__, f"probed_{name}")
        (tmp_path / f"probed_{name}.py").write_text(text)
    (tmp_path / "probed_late.py").write_text("def late(): pass\n")

    def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return python(
            "-m", "patchkit", "probe", *words, **{"TMPDIR": str(tmp_path), **environ}
        )

    return run


def answer(child: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What a probe has printed as JSON, its targets by name."""
    data = json.loads(child.stdout)
    targets = {target["target"]: target for target in data["targets"]}
    return {**data, "targets": targets}


def test_every_kind_of_target_is_counted(probe: Python) -> None:
    """Functions, methods, properties and classes are counted each for itself."""
    names = [f"{UP}:{name}" for name in CALLS]
    child = probe(*names, "--format", "json", "--", sys.executable, "probed_kinds.py")
    assert child.returncode == 0, child.stderr
    counted = {}
    for name, target in answer(child)["targets"].items():
        (process,) = target["processes"]
        counted[name.partition(":")[2]] = process["calls"]
    expected = dict(CALLS)
    if sys.version_info < (3, 12):
        # A wrapper lies around one name, and not around the function.
        expected["re_exported"] = 0
    assert counted == expected


def test_what_cannot_be_counted_says_why(probe: Python) -> None:
    """Calls are null with a reason, and the import tells the role."""
    names = [f"{UP}:{name}" for name in UNCOUNTED]
    child = probe(
        *names, UP, "--format", "json", "--", sys.executable, "probed_kinds.py"
    )
    targets = answer(child)["targets"]
    for name, reason in {**UNCOUNTED, "": "a module is imported, not called"}.items():
        target = targets[f"{UP}:{name}" if name else UP]
        (process,) = target["processes"]
        assert process["calls"] is None
        assert process["reason"].startswith(reason)
        assert target["roles"] == ["main"]
        assert target["evidence"] == "imported"


def test_the_first_call_has_its_place(probe: Python, tmp_path: Path) -> None:
    """It is the nearest line of the program itself."""
    names = f"{UP}:Child.method", f"{UP}:coroutine"
    child = probe(*names, "--format", "json", "--", sys.executable, "probed_kinds.py")
    targets = answer(child)["targets"]
    lines = (tmp_path / "probed_kinds.py").read_text().splitlines()
    (method,) = targets[f"{UP}:Child.method"]["processes"]
    assert method["first"]["file"] == str(tmp_path / "probed_kinds.py")
    assert "child.method()" in lines[method["first"]["line"] - 1]
    assert method["first"]["at"] == "<module>"
    (coroutine,) = targets[f"{UP}:coroutine"]["processes"]
    assert coroutine["first"]["at"] == "main"


def test_the_program_computes_what_it_computes(probe: Python, python: Python) -> None:
    """It prints the same, on the stdout of the probe; the table follows it."""
    names = [f"{UP}:{name}" for name in CALLS]
    plain = python("probed_kinds.py")
    child = probe(*names, "--", sys.executable, "probed_kinds.py")
    assert plain.stdout == "computed 2 1 3\n"
    assert child.stdout.startswith(plain.stdout)
    lines = child.stdout.splitlines()
    at = lines.index(f"{UP}:Child.method")
    assert lines[at + 1] == "  roles: main"
    assert "called 8 times, first from " in lines[at + 2]


def test_the_table_says_why_a_role_is_not_sure(probe: Python) -> None:
    """It tells a target that was never called, and one whose module was never imported."""
    names = f"{UP}:never", "probed_late:late", f"{UP}:LIMIT"
    child = probe(*names, "--", sys.executable, "probed_kinds.py")
    assert child.returncode == 0
    assert (
        "  roles: main (it was never called; its module was imported there)"
        in child.stdout
    )
    assert (
        "  roles: none (its module was never imported under this name: the run did not get"
        " there, or ran it as a script)" in child.stdout
    )
    assert (
        "(its calls cannot be counted; its module was imported there)" in child.stdout
    )


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_each_process_counts_for_itself(probe: Python, start: str) -> None:
    """A killed process and eight threads lose no call, and roles follow from who called."""
    names = [f"{UP}:plain", f"{UP}:Child.method", f"{UP}:never", "probed_late:late"]
    command = [sys.executable, "probed_processes.py", start]
    child = probe(*names, "--format", "json", "--", *command)
    assert child.returncode == 7, child.stderr
    data = answer(child)
    by_role: dict[str, dict[str, Any]] = {}
    for name, target in data["targets"].items():
        for process in target["processes"]:
            by_role.setdefault(name, {})[",".join(process["roles"])] = process
    plain = {role: process["calls"] for role, process in by_role[f"{UP}:plain"].items()}
    assert plain == {"main": 3, "engine-core": 5, "worker": 16000}
    assert data["targets"][f"{UP}:plain"]["roles"] == ["main", "engine-core", "worker"]
    assert data["targets"][f"{UP}:Child.method"]["roles"] == ["engine-core"]
    assert data["targets"][f"{UP}:never"]["roles"] == ["main", "engine-core", "worker"]
    assert data["targets"]["probed_late:late"]["roles"] == ["worker"]
    late = by_role["probed_late:late"]
    assert {role: process["imported"] for role, process in late.items()} == {
        "main": False,
        "engine-core": False,
        "worker": True,
    }
    first = by_role[f"{UP}:plain"]["worker"]["first"]
    assert first["at"] == "many"


@pytest.mark.parametrize(
    ("target", "name"),
    [("click.core:Comand.invoke", "Command.invoke"), (f"{UP}:planes", f"{UP}:plain")],
)
def test_a_target_that_does_not_exist_is_refused_before_the_run(
    probe: Python, tmp_path: Path, target: str, name: str
) -> None:
    """It names what is near, with exit code 2, and the command is not run."""
    command = [sys.executable, "-c", "open('ran', 'w')"]
    # A module beside the command is no installed package.
    child = probe(target, "--", *command, PYTHONPATH=REPOSITORY)
    assert child.returncode == 2
    assert f"{target} is not in " in child.stderr
    assert name in child.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ((f"{UP}:plain",), "found no command"),
        (("no target", "--", "true"), "found 'no target'"),
        (("--", "true"), "Missing argument 'TARGET"),
        (
            (f"{UP}:plain", "--requests", "none", "--", "true"),
            "--requests: found 'none'",
        ),
    ],
)
def test_wrong_use_is_one_line(
    probe: Python, words: tuple[str, ...], fault: str
) -> None:
    """The exit code is 2."""
    child = probe(*words)
    assert child.returncode == 2
    assert fault in child.stderr


def test_a_command_that_starts_no_python_is_a_finding(probe: Python) -> None:
    """Nothing was seen, and the exit code says so."""
    child = probe(f"{UP}:plain", "--", "true")
    assert child.returncode == 1
    assert "no Python process was started that patchkit could reach" in child.stderr


def test_the_answer_is_kept_for_its_user(probe: Python, tmp_path: Path) -> None:
    """It lies in the folder of the journals, and takes the place of a former one."""
    command = [sys.executable, "probed_kinds.py"]
    (tmp_path / "journal").mkdir()
    kept = tmp_path / "journal" / "probe.json"
    (tmp_path / "elsewhere").write_text("not ours")
    kept.symlink_to(tmp_path / "elsewhere")
    words = [f"{UP}:plain", "--format", "json", "--", *command]
    child = probe(*words, PATCHKIT_JOURNAL=str(tmp_path / "journal"))
    assert json.loads(kept.read_text()) == json.loads(child.stdout)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "elsewhere").read_text() == "not ours"


def test_a_command_that_a_signal_ends_has_an_answer(probe: Python) -> None:
    """The probe ends by the same signal, once it has printed what was seen."""
    code = f"import os, {UP}; {UP}.plain(1); os.kill(os.getpid(), 15)"
    child = probe(f"{UP}:plain", "--", sys.executable, "-c", code)
    assert child.returncode == -15
    assert "called once, first from " in child.stdout


def test_patchkit_that_is_switched_off_sees_nothing(probe: Python) -> None:
    """It is refused before the run."""
    child = probe(f"{UP}:plain", "--", "true", PATCHKIT="0")
    assert child.returncode == 2
    assert "PATCHKIT is '0'" in child.stderr


def free_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def test_requests_go_to_the_server_that_is_started(probe: Python) -> None:
    """They are sent once it is ready; it is ended by SIGINT, which is no fault."""
    command = [sys.executable, "probed_server.py", "--port", free_port()]
    words = [f"{UP}:plain", "--requests", "3", "--format", "json"]
    child = probe(*words, "--", *command)
    assert child.returncode == 0, child.stderr
    (process,) = answer(child)["targets"][f"{UP}:plain"]["processes"]
    assert process["calls"] == 3
    assert child.stderr.count("/v1/completions tiny Hello") == 3


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_a_server_needs_no_dashes(probe: Python, tmp_path: Path, engine: str) -> None:
    """`--requests` may stand among its options, and the command does not get it."""
    script = tmp_path / engine
    script.write_text(f'#!/bin/sh\nexec {sys.executable} probed_server.py "$@"\n')
    script.chmod(0o755)
    (tmp_path / "bodies.jsonl").write_text(
        '{"messages": [], "model": "mine"}\n\n{"prompt": "wrong"}\n'
    )
    serve = [str(script), "serve", "MODEL", "--port", free_port()]
    child = probe(f"{UP}:plain", *serve, "--requests", "bodies.jsonl")
    assert child.returncode == 1
    assert "/v1/chat/completions mine None" in child.stdout
    assert "/v1/completions answered 400" in child.stderr
    assert "called twice" in child.stdout or "called 2 times" in child.stdout


def test_a_server_that_ends_too_early_is_a_finding(probe: Python) -> None:
    """Nobody waits for it for ever."""
    command = [sys.executable, "-c", "pass"]
    child = probe(f"{UP}:plain", "--requests", "1", "--", *command)
    assert child.returncode == 1
    assert "the command ended before all requests were answered" in child.stderr
