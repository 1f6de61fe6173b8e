from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from support.samples import pack_source, row_source

import patchkit.cli
from patchkit import __version__
from patchkit.cli import main
from patchkit.cli.app import COMMANDS, SECTIONS

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    Python = Callable[..., subprocess.CompletedProcess[str]]


def test_the_help_of_every_command_has_examples(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The help of each command shows at least two commands to copy."""
    for name in COMMANDS:
        assert main([name, "--help"]) == 0
        lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
        examples = [line for line in lines if f"patchkit {name} " in f"{line} "]
        assert len(examples) >= 3, name  # the usage line is one of them


def test_no_command_is_forgotten() -> None:
    """Each file of `cli/commands` holds one of COMMANDS, and the other way round."""
    folder = Path(str(patchkit.cli.__file__)).parent / "commands"
    names = [file.stem for file in folder.glob("[!_]*.py")]
    modules = [
        importlib.import_module(f"patchkit.cli.commands.{name}") for name in names
    ]
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
    headings = [out.index(f"\n{title}:\n") for title in SECTIONS]
    assert headings == sorted(headings)


@pytest.mark.parametrize(
    "words", [[], *([name, "--help"] for name in COMMANDS)], ids=" ".join
)
def test_the_help_fits_a_terminal_and_cuts_no_sentence(
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No line of help is wider than 80 columns, and no command's first sentence is cut off."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(words) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if len(line) > 80] == []
    assert "..." not in out.partition("Write patches")[2]


@pytest.mark.parametrize("word", ["-V", "--version"])
def test_version_is_one_line_on_stdout(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--version` prints the name and the version as one line on stdout."""
    assert main([word]) == 0
    assert capsys.readouterr().out == f"patchkit {__version__}\n"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["lst"], ["No such command 'lst'; did you mean list?", "'patchkit --help'"]),
        (["frobnicate"], ["No such command 'frobnicate'", "'patchkit --help'"]),
        (["list", "--nonsense"], ["--nonsense", "'patchkit list --help'"]),
        (
            ["list", "--role", "driver"],
            ["'driver'", "engine-core", "'patchkit list --help'"],
        ),
        (["list", "--format", "yaml"], ["'yaml'", "json"]),
        (
            ["list", "--vllm", "banana"],
            ["'banana'", "--vllm", "no version", "Set --vllm to the"],
        ),
        (["list", "--vlm", "1"], ["No such option", "--vlm", "--vllm"]),
        (
            ["list", "--patches", "no_such_pack"],
            ["no_such_pack", "import", "expected a package"],
        ),
        (["show"], ["NAME", "'patchkit show --help'"]),
        (["run"], ["COMMAND", "'patchkit run --help'"]),
    ],
)
def test_wrong_use_is_one_line_and_2(
    argv: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong use is one line on stderr that says what is wrong and where the help is."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("patchkit: ")
    assert all(word in err for word in words), err


@pytest.mark.parametrize(
    "command", [["list"], ["show", "x"], ["doctor"], ["run", "--", "true"]]
)
def test_a_wrong_variable_is_one_line_and_2(
    command: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every command that reads the settings refuses one that is none."""
    monkeypatch.setenv("PATCHKIT_ON_DRIFT", "explode")
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("patchkit: PATCHKIT_ON_DRIFT: found 'explode'")
    assert err.count("\n") == 1


def test_an_error_of_several_lines_is_printed_as_one(
    write_pack: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An error of a pack that has several lines is printed as one line."""
    write_pack("loud_pack", "raise RuntimeError('one\\ntwo\\nthree')")
    assert main(["list", "--patches", "loud_pack"]) == 2
    err = capsys.readouterr().err
    assert "one two three" in err
    assert err.count("\n") == 1


@pytest.mark.processes
def test_python_m_patchkit_is_the_command(
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """`python -m patchkit` behaves as `patchkit`, exit code included."""
    assert python("-m", "patchkit", "--version").stdout == f"patchkit {__version__}\n"
    wrong = python("-m", "patchkit", "lst")
    assert (wrong.returncode, wrong.stdout) == (2, "")


@pytest.mark.processes
@pytest.mark.parametrize("form", ["json", "table"])
def test_a_reader_that_leaves_early_sees_no_traceback(
    write_pack: Callable[..., Path],
    python: Callable[..., subprocess.CompletedProcess[str]],
    form: str,
) -> None:
    """`patchkit list | head -1` ends quietly, however much there was to say."""
    names = [f"'patch-number-{number}'" for number in range(300)]
    write_pack("long_pack", pack_source(*(row_source(name=name) for name in names)))
    command = (
        f"'{sys.executable}' -m patchkit list --all --format {form} --patches long_pack"
    )
    child = shell(python, f"{command} | head -1")
    assert child.returncode == 0
    assert child.stderr == ""
    assert child.stdout.count("\n") == 1
    with_code = shell(python, f"{{ {command}; echo code $? >&2; }} | head -1")
    assert with_code.stderr == "code 0\n"


def shell(python: Python, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in place of a Python process."""
    return python("-c", f"import os; os.execlp('sh', 'sh', '-c', {line!r})")


@pytest.mark.processes
@pytest.mark.parametrize(
    "words", ["list", "list --format json", "--help", "explain PK101"]
)
def test_a_full_disk_is_one_line_and_2(python: Python, words: str) -> None:
    """Output that cannot be written is one line on stderr and exit code 2, without a traceback."""
    command = f"'{sys.executable}' -m patchkit {words} > /dev/full 2> err"
    with_errors = shell(python, f"{command}; cat err; ")
    child = shell(python, command)
    last_line = with_errors.stdout.splitlines()[-1]
    expected = "patchkit: the output cannot be written: No space left on device"
    assert last_line == expected
    assert "Traceback" not in with_errors.stdout
    assert child.returncode == 2


@pytest.mark.processes
@pytest.mark.parametrize("redirection", [">&-", "2>&-", "2>/dev/full"])
def test_streams_that_are_closed_or_full_are_no_fault(
    python: Python, redirection: str
) -> None:
    """A closed stdout is no error, and a closed or full stderr keeps no answer from stdout."""
    child = shell(python, f"'{sys.executable}' -m patchkit list {redirection}")
    assert child.returncode == 0
    assert "Traceback" not in child.stderr
    assert (child.stdout == "") is (redirection == ">&-")


@pytest.mark.processes
def test_a_letter_that_the_terminal_lacks_is_escaped(
    write_pack: Callable[..., Path],
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """A terminal that has only ASCII shows other letters of a row as escapes."""
    write_pack("my_pack", pack_source(row_source(why="'caf\\u00e9 \\u2013'")))
    words = ("-m", "patchkit", "show", "a-patch", "--patches", "my_pack")
    child = python(*words, PYTHONIOENCODING="ascii")
    assert child.returncode == 0, child.stderr
    assert "caf\\xe9 \\u2013" in child.stdout
    child = python(*words, "--format", "json", PYTHONIOENCODING="ascii")
    assert json.loads(child.stdout)["why"] == "caf\u00e9 \u2013"


@pytest.mark.processes
@pytest.mark.parametrize(
    "words", ["show my", "check my", "diff my", "lock my", "matrix my"]
)
def test_the_shell_completes_patch_names(
    words: str, write_pack: Callable[..., Path], python: Python
) -> None:
    """Commands that take a name know those of the packs; a pack that is broken has none."""
    write_pack("my_pack", pack_source(row_source(name="'my-patch'")))
    write_pack("broken_pack", "1 / 0")
    completion = {
        "_PATCHKIT_COMPLETE": "bash_complete",
        "COMP_WORDS": f"patchkit {words}",
        "COMP_CWORD": "2",
    }
    code = "from patchkit.cli import main; main([])"
    done = python("-c", code, PATCHKIT_PATCHES="my_pack", **completion)
    assert done.stdout == "plain,my-patch\n"
    broken = python("-c", code, PATCHKIT_PATCHES="broken_pack", **completion)
    assert (broken.stdout.strip(), broken.stderr) == ("", "")


@pytest.mark.processes
def test_a_folder_that_was_deleted_is_no_fault(python: Python, tmp_path: Path) -> None:
    """`list` works in a working directory that has been deleted."""
    line = f"mkdir gone; cd gone; rmdir ../gone; '{sys.executable}' -m patchkit list"
    done = shell(python, line)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


_IMPORTED = """
import json, sys
from patchkit.cli import main
code = main(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


@pytest.mark.processes
@pytest.mark.parametrize(
    ("argv", "not_imported"),
    [
        (
            ["list", "--format", "json"],
            ["rich", "vllm", "torch", "ray", "patchkit.cli.commands.run"],
        ),
        (["list"], ["vllm", "torch", "ray", "patchkit.cli.commands.doctor"]),
        (["show", "a-patch"], ["upstream", "upstream.module", "vllm", "torch", "ray"]),
        (["--version"], ["rich", "packaging", "patchkit.cli.commands.list"]),
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
    child = python(
        "-c", _IMPORTED, *argv, PATCHKIT_PATCHES="my_pack", VLLM_VERSION="0.12.0"
    )
    code, modules = json.loads(child.stderr.splitlines()[-1])
    assert code == 0, child.stderr
    assert not set(not_imported) & set(modules)
