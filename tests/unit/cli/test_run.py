from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.packages import REPOSITORY
from support.programs import program
from support.samples import pack_source, row_source

from patchkit.cli.ways_in import SITECUSTOMIZE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable

    Python = Callable[..., subprocess.CompletedProcess[str]]
    Pack = Callable[..., Path]

pytestmark = pytest.mark.processes

SAY = """
import json, os, sys
print(json.dumps({
    "armed": "patchkit.auto" in sys.modules,
    "path": sys.path,
    "environ": dict(os.environ),
    "sitecustomize": getattr(sys.modules.get("sitecustomize"), "MINE", None),
}))
"""


@pytest.fixture
def patchkit_run(python: Python, tmp_path: Path) -> Python:
    """`patchkit run`, with journals that the test takes away."""
    (tmp_path / "say.py").write_text(SAY)

    def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return python(
            "-m", "patchkit", "run", *words, **{"TMPDIR": str(tmp_path), **environ}
        )

    return run


def report(child: subprocess.CompletedProcess[str]) -> dict[str, object]:
    """Check that a child that ran SAY ended well, and return what it printed."""
    assert child.returncode == 0, child.stderr
    data: dict[str, object] = json.loads(child.stdout)
    return data


@pytest.mark.parametrize("words", [["say.py"], ["-m", "say"], ["-c", SAY]])
def test_python_is_armed_however_it_is_called(
    patchkit_run: Python, words: list[str]
) -> None:
    """A script, a module and a string are all armed."""
    assert report(patchkit_run("--", sys.executable, *words))["armed"] is True


def test_a_console_script_and_a_shell_script_are_armed(
    patchkit_run: Python, tmp_path: Path
) -> None:
    """What starts Python by its first line, or from a shell, is armed as well."""
    script = tmp_path / "serve"
    script.write_text(f"#!{sys.executable}\n{SAY}")
    shell = tmp_path / "start.sh"
    shell.write_text(f"#!/bin/sh\n'{script}'\n")
    for file in (script, shell):
        file.chmod(0o755)
        assert report(patchkit_run("--", str(file)))["armed"] is True


def test_a_spawned_child_is_armed(patchkit_run: Python, tmp_path: Path) -> None:
    """The environment reaches the processes that the command starts."""
    (tmp_path / "spawn.py").write_text(program(__file__, "spawn"))
    assert report(patchkit_run("--", sys.executable, "spawn.py"))["armed"] is True


def test_the_users_own_sitecustomize_still_runs(
    patchkit_run: Python, tmp_path: Path
) -> None:
    """Ours steps aside: the next one on the path is the process's sitecustomize."""
    (tmp_path / "sitecustomize.py").write_text("MINE = 'the user\\'s own'\n")
    data = report(patchkit_run("--", sys.executable, "say.py"))
    assert (data["sitecustomize"], data["armed"]) == ("the user's own", True)


def test_a_sitecustomize_that_fails_does_not_keep_patches_out(
    patchkit_run: Python, tmp_path: Path
) -> None:
    """Python reports the user's error as it always does, and the process is armed."""
    (tmp_path / "sitecustomize.py").write_text("raise RuntimeError('of the user')\n")
    child = patchkit_run("--", sys.executable, "say.py")
    assert report(child)["armed"] is True
    assert "RuntimeError: of the user" in child.stderr


def test_the_path_is_as_it_was(patchkit_run: Python, tmp_path: Path) -> None:
    """Our folder is gone from sys.path; the user's PYTHONPATH keeps its order behind it."""
    data = report(patchkit_run("--", sys.executable, "say.py"))
    path = data["path"]
    assert isinstance(path, list)
    assert SITECUSTOMIZE_FOLDER not in path
    environ = data["environ"]
    assert isinstance(environ, dict)
    assert environ["PYTHONPATH"].split(os.pathsep)[:2] == [
        SITECUSTOMIZE_FOLDER,
        str(tmp_path),
    ]


def test_patchkit_beside_the_command_comes_last_on_the_path(python: Python) -> None:
    """A Python that has no patchkit gets ours, behind everything that it has."""
    plain = report(python("-c", SAY, PYTHONPATH=""))["path"]
    run = report(python("-c", SAY, PYTHONPATH=SITECUSTOMIZE_FOLDER))
    assert isinstance(plain, list)
    assert isinstance(run["path"], list)
    assert run["armed"] is True
    assert run["path"][: len(plain)] == plain
    assert run["path"][len(plain) :] in (
        [],
        [str(Path(SITECUSTOMIZE_FOLDER).parents[1])],
    )


