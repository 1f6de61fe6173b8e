"""What `patchkit adopt` says of a pile: what it has seen, what has no row, what is wrong."""

from __future__ import annotations

import json
import shutil
from textwrap import dedent

import pytest

from authoring.index_of_up import INTO_MINE
from authoring.piles.pile_of_up import World, adopt, here, world
from patchkit.cli import main

__all__ = ["here", "world"]


@pytest.mark.processes
def test_observing_lists_what_no_row_does(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A child imports the pile: changes without a row are listed, as are copies and faults."""
    text = """\
    import absent.deep
    from up import lib, user

    class Thing(absent.deep.Base):
        pass

    def g():
        return absent.deep.call(1)

    lib.g = g
    exec("lib.C.m = lambda self: 1")
    if absent.deep.call():
        lib.extra = 1
    """
    words = ("--observe", "--stub", "absent")
    report = adopt(here, capsys, {"patches": dedent(text)}, *words)
    seen = report["observed"]
    assert seen["faults"] == {}
    assert seen["copies"] == {"up.lib:g": ["up.user:g"]}
    assert seen["inactive"] == []
    assert seen["depths"] == {
        "up.lib:g": "read",
        "up.lib:extra": "read",
        "up.lib:C.m": "in no row",
    }
    assert [place["place"] for place in report["left"]] == ["up.lib:C.m"]
    shutil.rmtree(here.folder / "mine")
    failing = {"patches": "import nowhere\n" + dedent(text)}
    report = adopt(here, capsys, failing, "--dry-run", *words)
    assert "ModuleNotFoundError" in str(report["observed"]["faults"])


@pytest.mark.processes
def test_a_signal_is_named(here: World, capsys: pytest.CaptureFixture[str]) -> None:
    """What an import ends by, as a library for other CPUs does, is one error."""
    text = "import os, signal\nfrom up import lib\nos.kill(os.getpid(), signal.SIGILL)\nlib.g = len\n"
    here.module("pile.patches", text)
    words = ["adopt", "pile", *INTO_MINE, "--observe"]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "the process that imports the pile ended by SIGILL" in error
    assert "--no-observe reads it alone" in error


def test_the_text_output_counts_what_is_in_rows(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says how much is in rows, and where the rest is."""
    here.module("pile.patches", "from up.lib import C\nC.new = 1\ndel C.size\n")
    words = ["adopt", "pile", *INTO_MINE]
    assert main([*words, "--dry-run"]) == 1
    out = capsys.readouterr().out
    assert "2 rows mine, for up==1.0 (not written)\n" in out
    assert "\nold-pile  1 BeforeImport\npatches   1 Add\n" in out
    assert "not expressed\npile/patches.py:3  del C.size" in out
    assert "1 of 2 changes are in rows" in out
    assert not (here.folder / "mine").exists()


def test_what_is_to_be_looked_at_is_no_further_change(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The condition is of a change that is in a row, and that is counted already."""
    text = (
        "import up\nfrom up.lib import C\nif up.__version__ > '09':\n    C.size = 1\n"
    )
    here.module("pile.patches", text)
    here.module("up.__init__", "__version__ = '1.0'\n")
    assert main(["adopt", "pile", *INTO_MINE, "--no-observe"]) == 1
    out = capsys.readouterr().out
    assert (
        "to look at\npile/patches.py:4  up.__version__ > '09'\n    it compares" in out
    )
    assert "1 of 1 changes are in rows" in out


@pytest.mark.processes
def test_each_copy_that_a_pile_misses_has_a_line(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """There may be dozens of them, below the target that they are copies of."""
    text = "from up import lib, user\nlib.f = lambda a, b=0: 1\nlib.C = dict\n"
    here.module("pile.patches", text)
    main(["adopt", "pile", *INTO_MINE, "--observe"])
    out = capsys.readouterr().out
    assert "\nup.lib:f\n    up.user:f\n" in out
    assert "\nup.lib:C\n    up.user:C\n" in out


def test_a_long_statement_is_not_printed_in_full(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its beginning tells which it is; JSON has all of it."""
    table = ", ".join(str(number) for number in range(900))
    here.module("pile.patches", f"from up import lib\nlib.LIST += [{table}]\n")
    words = ["adopt", "pile", *INTO_MINE, "--no-observe"]
    assert main(words) == 1
    out = capsys.readouterr().out
    assert "pile/patches.py:2  lib.LIST += [0, 1," in out
    assert max(len(line) for line in out.splitlines()) < 160
    assert main([*words, "--format", "json"]) == 1
    assert f"[{table}]" in capsys.readouterr().out


def test_a_pile_that_no_row_can_express_is_listed(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of it is in the list, and no pack is written."""
    here.module("pile.patches", "from up import lib\nlib.LIST.append(1)\n")
    words = ["adopt", "pile", *INTO_MINE]
    assert main(words) == 1
    out = capsys.readouterr().out
    assert "\npile/patches.py:2  lib.LIST.append(1)\n    it cha" in out
    assert not (here.folder / "mine").exists()


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (
            ["--only", "patches"],
            "--only: found no module patches in pile, expected its dotted name",
        ),
        (["--stub", "absent"], "--no-observe: found --call, --stub or --python"),
        (["--observe", "--call", "f"], "--call: found 'f', expected module:function"),
        (["--into", "my-pack"], "found 'my-pack', expected a name to import"),
    ],
)
def test_wrong_use_is_refused(
    here: World, capsys: pytest.CaptureFixture[str], words: list[str], fault: str
) -> None:
    """The error says what was expected."""
    here.module("pile.patches", "from up.lib import C\nC.new = 1\n")
    assert main(["adopt", "pile", *INTO_MINE, *words]) == 2
    assert fault in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("x = 1\n", "contains no patch that a row can express"),
        ("def\n", "contains no patch that a row can express"),
    ],
)
def test_a_package_without_patches_is_refused(
    here: World, capsys: pytest.CaptureFixture[str], text: str, fault: str
) -> None:
    """Modules that patch nothing or do not parse are one error, and no pack is written."""
    here.module("pile.patches", text)
    words = ["adopt", "pile", *INTO_MINE]
    assert main(words) == 2
    assert fault in capsys.readouterr().err
    assert not (here.folder / "mine").exists()


@pytest.mark.processes
def test_what_was_seen_of_a_package_without_patches_is_printed(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report's lists come before the error: why nothing was found is often in them."""
    here.module("pile.patches", "import nowhere\nfrom up import lib\n\nprint(lib)\n")
    here.module("pile.other", "def put():\n    raise ValueError('no device')\n")
    here.module("pile.template", "def\n")
    words = ["adopt", "pile", *INTO_MINE, "--observe"]
    assert main([*words, "--call", "pile.other:put"]) == 2
    out, err = capsys.readouterr()
    assert "modules that cannot be read\npile/template.py: " in out
    failed = out.partition("imports and calls that failed\n")[2]
    assert "pile.other:put: ValueError: no device" in failed
    assert "called: pile.other:put; --call MODULE:FUNCTION names others" in err
    assert main([*words, "--format", "json"]) == 2
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert (report["sites"], list(report["unreadable"])) == (0, ["pile/template.py"])
    assert list(report["observed"]["faults"]) == ["pile.patches"]
    assert "no function of it was called: --call MODULE:FUNCTION names one" in err


@pytest.mark.processes
def test_the_lists_of_a_report_have_names_of_their_own(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A statement, a change that was only seen, and code that means something else in a pack."""
    text = """\
    from up import lib

    def g():
        return __name__

    lib.g = g
    lib.C.size += 1
    exec("lib.C.m = lambda self: 1")
    """
    here.module("pile.patches", dedent(text))
    words = ["adopt", "pile", *INTO_MINE, "--observe"]
    assert main([*words, "--dry-run"]) == 1
    out = capsys.readouterr().out
    assert "observed 3 changes: 1 read, 2 without a row" in out
    assert "in no row" not in out
    lists = out.partition("\nnot expressed\npile/patches.py:7  ")[2]
    assert "\nobserved, without a row\nup.lib:C.m\n" in lists
    assert "\nto look at\npile/patches.py:4  return __name__\n" in lists
    assert main([*words, "--dry-run", "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    kinds = [code["kind"] for code in report["left"]]
    assert kinds == ["not expressed", "observed, without a row", "to look at"]
    assert set(report["observed"]["depths"].values()) == {"read", "in no row"}
