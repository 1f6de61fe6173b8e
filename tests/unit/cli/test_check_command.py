"""`check` over wheels that the tests write."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import write_wheels
from support.packages import row, world

from patchkit.cli import main
from patchkit.core.lock.format import Lock, write_lock

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

from cli.shelves import BODY, NEW, OLD, answer, run_fix, shop

__all__ = ["shop", "world"]


def test_json_keeps_the_keys_of_the_contract(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """JSON has the keys of the contract; the exit code is 1 with findings, and 0 without."""
    data = answer(capsys, "check", "--releases", "up", code=1)
    assert data["releases"] == ["up 1.0", "up 2.0", "up 3.0"]
    assert data["grid"] == {"p": {"up 1.0": "ok", "up 2.0": "ok", "up 3.0": "broken"}}
    (finding,) = data["findings"]
    assert finding["code"] == "PK101"
    assert finding["severity"] == "error"
    assert finding["patch"] == "p"
    assert finding["target"] == "up.mod:f"
    assert finding["release"] == "up 3.0"
    assert finding["file"] == "pack/__init__.py"
    assert finding["line"] == 2
    assert "moved to up.late:f" in finding["message"]
    assert data["summary"] == {
        "patches": 1,
        "releases": 3,
        "unreadable": 0,
        "errors": 1,
        "warnings": 0,
        "infos": 0,
        "accepted": 0,
        "deselected": 0,
    }
    answer(capsys, "check", "--releases", "up<3", code=0)


def test_a_version_that_contradicts_what_is_installed_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is checked is another release than that which the variable selects patches for."""
    monkeypatch.setenv("PATCHKIT_VERSIONS", "packaging=1.0")
    assert main(["check", "--releases", "up<3"]) == 0
    said = capsys.readouterr().err
    assert "packaging 1.0 (PATCHKIT_VERSIONS), but " in said