def test_the_folder_of_patchkit_0_2_still_arms(python: Python, tmp_path: Path) -> None:
    """0.2.0 had the folder `run` elsewhere, and its pages named that for PYTHONPATH."""
    (tmp_path / "sitecustomize.py").write_text("MINE = 'imported'\n")
    old_folder = REPOSITORY / "patchkit" / "bootstrap" / "run"
    path = f"{old_folder}:{tmp_path}"
    run = report(python("-c", SAY, PYTHONPATH=path))
    assert (run["armed"], run["sitecustomize"]) == (True, "imported")
    folders = run["path"]
    assert isinstance(folders, list)
    assert not {str(old_folder), SITECUSTOMIZE_FOLDER}.intersection(folders)
    both = report(python("-c", SAY, PYTHONPATH=f"{SITECUSTOMIZE_FOLDER}:{path}"))
    assert (both["armed"], both["sitecustomize"]) == (True, "imported")


def test_packs_named_by_hand_travel(
    patchkit_run: Python, write_pack: Callable[..., Path]
) -> None:
    """`--patches` and PATCHKIT_PATCHES arrive as one list, and PATCHKIT is on."""
    write_pack("one_pack", pack_source(row_source()))
    write_pack("two_pack", pack_source(row_source(name="'b-patch'")))
    words = (
        "--patches",
        "two_pack",
        "--patches",
        "one_pack",
        "--",
        sys.executable,
        "say.py",
    )
    environ = report(patchkit_run(*words, PATCHKIT_PATCHES="one_pack"))["environ"]
    assert isinstance(environ, dict)
    assert environ["PATCHKIT_PATCHES"] == "one_pack,two_pack"
    assert environ["PATCHKIT"] == "1"


def test_the_packs_that_are_passed_on_are_named(
    patchkit_run: Python, write_pack: Pack
) -> None:
    """One line names the packs of the command, or says that there are none but patchkit's own."""
    write_pack("one_pack", pack_source(row_source()))
    command = ("--", sys.executable, "-c", "pass")
    child = patchkit_run("--patches", "one_pack", *command)
    assert "patchkit: packs: one_pack" in child.stderr.splitlines()
    child = patchkit_run(*command)
    none = (
        "patchkit: no packs but patchkit's own; "
        "--patches one_pack adds the one in this folder"
    )
    assert none in child.stderr.splitlines()


def test_a_fresh_journal_is_the_owners_only_and_named(
    patchkit_run: Python, tmp_path: Path
) -> None:
    """The directory is on stderr, closed to others, the user's, and holds the process's journal."""
    child = patchkit_run("--", sys.executable, "say.py")
    environ = report(child)["environ"]
    assert isinstance(environ, dict)
    journal = Path(environ["PATCHKIT_JOURNAL"])
    assert child.stderr.startswith(f"patchkit: journal in {journal}\n")
    assert json.loads((journal / "run.json").read_text())["command"][1:] == ["say.py"]
    assert journal.parent == tmp_path / f"patchkit-{os.getuid()}"
    assert stat.S_IMODE(journal.stat().st_mode) == 0o700
    assert stat.S_IMODE(journal.parent.stat().st_mode) == 0o700
    assert list(journal.iterdir())


def test_a_journal_that_is_set_is_kept_and_absolute(
    patchkit_run: Python, tmp_path: Path
) -> None:
    """A relative directory means the same to a process that has moved elsewhere."""
    environ = report(
        patchkit_run("--", sys.executable, "say.py", PATCHKIT_JOURNAL="mine")
    )["environ"]
    assert isinstance(environ, dict)
    assert environ["PATCHKIT_JOURNAL"] == str(tmp_path / "mine")


def test_a_journal_that_cannot_be_written_tells_nothing(
    patchkit_run: Python, tmp_path: Path
) -> None:
    """Where no journal can be written, nobody knows whether a process was patched."""
    (tmp_path / "file").touch()
    folder = str(tmp_path / "file" / "journals")
    child = patchkit_run("--", sys.executable, "say.py", PATCHKIT_JOURNAL=folder)
    assert report(child)["armed"] is True
    assert f"\npatchkit: no journal can be written to {folder}" in child.stderr
    assert "no Python process was started" not in child.stderr


