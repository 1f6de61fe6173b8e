"""The conformance run without an engine: its command line, its outcomes, its report."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from patchkit_conformance import __main__ as tool
from patchkit_conformance import (
    applying,
    checks,
    command,
    engines,
    machine,
    markdown,
    release,
    results,
)
from patchkit_lab import cluster, scenario
from support.packages import row, world

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["world"]

HERE = machine.Machine(
    simulated=False,
    kind="npu",
    devices=2,
    settings={},
    armed={},
    single={},
    facts={"platform": "npu", "devices": "2 x Ascend910B"},
)
BIND = "VLLM_CPU_OMP_THREADS_BIND"
KNOWN = {"vllm": "0.32.0", "torch_npu": None}


class PretendedEngines(engines.Engines):
    """Engines that are not run: the test says what they generate."""

    def __init__(
        self,
        directory: Path,
        here: machine.Machine = HERE,
        tokens: tuple[int, ...] = (1, 2),
    ) -> None:
        super().__init__(Path(sys.executable), here, directory)
        self._tokens = tokens

    def baseline(self) -> list[int]:
        return [1, 2]

    def single(self) -> engines.Run:
        report = scenario.Report(list(self._tokens), 7, [])
        return engines.Run(report, self.directory, 1.0)


def report(*checked: results.Result, simulated: bool = False) -> results.Report:
    """A report of some results, on simulated NPUs or on real ones."""
    rows = ({"row": "simnpu-x", "why": "It has no y."},) if simulated else ()
    return results.Report(KNOWN, HERE.facts, simulated, checked, rows)


def result(
    check: str, word: str, detail: str = "because", log: str = ""
) -> results.Result:
    """The result of a check."""
    return results.Result(check, word, 1.2, detail, log)


# -- the command line -----------------------------------------------------------------------------


def test_checks_run_in_their_own_order_whatever_is_asked_first() -> None:
    """`--checks` chooses among them, and does not order them."""
    assert tool.arguments(["--checks", "status,check"]).checks == ("check", "status")
    assert tool.arguments([]).checks == tuple(checks.CHECKS)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["--checks", "chek"], "found 'chek', expected some of check, apply"),
        (["--env", "NAME"], "found 'NAME', expected NAME=VALUE"),
    ],
)
def test_what_cannot_be_meant_is_wrong_use(
    words: list[str], fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends with exit code 2, and one line says what was expected."""
    with pytest.raises(SystemExit) as ended:
        tool.main(words)
    assert ended.value.code == 2
    assert fault in capsys.readouterr().err


@pytest.mark.processes
def test_without_a_vllm_nothing_can_run(capsys: pytest.CaptureFixture[str]) -> None:
    """The run ends with exit code 2, and has no report."""
    assert tool.main(["--simulated", "--checks", "check"]) == 2
    out, err = capsys.readouterr()
    assert "found no vLLM in" in err
    assert out == ""


@pytest.mark.processes
def test_a_run_writes_both_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Markdown goes to standard output, JSON to the file; a check that failed gives exit code 1."""
    monkeypatch.setattr(
        tool, "run", lambda options, directory: report(result("check", "failed"))
    )
    file = tmp_path / "report.json"
    assert tool.main(["--json", str(file)]) == 1
    assert capsys.readouterr().out.startswith("## patchkit conformance: 1 failed\n")
    written = json.loads(file.read_text())
    keys = {"versions", "machine", "simulated", "results", "simulation"}
    assert set(written) == keys
    assert written["results"][0]["detail"] == "because"


# -- outcomes -------------------------------------------------------------------------------------


def test_other_tokens_than_the_baselines_fail_a_check() -> None:
    """The baseline's own pass; a failure has both in its detail."""
    there = Path("/nowhere")
    assert (
        tool.outcome("engine", checks.engine, PretendedEngines(there)).result
        == "passed"
    )
    failed = tool.outcome(
        "engine", checks.engine, PretendedEngines(there, tokens=(1, 3))
    )
    assert failed.result == "failed"
    assert failed.detail == "found tokens [1, 3], expected the baseline's [1, 2]"


@pytest.mark.parametrize(
    ("kind", "devices", "check", "reason"),
    [
        (
            "cuda",
            2,
            "flagship",
            "the failure is that of NPUs; vLLM's platform here is cuda",
        ),
        ("cuda", 1, "ray-v2", "needs two devices, found 1"),
        (
            "cpu",
            1,
            "outsider",
            "vLLM's platform here is cpu, which has no devices for Ray",
        ),
    ],
)
def test_what_a_machine_cannot_show_is_not_run(
    kind: str, devices: int, check: str, reason: str
) -> None:
    """The detail is the reason."""
    here = machine.Machine(False, kind, devices, {}, {}, {})
    outcome = tool.outcome(
        check, checks.CHECKS[check], PretendedEngines(Path("/nowhere"), here)
    )
    assert (outcome.result, outcome.detail) == ("not run", reason)


