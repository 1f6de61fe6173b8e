from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support import packages, venvs
from support.packages import REPOSITORY
from support.venvs import ARMED, DEPENDENCIES, Venv

from patchkit.cli import main
from patchkit.runtime.bootstrap.install import BootstrapError, install

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

world = packages.world
environment = venvs.environment


def bootstrap(
    venv: Venv, *words: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run `patchkit bootstrap` of an environment."""
    return venv.run("-m", "patchkit", "bootstrap", *words, **environ)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the command, in this process, takes for this Python's site-packages."""
    monkeypatch.setattr(
        "patchkit.runtime.bootstrap.install.site_folder", lambda: tmp_path
    )
    monkeypatch.setattr(
        "patchkit.runtime.bootstrap.install.location_found_alone", lambda: "/found"
    )
    return tmp_path


def status(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    """Run `bootstrap status --format json`, and return its exit code and what it prints."""
    code = main(["bootstrap", "status", "--format", "json"])
    data: dict[str, object] = json.loads(capsys.readouterr().out)
    return code, data


# -- in environments of their own --------------------------------------------------------------


@pytest.mark.processes
def test_install_arms_and_remove_leaves_no_trace(environment: Venv) -> None:
    """An installed bootstrap arms processes; `remove` leaves no file of it, nor of its bytecode."""
    before = environment.files()
    for words, lines in (("installed in", 2), ("up to date in", 1)):
        done = bootstrap(environment, "install")
        assert (done.returncode, done.stdout) == (0, "")
        assert words in done.stderr
        assert str(environment.folder) in done.stderr
        assert done.stderr.count("\n") == lines
        assert ("'pip uninstall' leaves it there" in done.stderr) is (lines == 2)
    assert environment.answer("-c", ARMED, PATCHKIT="1") == ["main"]
    assert environment.answer("-c", ARMED) is None
    assert len(environment.files()) > len(before) + 3  # its bytecode, too
    for words in ("removed from", "no bootstrap in"):
        done = bootstrap(environment, "remove", PATCHKIT="1")
        assert (done.returncode, done.stdout) == (0, "")
        assert words in done.stderr
        assert environment.files() == before
    assert environment.answer("-c", ARMED, PATCHKIT="1") is None


@pytest.mark.processes
def test_a_patchkit_on_pythonpath_is_looked_for_where_it_is(environment: Venv) -> None:
    """Processes that have no PYTHONPATH are armed all the same, and the user is told."""
    environment.finds(str(environment.world.folder), *DEPENDENCIES)
    done = bootstrap(environment, "install", PYTHONPATH=str(REPOSITORY))
    assert done.returncode == 0
    assert f"looks for it in {REPOSITORY}\n" in done.stderr
    assert environment.answer("-I", "-c", ARMED, PATCHKIT="1") == ["main"]
    done = bootstrap(
        environment, "status", "--format", "json", PYTHONPATH=str(REPOSITORY)
    )
    assert json.loads(done.stdout)["patchkit"] == str(REPOSITORY)


@pytest.mark.processes
def test_a_patchkit_installed_later_needs_no_location(environment: Venv) -> None:
    """Installing again forgets the location that an earlier `install` wrote."""
    install(environment.folder, str(REPOSITORY))
    done = bootstrap(environment, "install")
    assert "bootstrap installed in" in done.stderr
    assert "looks for it" not in done.stderr


@pytest.mark.processes
def test_a_full_disk_is_one_line_and_2(environment: Venv) -> None:
    """A write that really fails leaves nothing behind."""
    before = environment.files()
    code = """
import resource, sys
from patchkit.cli import main
sys.dont_write_bytecode = True
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
sys.exit(main(["bootstrap", "install"]))
"""
    done = environment.run("-c", code)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"patchkit: {environment.folder}: cannot be written (File too"
    )
    assert done.stderr.count("\n") == 1
    assert environment.files() == before


# -- what it says ------------------------------------------------------------------------------


def test_status_from_nothing_to_installed(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`status` exits with 0 before and after `install`; JSON has the keys that programs rely on."""
    code, data = status(capsys)
    assert (code, data["state"], data["switch"]) == (0, "absent", None)
    install(here)
    monkeypatch.setenv("PATCHKIT", "1")
    code, data = status(capsys)
    assert list(data) == ["folder", "state", "files", "switch", "patchkit"]
    assert (code, data["state"], data["switch"]) == (0, "installed", "1")
    assert (data["folder"], data["patchkit"]) == (str(here), "/found")
    files = data["files"]
    assert isinstance(files, list)
    assert {file["file"] for file in files} == {str(file) for file in here.iterdir()}
    assert {file["state"] for file in files} == {"installed"}


def test_status_of_what_is_not_in_order_is_1(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`status` exits with 1 where a file is missing, old or foreign, or patchkit is not found."""
    install(here)
    module = here / "_patchkit_bootstrap.py"
    module.write_text(module.read_text() + "# older\n")
    code, data = status(capsys)
    assert (code, data["state"]) == (1, "outdated")
    module.unlink()
    code, data = status(capsys)
    assert (code, data["state"]) == (1, "incomplete")
    module.write_text("theirs")
    code, data = status(capsys)
    assert (code, data["state"]) == (1, "foreign")
    module.unlink()
    install(here, "/no/such/place")
    monkeypatch.setattr(
        "patchkit.runtime.bootstrap.install.location_found_alone", lambda: None
    )
    code, data = status(capsys)
    assert (code, data["state"], data["patchkit"]) == (1, "installed", None)


def test_status_for_a_person_says_the_state_and_what_to_do(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page has the state, the variable that is waited for, patchkit's place, and what to do."""
    install(here)
    assert main(["bootstrap", "status"]) == 0
    out = capsys.readouterr().out
    assert f"bootstrap  installed  {here}" in out
    assert "it waits for PATCHKIT=1" in out
    assert "/found" in out
    monkeypatch.setenv("PATCHKIT", "1")
    main(["bootstrap", "status"])
    assert "processes of this environment are armed" in capsys.readouterr().out
    (here / "_patchkit_bootstrap.py").unlink()
    assert main(["bootstrap", "status"]) == 1
    assert "'patchkit bootstrap install' writes it again" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["install", "remove"])
def test_anothers_file_is_one_line_and_2(
    here: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    """A file that patchkit did not write is named in the error, and stays as it is."""
    (here / "patchkit-bootstrap.pth").write_text("import theirs\n")
    assert main(["bootstrap", word]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(
        f"patchkit: {here / 'patchkit-bootstrap.pth'}: not written by patchkit"
    )
    assert err.count("\n") == 1
    assert [file.name for file in here.iterdir()] == ["patchkit-bootstrap.pth"]


@pytest.mark.parametrize("word", ["install", "remove", "status"])
def test_no_folder_for_a_bootstrap_is_one_line_and_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """Each command exits with 2 where Python reads no `.pth` files beside its packages."""

    def refuse() -> Path:
        raise BootstrapError("/x: Python reads no .pth files there")

    monkeypatch.setattr("patchkit.runtime.bootstrap.install.site_folder", refuse)
    assert main(["bootstrap", word]) == 2
    assert capsys.readouterr() == (
        "",
        "patchkit: /x: Python reads no .pth files there\n",
    )


def test_the_help_of_bootstrap_lists_its_commands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`bootstrap --help` lists the commands; `bootstrap` alone is an error that names the help."""
    assert main(["bootstrap", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {word} " in out for word in ("install", "remove", "status"))
    assert main(["bootstrap"]) == 2
    assert capsys.readouterr() == (
        "",
        "patchkit: Missing command (see 'patchkit bootstrap --help')\n",
    )
