"""Which findings `check` and `fit` report, in which order, and how a terminal shows them."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest
from analysis.check.released import write_wheels
from support.packages import row, world

from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

from cli.shelves import BODY, answer, shop

__all__ = ["shop", "world"]

TEXTS = {"why": "'w'", "upstream": "'u'", "sunset": "'s'", "after": "()"}
ITEM = "up.mod:ModelRegistry.models['LlamaForCausalLMWithAHeadOfOurOwn']"
CHECK = ("check", "--releases", "up")
TYPO = "Edit('up.mod:f', old='alpha + 1', new='alpha + 2')"


@pytest.fixture
def mixed(world: World, tmp_path: Path) -> None:
    """A row with a note and warnings, then one that breaks in three releases of five."""
    wrap = "Wrap('up.mod:g', by='w')"
    world.pack(
        row("first", "patch_a", wrap, requires="('up>=1',)", after="()"),
        row("second", "patch_b", TYPO, requires="('up>=1,<9',)", **TEXTS),
        patch_a=BODY,
        patch_b="",
    )
    whole = "def g(): ...\ndef f(alpha):\n    return alpha + 1\n"
    for file in (tmp_path / "wheels").iterdir():
        file.unlink()
    releases = {"1.0": whole, "2.0": whole}
    for number in (3, 4, 5):
        lines = "\n" * number
        releases[f"{number}.0"] = (
            f"def g(): ...\n{lines}def f(alpha):\n    return alpha + {number * 10}\n"
        )
    write_wheels(
        tmp_path / "wheels",
        {version: {"mod": text} for version, text in releases.items()},
    )


def codes(data: Any) -> list[str]:
    """The codes of an answer, in its order."""
    return [finding["code"] for finding in data["findings"]]


@pytest.mark.usefixtures("mixed")
def test_an_error_of_several_releases_is_one_block_at_the_top(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The line and the nearest text differ between releases; JSON has an entry for each."""
    assert main([*CHECK]) == 1
    out = capsys.readouterr().out
    found = re.findall(r"^  (PK\d+) ", out, re.MULTILINE)
    assert found == ["PK111", "PK511", "PK512", "PK513", "PK304"]
    assert "up 3.0 to 5.0, 3 releases (as in 5.0)" in out
    assert "1 error (3 counted per release), 3 warnings, 1 note" in out
    data = answer(capsys, *CHECK, code=1)
    assert codes(data) == [*["PK111"] * 3, "PK511", "PK512", "PK513", "PK304"]
    releases = [finding["release"] for finding in data["findings"][:3]]
    assert releases == ["up 3.0", "up 4.0", "up 5.0"]


