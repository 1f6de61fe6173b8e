from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.packages import REPOSITORY
from support.samples import pack_source

if TYPE_CHECKING:
    from collections.abc import Callable

    Done = subprocess.CompletedProcess[str]
    Python = Callable[..., Done]

pytestmark = pytest.mark.processes

COUNT = 60
HERE = {
    "VLLM_VERSION": "0.32.0",
    "PATCHKIT_ONLY": ",".join(f"p{n}" for n in range(COUNT)),
}
VALUES = """
import sys
import vllm.values

def patched(*names):
    return all(getattr(vllm.values, name) == "patched" for name in names)
"""


@pytest.fixture
def bisect(python: Python, tmp_path: Path) -> Python:
    """`patchkit bisect` over a pack of sixty; the command is Python code, or words."""
    write_pack(tmp_path)
    package = tmp_path / "vllm"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "values.py").write_text(
        "".join(f"p{number} = ''\n" for number in range(COUNT))
    )

    def run(
        *words: str, code: str = "", command: tuple[str, ...] = (), **environ: str
    ) -> Done:
        command = command or (sys.executable, "-c", VALUES + code)
        flags = ("--patches", "sixty", *words)
        return python(
            "-m", "patchkit", "bisect", *flags, "--", *command, **{**HERE, **environ}
        )

    return run


def write_pack(folder: Path, more: str = "") -> None:
    """Write sixty rows, each of which patches a value that is called as the row is."""
    (folder / "sixty").mkdir(exist_ok=True)
    rows = f"""
def row(number):
    more = {{{more}}}.get(number, {{}})
    change = Replace(f"vllm.values:p{{number}}", by="value")
    return Patch(
        name=f"p{{number}}", requires=("vllm>=0.11",), roles={{Role.MAIN}}, changes=(change,),
        **{{"body": "patch_values", **more}},
    )

PATCHES = tuple(map(row, range({COUNT})))
"""
    (folder / "sixty" / "__init__.py").write_text(pack_source() + rows)
    (folder / "sixty" / "patch_values.py").write_text("value = 'patched'\n")


def result(done: Done) -> dict[str, Any]:
    """Check that a search found culprits, and return what it printed."""
    assert done.returncode == 1, done.stderr
    data: dict[str, Any] = json.loads(done.stdout)
    return data


def error(done: Done) -> str:
    """Check that a search ended with an error, and return its last line."""
    assert (done.returncode, done.stdout) == (2, ""), done
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_one_culprit_of_sixty(bisect: Python) -> None:
    """One culprit of sixty is found in eight runs: first without patches, last with it alone."""
    outcome = result(bisect("--format", "json", code="sys.exit(patched('p41'))"))
    assert outcome["culprits"] == [["p41"]]
    assert len(outcome["runs"]) == 8
    first, last = outcome["runs"][0], outcome["runs"][-1]
    assert (first["patches"], first["exit"]) == ([], 0)
    assert (last["patches"], last["exit"]) == (["p41"], 1)
    assert all(run["seconds"] > 0 for run in outcome["runs"])


def test_two_culprits_are_found_together_and_shown_as_a_table(
    bisect: Python, tmp_path: Path
) -> None:
    """The table has a line for each run, and names the two culprits last."""
    done = bisect(code="sys.exit(patched('p8', 'p51') * 3)")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["run", "exit", "seconds", "patches"]
    assert lines[1].split()[:3] == ["1", "0", "good"]
    assert lines[1].endswith("none")
    assert lines[3].split()[:3] == ["3", "0", "good"]
    assert lines[3].endswith("48 patches")
    assert lines[4].split()[:3] == ["4", "3", "bad"]
    assert lines[-2] == "culprits, together: p8, p51"
    assert len([line for line in lines if line[:1].isdigit()]) <= 16
    assert "patchkit: run 3: 48 patches, exit 0 after" in done.stderr
    (folder,) = (tmp_path / ".patchkit-bisect").iterdir()
    assert lines[-1].endswith(f".patchkit-bisect/{folder.name}")
    assert list((folder / "1.journal").glob("*.jsonl"))