def test_an_executor_that_the_release_lacks_is_not_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The files of vLLM say which executors it has."""
    monkeypatch.setattr(checks, "_has_ray", lambda: True)
    monkeypatch.setattr(release, "package", lambda: Path("/nowhere"))
    outcome = tool.outcome("ray-v2", checks.ray_v2, PretendedEngines(Path("/nowhere")))
    assert outcome.result == "not run"
    assert outcome.detail == "this vLLM has no executor V2 for Ray"


@pytest.mark.parametrize(
    ("file", "executor"),
    [
        ("executor/ray_distributed_executor.py", "ray-v1"),
        ("v1/executor/ray_executor.py", "ray-v1"),
        ("v1/executor/ray_executor_v2.py", "ray-v2"),
    ],
)
def test_executors_are_read_from_files(
    file: str, executor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest that is there is the one that the flagship takes."""
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).touch()
    monkeypatch.setattr(release, "package", lambda: tmp_path)
    assert release.has(executor)
    assert release.default() == executor


@pytest.mark.parametrize(
    ("file", "bound"), [("executor", {BIND: "all|all"}), ("v1/executor", {})]
)
def test_no_release_binds_processes_to_cores(
    file: str, bound: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Releases that have V0 bind to all cores, as they do not know the word `nobind`."""
    (tmp_path / file).mkdir(parents=True)
    (tmp_path / file / "ray_distributed_executor.py").touch()
    monkeypatch.setattr(release, "package", lambda: tmp_path)
    assert release.settings() == bound


def test_a_finding_names_row_release_and_reason() -> None:
    """The line of a finding is what a red lane shows."""
    error = {
        "code": "PK101",
        "patch": "ray-worker-torch-npu",
        "release": "vllm 0.33.0",
        "message": "vllm.v1.executor.ray_utils:RayWorkerWrapper is missing",
    }
    assert checks.finding(error, 2) == (
        "PK101 ray-worker-torch-npu, vllm 0.33.0: "
        "vllm.v1.executor.ray_utils:RayWorkerWrapper is missing (and 1 more)"
    )


def test_a_run_that_failed_is_not_repeated(tmp_path: Path) -> None:
    """Whoever asks again gets the same failure."""
    engine = PretendedEngines(tmp_path)
    runs = []

    def fail() -> int:
        runs.append(1)
        raise results.Failed("it broke")

    for _ in range(2):
        with pytest.raises(results.Failed, match="it broke"):
            engine._once("thing", fail)
    assert runs == [1]


def test_the_first_error_of_a_log_is_the_cause() -> None:
    """A log without an error has its last line as the cause."""
    error = "\x1b[36m(Worker pid=7)\x1b[0m   RuntimeError: no device"
    log = f"INFO Error: none\nTraceback:\n{error}\nValueError: later"
    assert engines.cause(log) == "RuntimeError: no device"
    assert engines.cause("one\ntwo") == "two"


def test_without_patchkit_the_simulation_keeps_its_rows() -> None:
    """An old release would fail without those; on a real machine, patchkit is off altogether."""
    rows = ({"row": "simnpu-x", "why": ""}, {"row": "simnpu-y", "why": ""})
    here = machine.Machine(True, "npu", 2, {}, {"A": "1"}, {}, simulation=rows)
    assert here.bare == {"A": "1", "PATCHKIT_ONLY": "simnpu-x,simnpu-y"}
    assert HERE.bare == {"PATCHKIT": "0"}


# -- rows that are listed, checked and applied -----------------------------------------------------


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `patchkit list` and `patchkit check` say."""
    row = {"name": "p", "pack": "patchkit.platform", "selected": True}
    listed = {"patches": [row], "versions": {"vllm": {"version": "0.32.0"}}}
    checked = {"releases": ["vllm 0.32.0"], "findings": []}
    by_command = {"list": listed, "check": checked}
    monkeypatch.setattr(command, "answer", lambda _, *words: (0, by_command[words[0]]))
    return by_command


def test_rows_that_are_for_here_are_named(answers: dict[str, Any]) -> None:
    """The detail has their names, and how many rows there are in all."""
    assert checks.check(PretendedEngines(Path("/nowhere"))) == "1 rows, 1 for here: p"


def test_no_row_for_here_is_a_failure(answers: dict[str, Any]) -> None:
    """A run of nothing shows nothing."""
    answers["list"]["patches"][0]["selected"] = False
    outcome = tool.outcome("check", checks.check, PretendedEngines(Path("/nowhere")))
    assert outcome.result == "failed"
    assert outcome.detail == "patchkit selects none of its 1 rows here"


def test_an_answer_about_other_releases_is_a_failure(answers: dict[str, Any]) -> None:
    """What is installed has to be among those that were read."""
    answers["check"]["releases"] = ["vllm 0.31.0"]
    outcome = tool.outcome("check", checks.check, PretendedEngines(Path("/nowhere")))
    expected = "patchkit check read vllm 0.31.0; expected the installed vllm 0.32.0"
    assert (outcome.result, outcome.detail) == ("failed", expected)


APPLIED: dict[str, Any] = {
    "applied": ["p", "q"],
    "targets": 3,
    "not_shown": [],
    "wrong": [],
}
"""What the child that applies the rows writes."""


def test_what_was_applied_is_named() -> None:
    """The rows go into the report; what cannot be seen is not counted, but named."""
    outcome = tool.outcome(
        "apply", lambda _: checks.applied(APPLIED), PretendedEngines(Path("/nowhere"))
    )
    assert outcome.detail == "2 rows, 3 targets: applied, undone, as before"
    assert outcome.rows == ("p", "q")
    unseen = checks.applied({**APPLIED, "not_shown": ["torch of p"]})
    assert unseen.detail.endswith("as before; not shown here: torch of p")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"applied": []}, "patchkit selects no row to apply here"),
        ({"wrong": ["p: it stayed", "q: too"]}, "p: it stayed"),
    ],
)
def test_what_was_not_applied_is_a_failure(more: dict[str, Any], reason: str) -> None:
    """It is one if no row was applied, as it is if something is wrong."""
    outcome = tool.outcome(
        "apply",
        lambda _: checks.applied({**APPLIED, **more}),
        PretendedEngines(Path("/no")),
    )
    assert (outcome.result, outcome.detail) == ("failed", reason)