def test_patchkit_0_runs_the_command_without(patchkit_run: Python) -> None:
    """PATCHKIT=0 wins: the command runs as it would have."""
    child = patchkit_run("--", sys.executable, "say.py", PATCHKIT="0")
    assert report(child)["armed"] is False
    assert "without patches" in child.stderr


def test_patchkit_0_minds_no_other_variable(
    patchkit_run: Python, python: Python
) -> None:
    """With PATCHKIT=0 a malformed setting stops neither the command nor an armed process."""
    malformed = {"PATCHKIT_ON_FAILURE": "sotp", "PATCHKIT_VERIFY": "abc"}
    child = patchkit_run("--", "echo", "ran", PATCHKIT="0", **malformed)
    assert (child.returncode, child.stdout) == (0, "ran\n")
    environ = {"PYTHONPATH": SITECUSTOMIZE_FOLDER, "PATCHKIT": " 0 ", **malformed}
    code = "import sys; print('patchkit' in sys.modules)"
    child = python("-c", code, **environ)
    # Not even imported: a patchkit that is damaged stops nothing, either.
    assert (child.returncode, child.stdout, child.stderr) == (0, "False\n", "")


def test_exit_code_and_signals_are_the_commands_own(patchkit_run: Python) -> None:
    """The command takes the process over: what kills it, or what it returns, is seen."""
    assert patchkit_run("--", "sh", "-c", "exit 7").returncode == 7
    assert patchkit_run("--", "sh", "-c", "kill -TERM $$").returncode == -15


def test_the_end_says_what_became_of_the_patches(
    patchkit_run: Python, write_pack: Pack
) -> None:
    """Two lines: how many patches were applied, failed, …; what there is to look at, and how."""
    for name in ("main", "nothing"):
        text = row_source(
            name=f"'of-{name}'",
            requires="('patchkit>=0',)",
            required="False",
            changes=f"(Replace('json.tool:{name}', by='main'),)",
        )
        folder = write_pack(f"pack_{name}", pack_source(text))
        (folder / "patch_a.py").write_text("def main(): ...\n")
    packs = ("--patches", "pack_main", "--patches", "pack_nothing")
    versions = {"PATCHKIT_VERSIONS": "patchkit=1"}
    child = patchkit_run(
        *packs, "--", sys.executable, "-c", "import json.tool", **versions
    )
    lines = child.stderr.splitlines()[-2:]
    assert lines[0].startswith("patchkit: patches: 1 failed, 1 applied")
    assert lines[0].endswith("in 1 process")
    assert "of-nothing: " in lines[1]
    assert lines[1].endswith("; see 'patchkit status'")


def test_a_patch_that_a_rust_frontend_leaves_without_a_process_is_a_warning(
    patchkit_run: Python, write_pack: Pack
) -> None:
    """With a Rust frontend `run` warns of a patch for it, which no Python process would apply."""
    chat = "(Replace('vllm.entrypoints.openai.serving_chat:f', by='f'),)"
    write_pack("pack_chat", pack_source(row_source(changes=chat)))
    versions = {"PATCHKIT_VERSIONS": "vllm=0.33"}
    words = ("--patches", "pack_chat", "--", sys.executable, "-c", "pass")
    warning = "a-patch has no process with VLLM_USE_RUST_FRONTEND set"
    with_rust = patchkit_run(*words, VLLM_USE_RUST_FRONTEND="1", **versions)
    assert warning in with_rust.stderr
    without_rust = patchkit_run(*words, VLLM_USE_RUST_FRONTEND="0", **versions)
    assert warning not in without_rust.stderr


def test_the_end_counts_as_status_does(
    patchkit_run: Python, python: Python, write_pack: Pack, tmp_path: Path
) -> None:
    """`run` and `status` count patches alike, and leave out a patch for another role."""
    for role in ("MAIN", "WORKER"):
        name = f"of-{role.lower()}"
        requires = "('patchkit>=0',)"
        text = row_source(name=f"{name!r}", roles=f"{{Role.{role}}}", requires=requires)
        folder = write_pack(f"pack_{role.lower()}", pack_source(text))
        (folder / "patch_a.py").touch()
    packs = ("--patches", "pack_main", "--patches", "pack_worker")
    child = patchkit_run(
        *packs, "--", sys.executable, "say.py", PATCHKIT_VERSIONS="patchkit=1"
    )
    tally, last = child.stderr.splitlines()[-2:]
    assert last == "patchkit: no findings; 'patchkit status' has the details"
    shown = python("-m", "patchkit", "status", TMPDIR=str(tmp_path)).stdout
    (line,) = (line for line in shown.splitlines() if line.startswith("main"))
    counts = tally.removeprefix("patchkit: patches: ").removesuffix(" in 1 process")
    assert line.endswith(f"  {counts}")
    assert "armed" in counts


