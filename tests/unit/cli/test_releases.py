"""`check`, `lock`, `diff`, `history` and `matrix` over wheels that the tests write."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from check.released import no_own_packs, write_wheels
from packages import REPOSITORY, row, world

from patchkit.cli import main
from patchkit.review.lock_format import Lock, read_lock, write_lock

if TYPE_CHECKING:
    from pathlib import Path

    from packages import World

__all__ = ["world"]

OLD = "def f(alpha, beta):\n    return [alpha + one for one in beta]\n"
NEW = "def f(alpha, beta):\n    return [alpha - one for one in beta]\n"
RELEASES = {"1.0": {"mod": OLD}, "2.0": {"mod": NEW}, "3.0": {"mod": "", "late": NEW}}
BODY = "def w(wrapped, instance, args, kwargs): ..."


@pytest.fixture(autouse=True)
def _shop(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pack with one patch, three releases in a folder, and no index."""
    no_own_packs(monkeypatch)
    texts = {"why": "'w'", "upstream": "'u'", "sunset": "'s'"}
    wrap = "Wrap('up.mod:f', by='w')"
    world.pack(row("p", "patch_a", wrap, requires="('up>=1,<4',)", **texts), patch_a=BODY)
    world.pack(name="empty", patch_a="")
    (tmp_path / "empty" / "patch_a.py").unlink()
    write_wheels(tmp_path / "wheels", RELEASES)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PATCHKIT_PATCHES", "pack")
    monkeypatch.chdir(tmp_path)


def answer(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> Any:
    assert main([*words, "--format", "json"]) == code
    return json.loads(capsys.readouterr().out)


def test_check_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The keys of the contract, and 1 where there is something to do."""
    data = answer(capsys, "check", "--releases", "up", code=1)
    assert data["releases"] == ["up 1.0", "up 2.0", "up 3.0"]
    assert data["grid"] == {"p": {"up 1.0": "ok", "up 2.0": "ok", "up 3.0": "broken"}}
    (found,) = data["findings"]
    assert (found["code"], found["severity"], found["patch"]) == ("PK101", "error", "p")
    assert (found["target"], found["release"], found["line"]) == ("up.mod:f", "up 3.0", 2)
    assert found["file"] == "pack/__init__.py"
    assert "moved to up.late:f" in found["message"]
    assert data["summary"] == {
        "patches": 1,
        "releases": 3,
        "unreadable": 0,
        "errors": 1,
        "warnings": 0,
        "infos": 0,
        "accepted": 0,
    }
    answer(capsys, "check", "--releases", "up<3", code=0)


def test_check_ends_with_the_gravest_finding(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is explained is the error, though what a row does not say comes before it."""
    world.pack(row("p", "patch_a", "Wrap('up.mod:f', by='w')"), patch_a=BODY)
    assert main(["check", "--releases", "up==3"]) == 1
    assert "'patchkit explain PK101' says" in capsys.readouterr().err


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
    assert [one["code"] for one in data["findings"]] == ["PK101"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "--path", "a", "--wheel", "b"], "expected one of them at most"),
        (["check", "--path", "none"], "found no folder 'none', expected a source tree"),
        (["lock", "--path", "none"], "found no folder 'none', expected a source tree"),
        (["check", "--path", "wheels"], "found no up"),
        (["check", "--releases", "1.0"], "expected a name as well, such as 'vllm==1.0'"),
        (["check", "--patches", "./pack"], "found './pack', expected the dotted name of a package"),
        (["check"], "found no release to look at: up is not installed, expected one at least"),
        (["lock"], "found no release to look at: up is not installed, expected one at least"),
        (["check", "--patches", "empty"], "expected one patch at least, found none in empty"),
        (["lock", "--patches", "empty"], "expected one patch at least, found none in empty"),
        (["check", "--wheel", "none.whl"], "found no file 'none.whl'"),
        (["check", "--releases", "up>9"], "found no release that 'up>9' allows"),
        (["check", "--releases", "up>9"], "the newest of up is 3.0"),
        (["check", "--releases", "up>>9"], "expected a name with bounds"),
        (["check", "--releases", "up", "--lock", "none.lock"], "found no file 'none.lock'"),
        (["check", "--output", "x"], "expected --format json"),
        (["check", "q"], "no patch is named 'q'"),
        (["history", "up.mod:"], "expected a target"),
        (["history", "nowhere.mod:f"], "nowhere"),
        (["diff", "p", "--to", "7"], "found no release up 7"),
        (["matrix", "--releases", "nowhere"], "nowhere"),
    ],
)
def test_wrong_use_is_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, nothing on stdout, one line on stderr that says what was expected."""
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def test_lock_then_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is locked is shown and reviewed; what is not is drift; a dry run writes nothing."""
    words = ["lock", "--releases", "up<2"]
    assert answer(capsys, *words, "--check", code=1)["written"] is False
    assert not (tmp_path / "patchkit.lock").exists()
    data = answer(capsys, *words, code=0)
    assert (data["changed"], data["written"]) == (True, True)
    assert any(line.startswith("+") and line.endswith("up 1.0") for line in data["diff"])
    assert data["diff"][:2] == [f"--- a/{data['file']}", f"+++ b/{data['file']}"]
    (span,) = data["spans"]
    assert (span["patch"], span["target"], span["first"]) == ("p", "up.mod:f", "1.0")
    assert answer(capsys, *words, "--check", code=0)["changed"] is False
    data = answer(capsys, "check", "--releases", "up<3", code=1)
    assert data["grid"]["p"] == {"up 1.0": "ok", "up 2.0": "drift"}
    (finding,) = data["findings"]
    assert finding["code"] == "PK201"
    do(finding["fix"], count=2)
    capsys.readouterr()
    answer(capsys, "check", "--releases", "up<3", code=0)
    main(["lock", "--releases", "up<3"])
    assert answer(capsys_cleared(capsys), "check", "--releases", "up<3", code=0)["findings"] == []