@pytest.mark.processes
def test_applying_lists_what_it_cannot_show(world: World) -> None:
    """A change after an import that was long ago shows nowhere, and is not counted."""
    world.module("up.mod", "def f(): return 1")
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:f', by='w')"),
        row("q", "patch_a", "AfterImport('up.mod', call='note')"),
        patch_a="def w(wrapped, instance, args, kwargs): ...\ndef note(module): ...\n",
    )
    done = world.run(str(applying.__file__), "pack", PATCHKIT_PATCHES="pack")
    assert done.stdout, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer == {
        "applied": ["p", "q"],
        "targets": 1,
        "not_shown": ["up.mod of q"],
        "wrong": [],
    }


# -- whose answers they are ------------------------------------------------------------------------


@pytest.mark.processes
def test_the_callers_folder_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its settings nor a folder called patchkit in it are used."""
    (tmp_path / "patchkit").mkdir()
    (tmp_path / "patchkit" / "__main__.py").write_text("print('{}')")
    (tmp_path / "pyproject.toml").write_text(
        "[tool.patchkit]\npacks = ['no_such_pack']\n"
    )
    monkeypatch.chdir(tmp_path)
    code, answer = command.answer({}, "list")
    assert code == 0
    assert "patches" in answer


@pytest.mark.processes
def test_another_patchkit_than_the_installed_one_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends with exit code 2, as its answers would not be about what is installed."""
    monkeypatch.setattr(command, "other_patchkit", lambda here: "/installed/patchkit")
    assert tool.main(["--checks", "check"]) == 2
    assert "expected the installed one (/installed/patchkit)" in capsys.readouterr().err
    monkeypatch.undo()
    installed = command.other_patchkit("/elsewhere/patchkit/__init__.py")
    assert command.other_patchkit(installed) == ""
    assert installed.endswith("patchkit/__init__.py")


# -- the report -----------------------------------------------------------------------------------


def test_the_report_is_a_page_that_can_be_pasted() -> None:
    """It has versions, the machine, a table of checks, and the log of what failed."""
    passed = result("check", "passed", "a | b")
    failed = result("ray-v1", "failed", log="boom\nbang")
    page = markdown.page(report(passed, failed))
    assert page.startswith("## patchkit conformance: 1 passed, 1 failed\n")
    assert (
        "| vllm | 0.32.0 |\n| torch_npu | not installed |\n| platform | npu |\n" in page
    )
    assert (
        "| `check` | passed | 1 | a \\| b |\n| `ray-v1` | **failed** | 1 | because |\n"
        in page
    )
    assert page.endswith("### `ray-v1` failed\n\n```text\nboom\nbang\n```\n")
    assert "simulated" not in page


def test_a_log_is_shown_once() -> None:
    """Checks that failed with the same log have one section that names them all."""
    failed = [result(name, "failed", log="boom") for name in ("a", "b")]
    page = markdown.page(report(*failed))
    assert page.endswith("### `a`, `b` failed\n\n```text\nboom\n```\n")
    assert page.count("boom") == 1


def test_a_simulated_run_says_so() -> None:
    """It does so in the title and at the end, and names each row that only the simulation needs."""
    page = markdown.page(report(result("check", "passed"), simulated=True))
    assert page.startswith("## patchkit conformance on simulated NPUs: 1 passed\n")
    assert page.endswith(
        "Only the simulation needs these rows:\n\n- `simnpu-x`: It has no y.\n"
    )
    assert "These are simulated NPUs" in page


def test_free_ports_lie_below_those_that_the_kernel_gives_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each port is given once, from the lowest that is allowed up to the kernel's first."""
    monkeypatch.setattr(cluster, "KERNEL_PORTS", tmp_path / "range")
    (tmp_path / "range").write_text(f"{cluster.LOWEST_PORT + 5000}\t60999\n")
    ports = cluster.free_ports(100)
    assert len(set(ports)) == 100
    assert min(ports) >= cluster.LOWEST_PORT
    assert max(ports) < cluster.LOWEST_PORT + 5000