CHILDREN = program(__file__, "children")


def test_children_report_the_patches_of_their_parent(
    patchkit_run: Python, python: Python, write_pack: Pack, tmp_path: Path
) -> None:
    """Spawned and forked children of the script report the patches that their parent has."""
    changes = "(Replace('json.tool:main', by='main'),)"
    here = row_source(name="'of-main'", requires="('patchkit>=0',)", changes=changes)
    folder = write_pack("mine", pack_source(here, row_source(name="'of-nobody'")))
    (folder / "patch_a.py").write_text("def main(): ...\n")
    (tmp_path / "children.py").write_text(CHILDREN)
    words = ("--patches", "mine", "--", sys.executable, "children.py")
    patchkit_run(*words, PATCHKIT_VERSIONS="patchkit=1")
    shown = python("-m", "patchkit", "status", "--format", "json", TMPDIR=str(tmp_path))
    processes = json.loads(shown.stdout)["processes"]
    names = [process["name"] for process in processes]
    assert names == ["", "SpawnProcess-1", "ForkProcess-2"]
    states = []
    for process in processes:
        of_process = {
            patch["name"]: (patch["status"], patch["reason"], patch["layers"])
            for patch in process["patches"]
        }
        states.append(of_process)
    parent, spawned, forked = states
    assert parent["of-main"] == ("applied", None, {"json.tool:main": ["of-main"]})
    assert parent["of-nobody"] == ("skipped", "vllm is not installed", {})
    assert spawned == parent
    assert forked == parent


def test_status_finds_the_newest_run(
    patchkit_run: Python, python: Python, tmp_path: Path
) -> None:
    """Without DIR and PATCHKIT_JOURNAL, `status` reads the journal of the run that began last."""
    patchkit_run("--", sys.executable, "-c", "pass")
    patchkit_run("--", sys.executable, "say.py")
    shown = python("-m", "patchkit", "status", "--format", "json", TMPDIR=str(tmp_path))
    (process,) = json.loads(shown.stdout)["processes"]
    assert process["argv"][-1] == "say.py"


def test_journals_of_old_runs_are_removed(patchkit_run: Python, tmp_path: Path) -> None:
    """`run` removes journals of old runs, but the newest, and one whose process still runs."""
    home = tmp_path / f"patchkit-{os.getuid()}"
    journals = [home / f"20010101-0000{number:02}" for number in range(30)]
    for journal in journals:
        journal.mkdir(parents=True, mode=0o700)
    home.chmod(0o700)
    (journals[0] / f"{os.uname().nodename}-{os.getpid()}-1.jsonl").touch()
    patchkit_run("--", sys.executable, "say.py")
    assert sorted(home.iterdir())[:20] == [journals[0], *journals[11:]]


def test_a_folder_that_others_can_write_to_is_not_used(
    patchkit_run: Python, tmp_path: Path
) -> None:
    """A folder for journals that others can write to stays empty; the journal lies beside it."""
    home = tmp_path / f"patchkit-{os.getuid()}"
    home.mkdir()
    home.chmod(0o777)
    environ = report(patchkit_run("--", sys.executable, "say.py"))["environ"]
    assert isinstance(environ, dict)
    assert Path(environ["PATCHKIT_JOURNAL"]).parent == tmp_path
    assert not list(home.iterdir())


WAIT = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 9), (signal.SIGKILL, -9)])
def test_what_ends_the_run_ends_the_command(
    tmp_path: Path, sent: int, code: int
) -> None:
    """A signal is passed on, and the command's answer is the run's; a kill leaves no orphan."""
    words = [sys.executable, "-m", "patchkit", "run", "--", sys.executable, "-c", WAIT]
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        words, cwd=tmp_path, env=environ, stdout=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"ready\n"
        run.send_signal(sent)
        assert run.stdout.read() == b""  # nobody holds it any more
        assert run.wait(30) == code


