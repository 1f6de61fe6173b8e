from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from samples import pack_source, row_source

import patchkit.cli
from patchkit import __version__
from patchkit.cli import main
from patchkit.cli.app import COMMANDS

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable


def test_every_command_is_a_file_and_has_real_examples(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The help of each command shows at least two commands to copy."""
    for name in COMMANDS:
        assert main([name, "--help"]) == 0
        lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
        examples = [line for line in lines if f"patchkit {name} " in f"{line} "]
        assert len(examples) >= 3, name  # the usage line is one of them


def test_no_command_is_forgotten() -> None:
    """Each file beside `app` that holds a command is among COMMANDS, and the other way round."""
    folder = Path(str(patchkit.cli.__file__)).parent
    modules = [importlib.import_module(f"patchkit.cli.{f.stem}") for f in folder.glob("[!_]*.py")]
    commands = {
        module.command.name
        for module in modules
        if isinstance(getattr(module, "command", None), click.Command)
    }
    assert commands == set(COMMANDS)


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    """`patchkit` alone says what it can do, in the order of use."""
    assert main([]) == 0
    out = capsys.readouterr().out
    places = [out.index(f"\n  {name} ") for name in COMMANDS]
    assert places == sorted(places)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` is one line on stdout."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"patchkit {__version__}\n"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["lst"], ["No such command 'lst'", "'patchkit --help'"]),
        (["list", "--nonsense"], ["--nonsense", "'patchkit list --help'"]),
        (["list", "--role", "driver"], ["'driver'", "engine-core", "'patchkit list --help'"]),
        (["list", "--format", "yaml"], ["'yaml'", "json"]),
        (["list", "--vllm", "banana"], ["'banana'", "--vllm", "no version"]),
        (["list", "--patches", "no_such_pack"], ["no_such_pack", "import", "expected a package"]),
        (["show"], ["NAME", "'patchkit show --help'"]),
        (["run"], ["COMMAND", "'patchkit run --help'"]),
    ],
)
def test_wrong_use_is_one_line_and_2(
    argv: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong, and where the help is, on stderr; nothing on stdout; no traceback."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("patchkit: ")
    assert all(word in err for word in words), err


@pytest.mark.parametrize("command", [["list"], ["show", "x"], ["doctor"], ["run", "--", "true"]])
def test_a_wrong_variable_is_one_line_and_2(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command that reads the settings refuses one that is none."""
    monkeypatch.setenv("PATCHKIT_ON_DRIFT", "explode")
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("patchkit: PATCHKIT_ON_DRIFT: found 'explode'")
    assert err.count("\n") == 1


def test_an_error_of_several_lines_is_told_in_one(
    write_pack: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A pack's own error text may hold line ends; ours does not."""
    write_pack("loud_pack", "raise RuntimeError('one\\ntwo\\nthree')")
    assert main(["list", "--patches", "loud_pack"]) == 2
    err = capsys.readouterr().err
    assert "one two three" in err
    assert err.count("\n") == 1


def test_python_m_patchkit_is_the_command(
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """`python -m patchkit` behaves as `patchkit`, exit code included."""
    assert python("-m", "patchkit", "--version").stdout == f"patchkit {__version__}\n"
    wrong = python("-m", "patchkit", "lst")
    assert (wrong.returncode, wrong.stdout) == (2, "")


@pytest.mark.parametrize("form", ["json", "table"])
def test_a_reader_that_leaves_early_sees_no_traceback(
    write_pack: Callable[..., Path],
    python: Callable[..., subprocess.CompletedProcess[str]],
    form: str,
) -> None:
    """`patchkit list | head -1` ends quietly, however much there was to say."""
    names = [f"'patch-number-{number}'" for number in range(300)]
    write_pack("long_pack", pack_source(*(row_source(name=name) for name in names)))
    words = f"'{sys.executable}' -m patchkit list --all --format {form} --patches long_pack"
    child = python("-c", f"import os; os.execlp('sh', 'sh', '-c', {f'{words} | head -1'!r})")
    assert child.returncode == 0
    assert child.stderr == ""
    assert child.stdout.count("\n") == 1


def test_a_letter_that_the_terminal_lacks_is_escaped(
    write_pack: Callable[..., Path],
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """A row may hold any text; a terminal that only has ASCII shows it all the same."""
    write_pack("my_pack", pack_source(row_source(why="'caf\\u00e9 \\u2013'")))
    words = ("-m", "patchkit", "show", "a-patch", "--patches", "my_pack")
    child = python(*words, PYTHONIOENCODING="ascii")
    assert child.returncode == 0, child.stderr
    assert "caf\\xe9 \\u2013" in child.stdout
    child = python(*words, "--format", "json", PYTHONIOENCODING="ascii")
    assert json.loads(child.stdout)["why"] == "caf\u00e9 \u2013"


_IMPORTED = """
import json, sys
from patchkit.cli import main
code = main(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("argv", "not_imported"),
    [
        (["list", "--format", "json"], ["rich", "vllm", "torch", "ray", "patchkit.cli.run"]),
        (["list"], ["vllm", "torch", "ray", "patchkit.cli.doctor"]),
        (["show", "a-patch"], ["upstream", "upstream.module", "vllm", "torch", "ray"]),
        (["--version"], ["rich", "packaging", "patchkit.cli.list"]),
    ],
)
def test_a_command_imports_only_what_it_needs(
    write_pack: Callable[..., Path],
    python: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    argv: list[str],
    not_imported: list[str],
) -> None:
    """No command imports upstream, or what another command or format needs."""
    write_pack("my_pack", pack_source(row_source()))
    write_pack("upstream", "", bodies=("module",))
    for name in ("vllm", "torch", "ray"):
        (tmp_path / f"{name}.py").touch()
    child = python("-c", _IMPORTED, *argv, PATCHKIT_PATCHES="my_pack", VLLM_VERSION="0.12.0")
    code, modules = json.loads(child.stderr.splitlines()[-1])
    assert code == 0, child.stderr
    assert not set(not_imported) & set(modules)