def test_what_comes_after_a_named_patch_is_suspected_too(
    bisect: Python, tmp_path: Path
) -> None:
    """Suspects are the named patches and those that come after them; others stay as they are."""
    write_pack(tmp_path, "5: {'after': ('p2',)}, 9: {'after': ('p5',)}")
    code = "sys.exit(patched('p0', 'p5') or 2 * (patched('p5') > patched('p2')) or patched('p59'))"
    words = ("--format", "json", "--patch", "p2", "--patch", "p30")
    outcome = result(bisect(*words, code=code, PATCHKIT_DISABLE="p59"))
    (state,) = tmp_path.glob(".patchkit-bisect/*/state.json")
    assert json.loads(state.read_text())["suspects"] == ["p2", "p5", "p9", "p30"]
    assert (outcome["culprits"], outcome["beside"]) == ([["p5"]], [["p2"]])


def test_a_patch_that_needs_another_is_named_with_it(
    bisect: Python, tmp_path: Path
) -> None:
    """A patch that needs another is a culprit together with it. A run without the other is skipped,
    whatever the command's exit code is.
    """
    write_pack(tmp_path, "7: {'body': 'patch_needing'}")
    needing = (
        "import vllm.values\n"
        "if not vllm.values.p3: raise ImportError('p3')\n"
        "value = 'patched'\n"
    )
    (tmp_path / "sixty" / "patch_needing.py").write_text(needing)
    words = [word for name in ("p3", "p5", "p7") for word in ("--patch", name)]
    outcome = result(
        bisect("--format", "json", *words, code="sys.exit(3 * patched('p7'))")
    )
    assert outcome["culprits"] == [["p3", "p7"]]
    (alone,) = [run for run in outcome["runs"] if run["failed"]]
    assert (alone["patches"], alone["exit"]) == (["p7"], 1)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (
            "",
            "with all of the 60 suspected patches the command passes, expected that it fails",
        ),
        ("sys.exit(125)", "the command cannot be judged, expected that it passes"),
        (
            "sys.exit(125 * patched('p59'))",
            "the command cannot be judged, expected that it fails",
        ),
        (
            "sys.exit(1)",
            "with none of the 60 suspected patches the command fails, expected that it",
        ),
        ("sys.exit(128)", "run 1: 0 patches, exit 128 ends the search"),
        ("import os; os.kill(os.getpid(), 15)", "0 patches, exit -15 ends the search"),
    ],
)
def test_what_cannot_be_searched_is_one_line(
    bisect: Python, code: str, says: str
) -> None:
    """It says which of none and all was not as it must be, or what ended the search."""
    assert says in error(bisect(code=code))


def test_wrong_use_is_an_error(bisect: Python) -> None:
    """An unknown patch or command, or no patch that applies, ends `bisect` with an error."""
    assert "--patch: found 'p60'" in error(bisect("--patch", "p60", code="0"))
    assert "no-such-command: cannot be run" in error(
        bisect(command=("no-such-command",))
    )
    every = HERE["PATCHKIT_ONLY"]
    assert "no patch applies here" in error(bisect(code="0", PATCHKIT_DISABLE=every))


def test_a_run_that_exits_with_125_is_skipped(bisect: Python) -> None:
    """A run that exits with 125 is skipped: it counts neither as good nor as bad."""
    names = [word for name in ("p3", "p5", "p7") for word in ("--patch", name)]
    code = "sys.exit(125 if patched('p3') > patched('p5') else patched('p3'))"
    outcome = result(bisect("--format", "json", *names, code=code))
    assert outcome["culprits"] == [["p3", "p5"]]
    assert 125 in [run["exit"] for run in outcome["runs"]]


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        ((), "import os\nif patched('p1'): os.kill(os.getpid(), 11)", -11),
        (("--timeout", "5"), "import time\nif patched('p1'): time.sleep(600)", 124),
    ],
)
def test_a_fault_and_a_hang_are_bad(
    bisect: Python, words: tuple[str, ...], code: str, exit_code: int
) -> None:
    """A command that dies of a signal, or is not done in time, has failed."""
    names = ("--patch", "p1", "--patch", "p2")
    outcome = result(bisect("--format", "json", *names, *words, code=code))
    assert outcome["culprits"] == [["p1"]]
    assert outcome["runs"][-1]["exit"] == exit_code


def test_a_flaky_command_is_run_several_times(bisect: Python) -> None:
    """With `--runs 2` a set is good if the command passes twice, and bad if it fails once."""
    code = """
from pathlib import Path
lines = Path("lines")
lines.write_text((lines.read_text() if lines.exists() else "") + "x" * patched("p30"))
sys.exit(patched("p30") and len(lines.read_text()) % 2 == 0)
"""
    outcome = result(
        bisect("--format", "json", "--runs", "2", "--patch", "p30", code=code)
    )
    assert outcome["culprits"] == [["p30"]]
    assert [run["exit"] for run in outcome["runs"]] == [0, 0, 0, 1]