def test_sigpipe_ends_the_command_as_it_would_without_patchkit(
    patchkit_run: Python,
) -> None:
    """SIGPIPE ends the command. Python ignores that signal, and a command that inherited this would
    write for ever.
    """
    child = patchkit_run("--", "sh", "-c", "kill -PIPE $$; echo survived")
    assert (child.returncode, child.stdout) == (-13, "")


@pytest.mark.parametrize(
    ("word", "code", "text"),
    [
        ("no-such-command", 127, "found no such command"),
        ("./say.py", 126, "cannot be run"),
    ],
)
def test_what_cannot_be_run_is_one_line(
    patchkit_run: Python, tmp_path: Path, word: str, code: int, text: str
) -> None:
    """The exit codes are a shell's, and no empty journal is left."""
    child = patchkit_run("--", word)
    assert child.returncode == code
    assert f"patchkit: {word}: {text}" in child.stderr
    assert "Traceback" not in child.stderr
    assert not list(tmp_path.glob("patchkit-*/*"))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "VLLM_VERSION",
            "banana",
            "vllm: found 'banana' in VLLM_VERSION, which is no version",
        ),
        (
            "PATCHKIT_VERSIONS",
            "up=x",
            "up: found 'x' in PATCHKIT_VERSIONS, which is no version",
        ),
        (
            "PATCHKIT_VERSIONS",
            "vllm=1,vllm=2",
            "PATCHKIT_VERSIONS: found vllm=1 and vllm=2",
        ),
        (
            "PATCHKIT_ONLY",
            "mine-b",
            "PATCHKIT_ONLY: found 'mine-b', expected a patch's name",
        ),
        (
            "PATCHKIT_DISABLE",
            "mine-a,x",
            "PATCHKIT_DISABLE: found 'x', expected a patch's name",
        ),
        (
            "PATCHKIT_VERIFY",
            "often",
            "PATCHKIT_VERIFY: found 'often', expected seconds",
        ),
    ],
)
def test_settings_that_stop_every_process_are_one_line(
    patchkit_run: Python, write_pack: Pack, name: str, value: str, message: str
) -> None:
    """A setting that would stop every process is one line and 2, before the command starts. Names
    of the pack's own patches are known.
    """
    write_pack("mine", pack_source(row_source(name="'mine-a'")))
    done = patchkit_run("--patches", "mine", "--", "echo", "started", **{name: value})
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert message in line
    if value == "mine-b":
        assert "did you mean mine-a?" in line
    known = {"PATCHKIT_ONLY": "mine-a", "PATCHKIT_DISABLE": "mine-a"}
    done = patchkit_run("--patches", "mine", "--", "echo", "started", **known)
    assert done.stdout == "started\n", done.stderr


def test_a_process_that_cannot_be_armed_stops(patchkit_run: Python) -> None:
    """A process whose pack cannot be imported ends with 2, and says that it is not patched."""
    command = ["env", "PATCHKIT_PATCHES=no_such_pack", sys.executable, "say.py"]
    child = patchkit_run("--", *command)
    assert (child.returncode, child.stdout) == (2, "")
    assert "this process is not patched, so it stops: pack no_such_pack" in child.stderr
    assert "PATCHKIT_ON_FAILURE=warn lets it continue" in child.stderr
    assert "Traceback" not in child.stderr


@pytest.fixture
def bare_python(tmp_path: Path) -> str:
    """A Python of another environment, in which nothing is installed."""
    folder = tmp_path / "bare"
    base = Path(sys.base_prefix, "bin", "python3")
    subprocess.run([base, "-m", "venv", "--without-pip", folder], check=True)
    return str(folder / "bin" / "python")


def _pack_that_needs_click(write_pack: Pack) -> None:
    """A pack that a bare Python cannot import, for `up.thing`."""
    change = "Replace('up.thing:f', by='f')"
    row = row_source(name="'mine-a'", requires="('wheel',)", changes=f"({change},)")
    write_pack("mine", f"import click\n{pack_source(row)}")


def test_a_python_that_cannot_import_a_pack_goes_on(
    patchkit_run: Python, write_pack: Pack, bare_python: str
) -> None:
    """A helper of another environment says once what it lacks, and does its work."""
    _pack_that_needs_click(write_pack)
    child = patchkit_run("--patches", "mine", "--", bare_python, "say.py")
    assert report(child)["armed"] is True
    (line,) = [line for line in child.stderr.splitlines() if "pack mine" in line]
    assert "No module named 'click'" in line
    assert line.endswith(
        "goes on as long as it imports no module that the pack patches"
    )