@pytest.mark.parametrize("variable", ["PATCHKIT_DISABLE", "PATCHKIT_ONLY"])
def test_a_variable_that_names_no_patch_is_said(
    variable: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check` ends as it would, and warns of a name at which every process would stop."""
    words = ["check", "p", "--releases", "up==1.0"]
    monkeypatch.setenv(variable, "p")
    assert main(words) == 0
    assert variable not in capsys.readouterr().err
    monkeypatch.setenv(variable, "pp")
    assert main(words) == 0
    assert capsys.readouterr().err == (
        f"patchkit: no patch can be applied: {variable}: found 'pp', expected a patch's name; "
        "did you mean p?\n"
    )


def test_the_gravest_finding_is_the_one_to_explain(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hint at `explain` names an error, though lesser findings of the row come before it."""
    world.pack(row("p", "patch_a", "Wrap('up.mod:f', by='w')"), patch_a=BODY)
    assert main(["check", "--releases", "up==3"]) == 1
    assert "run 'patchkit explain PK101' for details" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["table", "github", "markdown", "html"])
def test_check_in_every_form(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each says what was found, and ends with the same code."""
    assert main(["check", "--releases", "up", "--format", form]) == 1
    assert "PK101" in capsys.readouterr().out


def test_check_of_a_tree_and_of_a_wheel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tree that does not say which release it is needs to be told; a wheel says it."""
    wheel = str(tmp_path / "wheels" / "up-2.0-py3-none-any.whl")
    assert answer(capsys, "check", "--wheel", wheel, code=0)["releases"] == ["up 2.0"]
    (tmp_path / "tree" / "up").mkdir(parents=True)
    (tmp_path / "tree" / "up" / "__init__.py").touch()
    assert main(["check", "--path", "tree"]) == 2
    assert "PATCHKIT_VERSIONS=up=release" in capsys.readouterr().err
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=3.0")
    data = answer(capsys, "check", "--path", "tree", code=1)
    assert [finding["code"] for finding in data["findings"]] == ["PK101"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check", "--path", "a", "--wheel", "b"], "expected at most one of them"),
        (["check", "--path", "none"], "found no folder 'none', expected a source tree"),
        (["lock", "--path", "none"], "found no folder 'none', expected a source tree"),
        (["check", "--path", "wheels"], "found no up"),
        (
            ["check", "--releases", "1.0"],
            "expected a name as well, such as 'vllm==1.0'",
        ),
        (
            ["check", "--patches", "./pack"],
            "found './pack', expected the dotted name of a package",
        ),
        (
            ["check"],
            "found no release to look at, expected one of up: none is installed",
        ),
        (
            ["lock"],
            "found no release to look at, expected one of up: none is installed",
        ),
        (
            ["check", "--patches", "empty"],
            "expected at least one patch, found none in empty",
        ),
        (
            ["lock", "--patches", "empty"],
            "expected at least one patch, found none in empty",
        ),
        (["check", "--wheel", "none.whl"], "found no file 'none.whl'"),
        (["check", "--releases", "up>9"], "found no release that 'up>9' allows"),
        (["check", "--releases", "up>9"], "the newest of up is 3.0"),
        (["check", "--releases", "upp>9"], "; did you mean up?"),
        (["check", "--releases", "up>>9"], "expected a name with bounds"),
        (
            ["check", "--releases", "up", "--lock", "none.lock"],
            "found no file 'none.lock'",
        ),
        (["check", "--output", "x"], "expected --format json"),
        (["check", "q"], "no patch is named 'q'"),
        (["check", "./pack/"], "; pack is a pack: --patches pack names it"),
        (
            ["diff", "up.mod:f"],
            "named 'up.mod:f', which is a target: 'patchkit history' takes targets",
        ),
        (["history", "up.mod:"], "expected a target"),
        (["history", "nowhere.mod:f"], "nowhere"),
        (
            ["history", "upp.mod:f", "--releases", "up"],
            "found no package upp in up 1.0 to 3.0, expected up; did you mean up?",
        ),
        (["diff", "p", "--to", "7"], "found no release up 7, expected one such as 3.0"),
        (["fit", "./nope", "--releases", "up"], "found no folder './nope', expected"),
        (
            ["fit", "./pack", "--releases", "up"],
            "./pack does not use up; pack is a pack of patches, which 'patchkit check",
        ),
        (["matrix", "--releases", "nowhere"], "nowhere"),
    ],
)
def test_wrong_use_is_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, nothing on stdout, one line on stderr that says what was expected."""
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_a_fix_names_what_the_check_was_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the pack, the lock and the releases were named, the commands to paste name them too."""
    monkeypatch.delenv("PATCHKIT_PATCHES")
    packs_and_lock = ("--patches", "pack", "--lock", "my locks.txt")
    for code, count in (("PK202", 1), ("PK201", 2)):
        write_lock(tmp_path / "my locks.txt", Lock({"p": {}}))
        if code == "PK201":
            assert main(["lock", *packs_and_lock, "--releases", "up<2"]) == 0
        exit_code = 1 if code == "PK201" else 0
        assert main(["check", *packs_and_lock, "--releases", "up<3"]) == exit_code
        out = capsys.readouterr().out
        assert code in out
        start = " " * 11 + "pat"
        lines = [line for line in out.splitlines() if line.startswith(start)]
        commands = [line.strip() for line in lines]
        run_fix("\n  ".join(["", *commands]), count)
        capsys.readouterr()
        answer(capsys, "check", *packs_and_lock, "--releases", "up<3", code=0)


def test_one_source_is_one_drift(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Releases that share a source that nobody has reviewed are one finding, and one review."""
    releases = {f"1.{minor}": {"mod": NEW} for minor in range(1, 9)}
    write_wheels(tmp_path / "wheels", releases)
    assert main(["lock", "--releases", "up==1.0"]) == 0
    capsys.readouterr()
    assert main(["check", "--releases", "up<2"]) == 1
    out = capsys.readouterr().out
    assert out.count("PK201") == 1
    assert "1 warning" in out
    data = answer(capsys, "check", "--releases", "up<2", code=1)
    assert len({finding["fix"] for finding in data["findings"]}) == 1
    run_fix(data["findings"][0]["fix"], count=2)
    capsys.readouterr()
    answer(capsys, "check", "--releases", "up<2", code=0)


def test_a_tree_without_any_of_the_packages_names_them_all(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error about a tree with none of the patched packages names all of them."""
    world.pack(
        row("p", "patch_p", "Wrap('up.mod:f', by='w')", requires="('up',)"),
        row("q", "patch_p", "Wrap('more.mod:f', by='w')", requires="('more',)"),
        patch_p=BODY,
    )
    assert main(["check", "--path", str(tmp_path / "wheels")]) == 2
    assert "found none of up, more, expected at least one" in capsys.readouterr().err
    assert main(["check"]) == 2
    assert "one of up, more: none is installed" in capsys.readouterr().err


def test_releases_of_something_else_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Releases of a package that no patch targets are refused. They would else pass for checked."""
    path = tmp_path / "wheels" / "down-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("down/__init__.py", "")
        wheel.writestr("down-1.0.dist-info/METADATA", "Name: down\n")
    assert main(["check", "--releases", "down"]) == 2
    assert (
        "none of the selected patches targets down, expected releases of up"
        in capsys.readouterr().err
    )


def test_releases_out_of_every_range_are_refused(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Releases that no patch is for are refused. If only some patches are out of range, they are
    named.
    """
    wrap = "Wrap('up.mod:f', by='w')"
    texts = {"why": "'w'", "upstream": "'u'", "sunset": "'s'", "after": "('p',)"}
    later = row("later", "patch_a", wrap, requires="('up>=2,<4',)", **texts)
    world.pack(later, name="new", patch_a=BODY)
    words = ["check", "--patches", "new", "--releases", "up==1.0"]
    assert main([*words, "later"]) == 2
    assert (
        "found nothing to check: up 1.0 is outside the range of every"
        in capsys.readouterr().err
    )
    assert main([*words, "later", "--inverse"]) == 1
    capsys.readouterr()
    assert main([*words, "later", "p"]) == 0
    assert (
        "2 patches, 1 release, no release in range for later" in capsys.readouterr().out
    )
    assert main([*words, "later", "p", "--format", "markdown"]) == 0
    markdown = capsys.readouterr().out
    assert "2 patches hold, or do not target these releases." in markdown


def test_drift_in_a_tree_names_the_tree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fix of drift in a tree locks that tree, and not what is installed."""
    assert main(["lock", "--releases", "up==1.0"]) == 0
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=3.0")
    (tmp_path / "a tree" / "up").mkdir(parents=True)
    (tmp_path / "a tree" / "up" / "__init__.py").touch()
    (tmp_path / "a tree" / "up" / "mod.py").write_text(NEW)
    capsys.readouterr()
    (finding,) = answer(capsys, "check", "--path", "a tree", code=1)["findings"]
    run_fix(finding["fix"], count=2)
    assert "--path 'a tree'" in finding["fix"]
    capsys.readouterr()
    assert answer(capsys, "check", "--path", "a tree", code=0)["findings"] == []


def test_a_mistyped_target_of_a_row_says_what_may_be_meant(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fix for a mistyped target of a row first asks whether a similar one is meant."""
    world.pack(row("p", "patch_a", "Wrap('up.late:ff', by='w')"), patch_a=BODY)
    data = answer(capsys, "check", "--releases", "up==3", code=1)
    findings = data["findings"]
    (missing,) = [finding for finding in findings if finding["code"] == "PK101"]
    assert missing["fix"].startswith("did you mean up.late:f? Otherwise, narrow")
    assert missing["message"] == "up.late has no 'ff'"


def test_one_cause_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index whose files' server does not answer is one finding, however many releases it has."""
    link = (
        '<a href="http://127.0.0.1:9/up-{0}.0-py3-none-any.whl#sha256={0:064x}">x</a>'
    )
    links = "".join(link.format(number) for number in range(1, 40))
    (tmp_path / "index" / "up").mkdir(parents=True)
    (tmp_path / "index" / "up" / "index.html").write_text(links)
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "index").as_uri())
    monkeypatch.setenv("PIP_RETRIES", "0")
    for words in (["check"], ["lock", "p"], ["matrix", "p"]):
        assert main([*words, "--releases", "up"]) == 1
        out, err = capsys.readouterr()
        assert (out + err).count("does not answer") == 1


def test_a_project_of_pre_releases_says_how_one_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nightly builds are read where a bound names one; the error has such a bound, which works."""
    for file in (tmp_path / "wheels").iterdir():
        file.unlink()
    write_wheels(
        tmp_path / "wheels", {"1.0.dev1": {"mod": OLD}, "1.0.dev2": {"mod": OLD}}
    )
    assert main(["check", "--releases", "up"]) == 2
    assert "such as 'up>=1.0.dev2'" in capsys.readouterr().err
    assert main(["check", "--releases", "up>=1.0.dev2"]) == 0


def test_the_page_has_each_difference_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is gone from several releases is one box; the page says which command made it."""
    gone = {f"3.{minor}": {"mod": ""} for minor in range(6)}
    write_wheels(tmp_path / "wheels", gone)
    words = ["check", "p", "--offline", "--releases", "up<4", "--format", "html"]
    assert main(words) == 1
    page = capsys.readouterr().out
    assert page.count("<summary>") == 2
    assert "What upstream changed in up 2.0<" in page
    assert "What upstream changed in up 3.0 to 3.5, 6 releases<" in page
    assert (
        "patchkit check p --offline --releases &#x27;up&lt;4&#x27; --format html"
        in page
    )
    assert 'href="#PK101"' in page