STOP = """
from pathlib import Path
if Path("stop").exists() and patched("p3"):
    sys.exit(200)
sys.exit(patched("p3"))
"""


def test_resume_goes_on_where_the_search_was(bisect: Python, tmp_path: Path) -> None:
    """`--resume` does not repeat runs that are known, and comes to the same result."""
    words = ("--format", "json", "--patch", "p3", "--patch", "p45")
    uninterrupted = result(bisect(*words, code=STOP))
    (tmp_path / "stop").touch()
    assert "run 2: 1 patch, exit 200 ends" in error(bisect(*words, code=STOP))
    (tmp_path / "stop").unlink()
    done = bisect("--resume", *words, code=STOP)
    assert "patchkit: 1 run known" in done.stderr
    assert "run 1:" not in done.stderr
    outcome = result(done)
    assert outcome["culprits"] == uninterrupted["culprits"] == [["p3"]]
    made = [(run["patches"], run["exit"]) for run in outcome["runs"]]
    assert made == [(run["patches"], run["exit"]) for run in uninterrupted["runs"]]
    again = bisect("--resume", *words, code=STOP)
    assert result(again) == outcome
    assert "run 1:" not in again.stderr


def test_only_the_same_search_is_resumed(bisect: Python, tmp_path: Path) -> None:
    """`--resume` is refused after a change of command, suspects, options, bodies or its state."""
    code = "sys.exit(patched('p3'))"
    other_code = "sys.exit(patched('p4'))"
    suspect = ("--patch", "p3")
    assert "state.json: [Errno 2]" in error(bisect("--resume", *suspect, code=code))
    result(bisect("--format", "json", *suspect, code=code))
    assert "found no bisect of this command" in error(
        bisect("--resume", *suspect, code=other_code)
    )
    assert "suspects: found others" in error(bisect("--resume", code=code))
    assert "timeout: found others" in error(
        bisect("--resume", *suspect, "--timeout", "9", code=code)
    )
    (tmp_path / "sixty" / "patch_values.py").write_text("value = str('patched')\n")
    assert "patches: found others" in error(bisect("--resume", *suspect, code=code))
    (state,) = tmp_path.glob(".patchkit-bisect/*/state.json")
    (tmp_path / "sixty" / "patch_values.py").write_text("value = 'patched'\n")
    kept = json.loads(state.read_text())
    state.write_text("[]")
    assert "state.json: " in error(bisect("--resume", *suspect, code=code))
    state.write_text(json.dumps({**kept, "runs": [1]}))
    assert "state.json: " in error(bisect("--resume", *suspect, code=code))


STARTS = """
import os, subprocess, sys, time
from pathlib import Path
import vllm.values
if vllm.values.p3:
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    Path("pids").write_text(f"{os.getpid()} {child.pid}")
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_search_leaves_nothing_running(
    bisect: Python, tmp_path: Path, number: signal.Signals
) -> None:
    """Neither the command nor what it started in a session of its own; what is known stays."""
    os.mkfifo(tmp_path / "pids")
    words = [
        "-m",
        "patchkit",
        "bisect",
        "--patches",
        "sixty",
        "--",
        sys.executable,
        "-c",
        STARTS,
    ]
    path = os.pathsep.join([str(tmp_path), str(REPOSITORY)])
    search = subprocess.Popen(
        [sys.executable, *words],
        cwd=tmp_path,
        env={**os.environ, **HERE, "PYTHONPATH": path},
        stderr=subprocess.PIPE,
        text=True,
    )
    # Waits until the command writes them.
    pids = (tmp_path / "pids").read_text().split()
    search.send_signal(number)
    _, err = search.communicate(timeout=60)
    assert (search.returncode, err.splitlines()[-1]) == (130, "patchkit: interrupted")
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    (state,) = tmp_path.glob(".patchkit-bisect/*/state.json")
    assert [run["exit"] for run in json.loads(state.read_text())["runs"]] == [0]


def test_what_a_command_leaves_running_is_ended(bisect: Python, tmp_path: Path) -> None:
    """What the command of a run leaves behind is ended, so that the next run does not have it."""
    daemon = "subprocess.Popen(['sleep', '600'], start_new_session=True)"
    code = f"import subprocess\nprint({daemon}.pid)\nsys.exit(patched('p3'))"
    assert bisect("--patch", "p3", code=code).returncode == 1
    pids = [int(log.read_text()) for log in tmp_path.glob(".patchkit-bisect/*/*.log")]
    assert len(pids) == 2
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