def test_a_python_that_cannot_import_a_pack_stops_at_its_target(
    patchkit_run: Python, write_pack: Pack, bare_python: str, tmp_path: Path
) -> None:
    """It ends where it imports a module that the pack patches, also where that is swallowed."""
    _pack_that_needs_click(write_pack)
    (tmp_path / "up").mkdir()
    (tmp_path / "up" / "thing.py").write_text("def f(): ...\n")
    words = ("--patches", "mine", "--", bare_python, "-c")
    child = patchkit_run(*words, "import up.thing; print('went on')")
    assert (child.returncode, child.stdout) == (1, "")
    assert "no patch can be applied: patchkit needs the package" in child.stderr
    swallowed = "try:\n import up.thing\nexcept Exception: pass"
    assert patchkit_run(*words, swallowed).returncode == 70


def test_on_failure_warn_lets_an_unpatched_process_go_on(patchkit_run: Python) -> None:
    """With PATCHKIT_ON_FAILURE=warn a process that cannot be armed goes on, and is warned."""
    words = ("--patches", "no_such_pack", "--", sys.executable, "say.py")
    child = patchkit_run(*words, PATCHKIT_ON_FAILURE="warn")
    assert child.returncode == 0
    assert "this process is not patched" in child.stderr


def test_a_pack_that_is_not_found_stops_before_the_command_starts(
    patchkit_run: Python, tmp_path: Path
) -> None:
    """A typo is told in one line, with exit code 2, whoever names the pack."""
    mark = tmp_path / "started"
    command = ("--", sys.executable, "-c", f"open({str(mark)!r}, 'w')")
    for words, environ in (
        (("--patches", "typo"), {}),
        ((), {"PATCHKIT_PATCHES": "typo"}),
    ):
        child = patchkit_run(*words, *command, **environ)
        assert child.returncode == 2
        assert "No module named 'typo'" in child.stderr
        assert "Traceback" not in child.stderr
        assert not mark.exists()


def test_a_folder_without_packs_is_told_of_before_and_after(
    patchkit_run: Python, write_pack: Pack
) -> None:
    """With patchkit's own packs alone there is a line at the start and one at the end."""
    words = "no packs but patchkit's own"
    child = patchkit_run("--", sys.executable, "-c", "")
    assert child.stderr.count(words) == 2
    assert child.stderr.index(words) < child.stderr.index("no findings")
    assert "--patches MODULE" in child.stderr
    write_pack("corp_patches", pack_source(row_source()))
    child = patchkit_run("--", sys.executable, "-c", "")
    assert "--patches corp_patches" in child.stderr
    child = patchkit_run("--patches", "corp_patches", "--", sys.executable, "-c", "")
    assert words not in child.stderr


def test_an_empty_command_is_not_found(patchkit_run: Python) -> None:
    """As from an unset variable of a shell: one line, no traceback of a forked child."""
    child = patchkit_run("--", "")
    assert child.returncode == 127
    assert "'': found no such command" in child.stderr
    assert "Traceback" not in child.stderr


def test_the_end_is_noticed_where_signals_of_children_are_ignored(
    python: Python, tmp_path: Path
) -> None:
    """Some supervisors ignore SIGCHLD, and what they start inherits that."""
    code = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "words = ['-m', 'patchkit', 'run', '--', 'sh', '-c', 'exit 5']\n"
        "os.execv(sys.executable, [sys.executable, *words])\n"
    )
    child = python("-c", code, TMPDIR=str(tmp_path), PATCHKIT="")
    assert child.returncode == 5


def test_an_own_command_leaves_no_journal(python: Python, tmp_path: Path) -> None:
    """A probe may run `status` every few seconds in an environment that arms it."""
    folder = tmp_path / "journal"
    folder.mkdir()
    arming = {"PYTHONPATH": SITECUSTOMIZE_FOLDER, "PATCHKIT": "1"}
    words = ("-m", "patchkit", "status", str(folder))
    child = python(*words, PATCHKIT_JOURNAL=str(folder), **arming)
    assert "no process has written" in child.stdout
    assert list(folder.iterdir()) == []