@pytest.mark.usefixtures("mixed")
@pytest.mark.parametrize(
    ("words", "found", "code"),
    [
        (["--select", "PK1"], ["PK111"], 1),
        (["--select", "pk111,PK304"], ["PK111", "PK304"], 1),
        (["--select", "PK111", "--select", " PK304 "], ["PK111", "PK304"], 1),
        (["--select", "PK304"], ["PK304"], 0),
        (["--select", "PK2"], [], 0),
        (["--ignore", "PK1,PK51"], ["PK304"], 0),
        (["--ignore", "PK"], [], 0),
        (["--select", "PK5", "--ignore", "PK511"], ["PK512", "PK513"], 1),
        (["--select", "PK511", "--ignore", "PK5"], ["PK511"], 1),
        (["--select", "PK511", "--ignore", "PK511"], [], 0),
    ],
)
def test_codes_are_selected(
    words: list[str],
    found: list[str],
    code: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is not selected is not reported, not counted, and does not decide the exit code."""
    data = answer(capsys, *CHECK, *words, code=code)
    assert sorted(set(codes(data))) == sorted(found)
    assert data["summary"]["deselected"] == 7 - len(data["findings"])
    assert data["summary"]["errors"] == codes(data).count("PK111")


@pytest.mark.usefixtures("mixed")
def test_the_grid_tells_the_truth_about_what_is_not_selected(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A patch that does not hold is broken, and the last line says that findings are left out."""
    data = answer(capsys, *CHECK, "--ignore", "PK111", code=1)
    assert data["grid"]["second"]["up 5.0"] == "broken"
    assert main([*CHECK, "--select", "PK3"]) == 0
    out = capsys.readouterr().out
    assert "broken" in out
    assert "1 note  2 patches, 5 releases, 6 findings not selected" in out


@pytest.mark.usefixtures("mixed")
@pytest.mark.parametrize("option", ["--select", "--ignore"])
@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ("PK109", "no code starts with 'PK109'; did you mean PK10"),
        ("PK304,PK7", "no code starts with 'PK7'; did you mean PK"),
        ("E501", "no code starts with 'E501'; did you mean PK501"),
        ("zz", "no code starts with 'ZZ'; 'patchkit explain' lists them"),
        ("P", "no code starts with 'P'"),
        ("", "no code starts with ''"),
    ],
)
def test_an_unknown_selector_is_wrong_use(
    codes: str, message: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line names the option, what was found, and what is near."""
    for words in (CHECK, ("fit", "pack", "--of", "up")):
        assert main([*words, option, codes]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert f"{option}: {message}" in err


@pytest.mark.usefixtures("mixed")
def test_flags_win_over_the_project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--select` sets the project's `ignore` aside, and `--ignore` adds to it; prefixes count."""
    settings = (
        '[tool.patchkit]\nignore = ["PK304", "PK51"]\naccept = ["PK111 second"]\n'
    )
    (tmp_path / "pyproject.toml").write_text(settings)
    data = answer(capsys, *CHECK, code=0)
    assert all(finding["accepted"] for finding in data["findings"])
    data = answer(capsys, *CHECK, "--select", "PK304,PK511,PK111", code=1)
    accepted = {finding["code"]: finding["accepted"] for finding in data["findings"]}
    assert accepted == {"PK304": False, "PK511": False, "PK111": True}
    data = answer(capsys, *CHECK, "--ignore", "PK111", code=0)
    assert set(codes(data)) == {"PK304", "PK511", "PK512", "PK513"}


@pytest.mark.usefixtures("mixed")
def test_a_misspelled_entry_of_accept_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It accepts nothing; one that is only out of date is not told."""
    file = tmp_path / "pyproject.toml"
    file.write_text('[tool.patchkit]\naccept = ["PK111 secnd", "PK111 vllm.x:gone"]\n')
    assert main(CHECK) == 1
    err = capsys.readouterr().err
    setting = "pyproject.toml, [tool.patchkit] accept"
    assert f"{setting}: 'PK111 secnd' accepts nothing here; did you mean second?" in err
    assert "vllm.x:gone" not in err


@pytest.mark.usefixtures("mixed")
@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("accept = ['PK999 p']", "PK99"),
        ("ignore = ['PK999']", "PK9"),
    ],
)
def test_an_unknown_code_of_accept_is_answered_by_whole_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, hint: str
) -> None:
    """`ignore` takes prefixes, too; `accept` would refuse them."""
    (tmp_path / "pyproject.toml").write_text(f"[tool.patchkit]\n{line}\n")
    assert main(CHECK) == 2
    err = capsys.readouterr().err
    question = err.partition("did you mean ")[2].partition("?")[0]
    meant = question.split(" or ")
    assert meant[0]
    if line.startswith("accept"):
        assert all(len(code) == len("PK111") for code in meant)
    else:
        assert hint in meant


def test_an_unreadable_release_is_reported_whatever_is_selected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a selected code was not looked for, nothing found is no good news."""
    (tmp_path / "wheels" / "up-2.0-py3-none-any.whl").write_text("cut off")
    data = answer(capsys, *CHECK, "--select", "PK4", code=1)
    assert codes(data) == ["PK901"]
    answer(capsys, *CHECK, "--select", "PK4", "--ignore", "PK901", code=0)


@pytest.mark.usefixtures("mixed")
def test_concise_is_a_line_a_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line begins with a file and a line, is not broken, and has no color, at any width."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main([*CHECK, "--format", "concise"]) == 1
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert len(lines) == 5
    pattern = r"pack/__init__\.py:\d+: PK\d+ (error|warning|note) (first|second) \S.*"
    assert all(re.fullmatch(pattern, line) for line in lines)
    assert lines[0].endswith("[up 3.0 to 5.0, 3 releases (as in 5.0)]")
    assert "\x1b" not in out
    assert "1 error (3 counted per release), 3 warnings, 1 note; 2 patches" in err


@pytest.mark.usefixtures("mixed")
def test_sarif_has_a_result_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is written to a file, with the codes that are selected, and places in the project."""
    words = [*CHECK, "--format", "sarif", "--output", "a.sarif", "--select", "PK1"]
    assert main(words) == 1
    assert capsys.readouterr().out == ""
    (run,) = json.loads((tmp_path / "a.sarif").read_text())["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "pack/__init__.py"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["PK111"]


@pytest.mark.parametrize("form", ["concise", "github", "markdown", "html", "sarif"])
def test_a_report_of_a_file_whose_name_is_no_utf8_is_written(
    tmp_path: Path, form: str
) -> None:
    """The name is spelt out in the file, as on a terminal."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "__init__.py").touch()
    name = os.fsdecode(b"\xff.py")
    (tmp_path / "theirs" / name).write_text("from up.mod import f\n")
    words = ["fit", "theirs", "--of", "up", "--format", form, "--output", "report"]
    assert main(words) == 1
    assert "ff.py" in (tmp_path / "report").read_text("utf-8").lower()


def test_fit_has_the_same_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A release that lacks something does not fit, whatever is selected."""
    (tmp_path / "theirs").mkdir()
    text = "from up.mod import f\ntry:\n    from up.late import f as g\nexcept ImportError:\n    0"
    (tmp_path / "theirs" / "__init__.py").write_text(text)
    fit = ("fit", "theirs", "--of", "up")
    everything = answer(capsys, *fit, code=1)
    gone = [found["code"] for found in everything["releases"][-1]["findings"]]
    assert gone == ["PK601"]
    data = answer(capsys, *fit, "--select", "PK605", code=0)
    assert [release["fits"] for release in data["releases"]] == [True, True, False]
    assert [len(release["findings"]) for release in data["releases"]] == [1, 1, 0]
    assert main([*fit, "--format", "concise"]) == 1
    out, err = capsys.readouterr()
    error, note = out.splitlines()
    assert error.startswith("theirs/__init__.py:1: PK601 error theirs up.mod:f ")
    assert error.endswith("[up 3.0]")
    assert note.startswith("theirs/__init__.py:3: PK605 note theirs up.late:f ")
    assert note.endswith("[up 1.0 to 2.0, 2 releases]")
    assert "2 of 3 releases are compatible (2 names checked): up 1.0 to 2.0" in err
    assert main([*fit, "--format", "sarif", "--ignore", "PK605"]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["automationDetails"]["id"] == "patchkit fit/"
    assert [result["ruleId"] for result in run["results"]] == ["PK601"]


@pytest.mark.parametrize("place", [".", "project"])
def test_fit_names_files_as_the_project_has_them(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A package below `src` is named with it, where editors and code scanning find it."""
    package = tmp_path / place / "src" / "theirs"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from up.mod import f\n")
    fit = ("fit", place, "--of", "up", "--releases", "up==3")
    assert main([*fit, "--format", "concise"]) == 1
    file = (package / "__init__.py").relative_to(tmp_path).as_posix()
    assert capsys.readouterr().out.startswith(f"{file}:1: PK601 error ")
    assert main([*fit, "--format", "sarif"]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    place_of_result = run["results"][0]["locations"][0]["physicalLocation"]
    assert place_of_result["artifactLocation"]["uri"] == file


@pytest.mark.parametrize(
    ("releases", "text"),
    [
        ("up==3", "0 of 1 release is compatible (1 name checked)\n"),
        ("up", "2 of 3 releases are compatible (1 name checked): up 1.0 to 2.0\n"),
        ("up>1", "1 of 2 releases is compatible (1 name checked): up 2.0\n"),
        ("up<3", "2 of 2 releases are compatible (1 name checked): up 1.0 to 2.0\n"),
    ],
)
def test_fit_says_how_many_releases_are_compatible(
    releases: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last line counts the releases and names those that fit."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "__init__.py").write_text("from up.mod import f\n")
    main(["fit", "theirs", "--of", "up", "--releases", releases])
    assert capsys.readouterr().out.endswith(f"  {text}")


@pytest.mark.parametrize("width", ["1", "8", "60", "80"])
def test_a_name_to_copy_is_on_one_line(
    width: str,
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A registry's item is wider than what is left of the terminal, and is not broken."""
    world.pack(
        row(
            "a-row-with-a-name-that-takes-more-than-half-of-it",
            "patch_a",
            f"Replace({ITEM!r}, by='w')",
            requires="('up>=1,<9',)",
            **TEXTS,
        ),
        patch_a=BODY,
    )
    write_wheels(tmp_path / "wheels", {"4.0": {"mod": "class ModelRegistry: ..."}})
    monkeypatch.setenv("COLUMNS", width)
    assert main(["check", "--releases", "up==4"]) == 1
    out = capsys.readouterr().out
    assert ITEM in out
    assert out.count("a-row-with-a-name-that-takes-more-than-half-of-it") == 2


@pytest.mark.parametrize(
    "change",
    [
        "Wrap('up.mod:ff', by='w')",
        "Wrap('up.modd:f', by='w')",
        "Add('up.mod:Shef.one', by='w')",
    ],
)
def test_a_typo_is_asked_for_first(
    change: str, world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no release has the target, the fix begins with the names that may be meant."""
    world.pack(
        row("p", "patch_a", change, requires="('up>=1,<9',)", **TEXTS), patch_a=BODY
    )
    text = "def f(): ...\nclass Chef: ...\n"
    write_wheels(tmp_path / "wheels", {"4.0": {"mod": text}})
    data = answer(capsys, "check", "--releases", "up==4", code=1)
    (finding,) = data["findings"]
    assert re.match(
        r"did you mean up\.mod:(f|Chef)\? Otherwise, narrow", finding["fix"]
    )