def do(fix: str, count: int) -> None:
    """Run each command of a fix, as it stands there."""
    commands = fix.split("\n  ")[1:]
    assert len(commands) == count
    for command in commands:
        name, *words = shlex.split(command)
        assert name == "patchkit"
        assert main(words) == 0


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
        assert main(["check", *packs_and_lock, "--releases", "up<3"]) == int(code == "PK201")
        told = capsys.readouterr().out
        assert code in told
        commands = [line.strip() for line in told.splitlines() if line.startswith(" " * 11 + "pat")]
        do("\n  ".join(["", *commands]), count)
        capsys.readouterr()
        answer(capsys, "check", *packs_and_lock, "--releases", "up<3", code=0)


def test_one_source_is_one_drift(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Releases that share a source that nobody has reviewed are one finding, and one review."""
    write_wheels(tmp_path / "wheels", {f"1.{n}": {"mod": NEW} for n in range(1, 9)})
    assert main(["lock", "--releases", "up==1.0"]) == 0
    capsys.readouterr()
    assert main(["check", "--releases", "up<2"]) == 1
    out = capsys.readouterr().out
    assert out.count("PK201") == 1
    assert "1 warning" in out
    data = answer(capsys, "check", "--releases", "up<2", code=1)
    assert len({one["fix"] for one in data["findings"]}) == 1
    do(data["findings"][0]["fix"], count=2)
    capsys.readouterr()
    answer(capsys, "check", "--releases", "up<2", code=0)


def capsys_cleared(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    capsys.readouterr()
    return capsys


def test_a_malformed_lock_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It names file and line, for every command that reads it."""
    (tmp_path / "pack" / "patchkit.lock").write_text("format 2\nwhat is this\n")
    for words in (["check", "--releases", "up"], ["lock", "--releases", "up"], ["diff", "p"]):
        assert main(words) == 2
        assert "patchkit.lock:2: found 'what is this'" in capsys.readouterr().err


def test_packs_that_are_kept_elsewhere_are_their_authors(
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`lock` and `matrix` leave installed packs out; one that is named is reviewed beside them."""
    theirs = "Wrap('up.mod:f', by='w')"
    text = row("q", "patch_b", theirs, requires="('up>=1,<3',)")
    (tmp_path / "site-packages" / "their").mkdir(parents=True)
    world.pack(text, name="site-packages/their")
    (tmp_path / "site-packages" / "their" / "patch_b.py").write_text(BODY)
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    write_lock(tmp_path / "site-packages" / "their" / "patchkit.lock", Lock({"q": {}}))
    monkeypatch.setenv("PATCHKIT_PATCHES", "pack,their")
    for _ in range(2):
        data = answer(capsys, "lock", "--releases", "up<3", code=0)
        assert data["files"] == ["pack/patchkit.lock"]
        assert {span["patch"] for span in data["spans"]} == {"p"}
    shown = answer(capsys, "matrix", "--releases", "up", code=0)
    assert "of q" not in json.dumps(shown)
    assert main(["lock", "q", "--releases", "up<3"]) == 0
    assert f"PATCHKIT_LOCK={tmp_path / 'patchkit.lock'}" in capsys.readouterr().err
    grid = answer(capsys, "check", "--releases", "up<3", code=1)["grid"]  # q has no `why`
    assert set(grid["q"].values()) == set(grid["p"].values()) == {"ok"}


@pytest.fixture
def theirs(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pack `their` with a patch `q`, as an installer puts it, whose authors reviewed 1.0."""
    folder = tmp_path / "site-packages" / "their"
    folder.mkdir(parents=True)
    text = row("q", "patch_b", "Wrap('up.mod:f', by='w')", requires="('up>=1,<3',)")
    world.pack(text, name="site-packages/their")
    (folder / "patch_b.py").write_text(BODY)
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.setenv("PATCHKIT_PATCHES", "their")
    assert main(["lock", "--releases", "up==1.0", "--lock", str(folder / "patchkit.lock")]) == 0


@pytest.mark.usefixtures("theirs")
def test_reviews_here_take_nothing_from_an_installed_packs_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Neither for who names the file: 1.0 is reviewed by its authors, 2.0 here."""
    assert main(["lock", "q", "--releases", "up==2.0"]) == 0
    capsys.readouterr()
    for words in ((), ("--lock", "patchkit.lock")):
        data = answer(capsys, "check", "--releases", "up<3", *words, code=1)  # q has no `why`
        assert set(data["grid"]["q"].values()) == {"ok"}


@pytest.mark.usefixtures("theirs")
def test_lock_writes_nothing_of_patchkits_own_rows_unasked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a folder that has no pack; who names their pack means them."""
    monkeypatch.setattr("patchkit.cli.look.OWN_PACKS", ("their",))
    assert main(["lock", "--releases", "up==2.0"]) == 2
    assert "found no patch here but patchkit's own" in capsys.readouterr().err
    assert not (tmp_path / "patchkit.lock").exists()
    assert main(["lock", "--patches", "their", "--releases", "up==2.0"]) == 0


def test_each_pack_has_its_own_lock(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is reviewed of several packs goes where processes look for it: into their folders."""
    wrap = "Wrap('up.mod:f', by='w')"
    world.pack(row("q", "patch_b", wrap, requires="('up>=1,<3',)"), name="other", patch_b=BODY)
    monkeypatch.setenv("PATCHKIT_PATCHES", "pack,other")
    assert main(["lock", "--releases", "up<3"]) == 0
    assert capsys.readouterr().err.count("written") == 2
    for name, patch in (("pack", "p"), ("other", "q")):
        assert list(read_lock(world.folder / name / "patchkit.lock").entries) == [patch]
    data = answer(capsys, "lock", "--releases", "up<3", code=0)
    assert (data["changed"], len(data["files"])) == (False, 2)


@pytest.mark.parametrize("layout", ["flat", "src", "flat, without pyproject.toml"])
def test_what_lock_writes_is_what_processes_read(layout: str, tmp_path: Path) -> None:
    """As the tutorial has it: drift of the lock that was just written stops a process."""
    project = tmp_path / "project"
    folder = project / "src" if layout == "src" else project
    (folder / "my_pack").mkdir(parents=True)
    if "without" not in layout:
        (project / "pyproject.toml").write_text("[project]\nname = 'my-pack'\n")
    head = "from patchkit import Patch, Role, Wrap\nPATCHES = ("
    text = row("p", "patch_a", "Wrap('up.mod:f', by='w')", required="True")
    (folder / "my_pack" / "__init__.py").write_text(f"{head}{text},)\n")
    (folder / "my_pack" / "patch_a.py").write_text(BODY)
    (tmp_path / "lib" / "up").mkdir(parents=True)
    (tmp_path / "lib" / "up" / "__init__.py").touch()
    (tmp_path / "lib" / "up" / "mod.py").write_text(OLD)
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PATCHKIT")},
        "PYTHONPATH": os.pathsep.join(map(str, (folder, tmp_path / "lib", REPOSITORY))),
        "PATCHKIT_VERSIONS": "up=1.0",
        "PATCHKIT_PATCHES": "my_pack",
    }

    def python(*words: str, **more: str) -> int:
        command = [sys.executable, *words]
        return subprocess.run(command, cwd=project, env={**env, **more}, check=False).returncode

    assert python("-m", "patchkit", "lock", "p") == 0
    assert (folder / "my_pack" / "patchkit.lock").is_file()
    enter = "import patchkit.auto, up.mod"
    assert python("-c", enter, PATCHKIT_ON_DRIFT="stop") == 0
    (tmp_path / "lib" / "up" / "mod.py").write_text(NEW)
    assert python("-c", enter, PATCHKIT_ON_DRIFT="stop") != 0


def test_diff(capsys: pytest.CaptureFixture[str]) -> None:
    """Both sources of each target, in full and as a unified diff; a move is followed."""
    data = answer(capsys, "diff", "p", "--to", "2.0", code=0)
    assert (data["patch"], data["from"], data["to"]) == ("p", "up 1.0", "up 2.0")
    (one,) = data["targets"]
    assert one["changed"] is True
    assert "-    return [alpha + one for one in beta]" in one["diff"]
    assert "+    return [alpha - one for one in beta]" in one["diff"]
    (one,) = answer(capsys, "diff", "p", "--from", "2.0", code=0)["targets"]
    assert (one["changed"], one["to"]["target"]) == (False, "up.late:f")
    assert main(["diff", "p", "--to", "2.0"]) == 0
    assert "+    return [alpha - one" in capsys.readouterr().out


def test_diff_with_nothing_newer_says_just_that(capsys: pytest.CaptureFixture[str]) -> None:
    """No page says that a release is the same as itself."""
    assert main(["diff", "p", "--from", "3.0"]) == 0
    told = capsys.readouterr()
    assert "no release is newer than up 3.0" in told.err
    assert told.out == ""


def test_diff_to_what_is_no_release(
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is installed here, a tree and a wheel, each in place of the newest release."""
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=2.0")
    world.module("up.mod", NEW)
    wheel = next((tmp_path / "wheels").glob("up-2.0-*.whl"))
    for words in (["--here"], ["--path", str(tmp_path)], ["--wheel", str(wheel)]):
        asked = ["diff", "p", "--from", "1.0", *words]
        (one,) = answer(capsys, *asked, code=0)["targets"]
        assert "+    return [alpha - one for one in beta]" in one["diff"]
    assert main(["diff", "p", "--here", "--to", "2.0"]) == 2
    assert "expected one of them at most" in capsys.readouterr().err


def test_diff_begins_at_the_last_review(capsys: pytest.CaptureFixture[str]) -> None:
    """Without `--from` it says what has to be reviewed."""
    main(["lock", "--releases", "up==2.0"])
    data = answer(capsys_cleared(capsys), "diff", "p", code=0)
    assert (data["from"], data["to"]) == ("up 2.0", "up 3.0")


def test_diff_looks_beyond_a_range_that_has_nothing_newer(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `new` writes allows one release: compared with itself it would always be the same."""
    wrap = "Wrap('up.mod:f', by='w')"
    world.pack(
        row("one", "patch_a", wrap, requires="('up>=1,<2',)"),
        row("last", "patch_a", wrap, requires="('up>=3',)"),
        patch_a=BODY,
    )
    data = answer(capsys, "diff", "one", code=0)
    assert (data["from"], data["to"]) == ("up 1.0", "up 3.0")
    assert main(["diff", "last"]) == 0
    assert "no release is newer than up 3.0; --from" in capsys.readouterr().err


def test_history(capsys: pytest.CaptureFixture[str]) -> None:
    """Release by release in JSON; as few lines as there are changes for a person."""
    steps = answer(capsys, "history", "up.mod:f", code=0)["releases"]
    assert [(one["release"], one["state"], one["changed"]) for one in steps] == [
        ("1.0", "present", False),
        ("2.0", "present", True),
        ("3.0", "absent", False),
    ]
    assert [one["moved_to"] for one in steps] == [None, None, "up.late:f"]
    assert main(["history", "up.mod:f", "--releases", "up<3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "up.mod:f"
    assert [line.split()[0] for line in lines[2:]] == ["1.0", "2.0"]


def test_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    """The releases for a job, each with what it is there for."""
    data = answer(capsys, "matrix", "--releases", "up", code=0)
    assert [one["release"] for one in data["releases"]] == ["1.0", "2.0", "3.0"]
    assert "first of the given releases for p" in data["releases"][0]["cases"]
    assert main(["matrix", "--releases", "up", "--format", "github"]) == 0
    assert json.loads(capsys.readouterr().out) == {"up": ["1.0", "2.0", "3.0"]}


def test_matrix_of_lanes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each end of a range with what covers it; 1 while one has neither a lane nor a reason."""
    file = tmp_path / "lanes.toml"
    file.write_text("[lanes.a]\nreleases = { up = '1.0' }\n")
    data = answer(capsys, "matrix", "--lanes", str(file), code=1)
    assert [(one["requirement"], one["covered"]) for one in data["boundaries"]] == [
        ("up>=1", "exact"),
        ("up<4", "no"),
    ]
    assert (data["lanes"], data["uncovered"]) == ([{"lane": "a", "up": "1.0"}], 1)
    assert main(["matrix", "--lanes", str(file)]) == 1
    told = capsys.readouterr()
    assert [line.split() for line in told.out.splitlines()][1:] == [
        ["p", "up>=1", "1.0", "a"],
        ["p", "up<4", "3.0", "nothing"],
    ]
    assert f"found no lane for up<4 of p; expected one for each, or a reason in {file}" in told.err
    file.write_text(file.read_text() + "[boundaries]\n'up<4' = 'no time'\n")
    assert main(["matrix", "--lanes", str(file), "--format", "github"]) == 0
    assert json.loads(capsys.readouterr().out) == {"include": [{"lane": "a", "up": "1.0"}]}
    assert main(["matrix", "--lanes", "nowhere.toml"]) == 2
    assert "nowhere.toml: found no file of lanes" in capsys.readouterr().err
    assert main(["matrix", "--lanes", str(file), "--releases", "up"]) == 2


def test_a_tree_without_any_of_the_packages_names_them_all(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody is led to look for the one package that happened to be asked for first."""
    world.pack(
        row("p", "patch_p", "Wrap('up.mod:f', by='w')", requires="('up',)"),
        row("q", "patch_p", "Wrap('more.mod:f', by='w')", requires="('more',)"),
        patch_p=BODY,
    )
    assert main(["check", "--path", str(tmp_path / "wheels")]) == 2
    assert "found none of up, more, expected one at least" in capsys.readouterr().err
    assert main(["check"]) == 2
    assert "up, more are not installed" in capsys.readouterr().err


def test_releases_of_something_else_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What no patch has to do with would else pass for checked."""
    with zipfile.ZipFile(tmp_path / "wheels" / "down-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("down/__init__.py", "")
        wheel.writestr("down-1.0.dist-info/METADATA", "Name: down\n")
    assert main(["check", "--releases", "down"]) == 2
    assert (
        "none of the selected patches targets down, expected releases of up"
        in capsys.readouterr().err
    )


def test_drift_in_a_tree_names_the_tree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would be locked is what was looked at, not what is installed."""
    assert main(["lock", "--releases", "up==1.0"]) == 0
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=3.0")
    (tmp_path / "a tree" / "up").mkdir(parents=True)
    (tmp_path / "a tree" / "up" / "__init__.py").touch()
    (tmp_path / "a tree" / "up" / "mod.py").write_text(NEW)
    capsys.readouterr()
    (finding,) = answer(capsys, "check", "--path", "a tree", code=1)["findings"]
    do(finding["fix"], count=2)
    assert "--path 'a tree'" in finding["fix"]
    capsys.readouterr()
    assert answer(capsys, "check", "--path", "a tree", code=0)["findings"] == []


def test_history_of_what_cannot_be_read_is_no_absence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A release that is cut off is unreadable, in JSON too, and the command does not end with 0."""
    (tmp_path / "wheels" / "up-2.0-py3-none-any.whl").write_text("cut off")
    steps = answer(capsys, "history", "up.mod:f", code=1)["releases"]
    assert [one["state"] for one in steps] == ["present", "unreadable", "absent"]
    assert main(["history", "up.mod:f", "--releases", "up==1.0"]) == 0


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("up.mod:ff", "up.mod:f"),
        ("up.modd:f", "up.mod:f"),
        ("up.late.f", "up.late:f"),
        ("up.zzzz:f", ""),
    ],
)
def test_history_of_what_never_was(
    target: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped name is no row of absences: it says what may have been meant, and ends with 1."""
    assert main(["history", target]) == 1
    err = capsys.readouterr().err
    assert f"found no {target} in up 1.0 to 3.0" in err
    assert ("; did you mean " + meant in err) is bool(meant)


def test_check_of_what_never_was(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped target of a row says what may have been meant; one that was there does not."""
    world.pack(row("p", "patch_a", "Wrap('up.late:ff', by='w')"), patch_a=BODY)
    data = answer(capsys, "check", "--releases", "up==3", code=1)
    (found,) = [one for one in data["findings"] if one["code"] == "PK101"]
    assert "; did you mean up.late:f?" in found["message"]


def test_one_cause_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index whose files' server does not answer is one finding, however many releases it has."""
    links = "".join(
        f'<a href="http://127.0.0.1:9/up-{n}.0-py3-none-any.whl#sha256={n:064x}">x</a>'
        for n in range(1, 40)
    )
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
    write_wheels(tmp_path / "wheels", {"1.0.dev1": {"mod": OLD}, "1.0.dev2": {"mod": OLD}})
    assert main(["check", "--releases", "up"]) == 2
    assert "such as 'up>=1.0.dev2'" in capsys.readouterr().err
    assert main(["check", "--releases", "up>=1.0.dev2"]) == 0


def test_the_page_has_each_difference_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is gone from several releases is one box; the page says which command made it."""
    gone = {f"3.{n}": {"mod": ""} for n in range(6)}
    write_wheels(tmp_path / "wheels", gone)
    words = ["check", "p", "--offline", "--releases", "up<4", "--format", "html"]
    assert main(words) == 1
    page = capsys.readouterr().out
    assert page.count("<summary>") == 2
    assert "What upstream changed in up 2.0<" in page
    assert "What upstream changed in up 3.0 - 3.5<" in page
    assert "patchkit check p --offline --releases &#x27;up&lt;4&#x27; --format html" in page
    assert 'href="#PK101"' in page
