"""`diff`, `history` and `matrix` over wheels that the tests write."""

from __future__ import annotations

import json
import socket
import subprocess
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import write_wheels
from support.packages import row, world

from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

from cli.shelves import BODY, NEW, OLD, answer, shop

__all__ = ["shop", "world"]


def test_diff_shows_what_changed_and_follows_a_move(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`diff` has a unified diff of each target, and follows a target that moved."""
    data = answer(capsys, "diff", "p", "--to", "2.0", code=0)
    assert (data["patch"], data["from"], data["to"]) == ("p", "up 1.0", "up 2.0")
    (target,) = data["targets"]
    assert target["changed"] is True
    assert "-    return [alpha + one for one in beta]" in target["diff"]
    assert "+    return [alpha - one for one in beta]" in target["diff"]
    (moved,) = answer(capsys, "diff", "p", "--from", "2.0", code=0)["targets"]
    assert (moved["changed"], moved["to"]["target"]) == (False, "up.late:f")
    assert main(["diff", "p", "--to", "2.0"]) == 0
    assert "+    return [alpha - one" in capsys.readouterr().out


def test_diff_with_nothing_newer_says_just_that(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where no release is newer, `diff` says so on stderr, and prints nothing on stdout."""
    assert main(["diff", "p", "--from", "3.0"]) == 0
    printed = capsys.readouterr()
    assert "no release is newer than up 3.0" in printed.err
    assert printed.out == ""


def test_diff_of_what_neither_release_has_is_a_fault(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A misspelled target ends with 1 and a question; what an Add brings is in neither, rightly."""
    world.pack(
        row("slip", "patch_a", "Wrap('up.mod:ff', by='w')"),
        row("adds", "patch_a", "Add('up.mod:ff', by='w')"),
        patch_a=BODY,
    )
    assert main(["diff", "slip", "--from", "1.0", "--to", "2.0"]) == 1
    assert "in neither of them; did you mean up.mod:f?" in capsys.readouterr().out
    answer(capsys, "diff", "slip", "--from", "1.0", "--to", "2.0", code=1)
    assert main(["diff", "adds", "--from", "1.0", "--to", "2.0"]) == 0
    out = capsys.readouterr().out
    assert "up.mod:ff: in neither of them, as what adds it expects\n" in out


def test_diff_to_an_installed_package_a_tree_or_a_wheel(
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--here`, `--path` and `--wheel` stand for the newer release, and exclude `--to`."""
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=2.0")
    world.module("up.mod", NEW)
    wheel = next((tmp_path / "wheels").glob("up-2.0-*.whl"))
    for words in (["--here"], ["--path", str(tmp_path)], ["--wheel", str(wheel)]):
        command = ["diff", "p", "--from", "1.0", *words]
        (target,) = answer(capsys, *command, code=0)["targets"]
        assert "+    return [alpha - one for one in beta]" in target["diff"]
    assert main(["diff", "p", "--here", "--to", "2.0"]) == 2
    assert "expected at most one of them" in capsys.readouterr().err


def test_what_is_not_installed_can_be_named_in_other_ways(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The error of `--here` names options that `diff` has."""
    assert main(["diff", "p", "--here"]) == 2
    expected = "none is installed here; --to, --path and --wheel name others"
    assert expected in capsys.readouterr().err


def test_diff_begins_at_the_last_review(capsys: pytest.CaptureFixture[str]) -> None:
    """Without `--from`, `diff` begins at the release that was reviewed last."""
    main(["lock", "--releases", "up==2.0"])
    capsys.readouterr()
    data = answer(capsys, "diff", "p", code=0)
    assert (data["from"], data["to"]) == ("up 2.0", "up 3.0")


def test_diff_looks_beyond_a_range_that_has_nothing_newer(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the row's range has no newer release, `diff` compares with the newest of all. `new`
    writes ranges of one release, which would be compared with itself.
    """
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


def test_history_of_a_target_says_where_it_changed_and_moved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """JSON has state, change and move of each release; the page has a line for each change."""
    steps = answer(capsys, "history", "up.mod:f", code=0)["releases"]
    assert [(step["release"], step["state"], step["changed"]) for step in steps] == [
        ("1.0", "present", False),
        ("2.0", "present", True),
        ("3.0", "absent", False),
    ]
    assert [step["moved_to"] for step in steps] == [None, None, "up.late:f"]
    assert main(["history", "up.mod:f", "--releases", "up<3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "up.mod:f"
    assert [line.split()[0] for line in lines[2:]] == ["1.0", "2.0"]


def test_matrix_names_the_releases_to_test(capsys: pytest.CaptureFixture[str]) -> None:
    """`matrix` names the releases to test, each with its reasons, also as a matrix of GitHub."""
    data = answer(capsys, "matrix", "--releases", "up", code=0)
    assert [entry["release"] for entry in data["releases"]] == ["1.0", "2.0", "3.0"]
    assert "first of the given releases for p" in data["releases"][0]["cases"]
    assert main(["matrix", "--releases", "up", "--format", "github"]) == 0
    assert json.loads(capsys.readouterr().out) == {"up": ["1.0", "2.0", "3.0"]}
    assert main(["matrix", "--releases", "up"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "up exercises",
        "1.0 first of the given releases for p",
        "sources that only it has: up.mod:f",
        "2.0 sources that only it has: up.mod:f",
        "3.0 last of the given releases for p",
        "sources that only it has: up.mod:f",
    ]


@pytest.mark.parametrize("form", ["table", "json", "github"])
def test_a_matrix_of_nothing_is_refused(
    form: str, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no patch is for the releases, `matrix` exits with 2. A job would find an empty matrix,
    and run nothing.
    """
    wrap = "Wrap('up.mod:f', by='w')"
    world.pack(
        row("later", "patch_a", wrap, requires="('up>=3.5',)"), name="new", patch_a=BODY
    )
    words = ["matrix", "--patches", "new", "--releases", "up", "later"]
    assert main([*words, "--format", form]) == 2
    assert "none of the patches is for any release of 'up'" in capsys.readouterr().err


def test_matrix_of_lanes_says_which_ends_of_ranges_are_covered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`matrix --lanes` says which lane covers each end of a range. It exits with 1 while an end has
    neither a lane nor a reason.
    """
    file = tmp_path / "lanes.toml"
    file.write_text("[lanes.a]\nreleases = { up = '1.0' }\n")
    data = answer(capsys, "matrix", "--lanes", str(file), code=1)
    covered = [(end["requirement"], end["covered"]) for end in data["boundaries"]]
    assert covered == [("up>=1", "exact"), ("up<4", "no")]
    assert data["lanes"] == [{"lane": "a", "up": "1.0"}]
    assert data["uncovered"] == 1
    assert main(["matrix", "--lanes", str(file)]) == 1
    printed = capsys.readouterr()
    assert [line.split() for line in printed.out.splitlines()][1:] == [
        ["p", "up>=1", "1.0", "a"],
        ["p", "up<4", "3.0", "nothing"],
    ]
    assert (
        f"found no lane for up<4 of p; expected one for each, or a reason in {file}"
        in printed.err
    )
    file.write_text(file.read_text() + "[boundaries]\n'up<4' = 'no time'\n")
    assert main(["matrix", "--lanes", str(file), "--format", "github"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "include": [{"lane": "a", "up": "1.0"}]
    }
    other = tmp_path / "other.toml"
    other.write_text(
        "[lanes.b]\nreleases = { up-cpu = '1.0' }\n[lanes.unit]\nreleases = {}\n"
    )
    assert main(["matrix", "--lanes", str(other)]) == 1  # it covers no end of `up`
    assert main(["matrix", "--lanes", "nowhere.toml"]) == 2
    assert "nowhere.toml: found no file of lanes" in capsys.readouterr().err
    assert main(["matrix", "--lanes", str(file), "--releases", "up"]) == 2


def test_history_of_what_cannot_be_read_is_no_absence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A release that is cut off is unreadable, in JSON too, and the command does not end with 0."""
    (tmp_path / "wheels" / "up-2.0-py3-none-any.whl").write_text("cut off")
    steps = answer(capsys, "history", "up.mod:f", code=1)["releases"]
    assert [step["state"] for step in steps] == ["present", "unreadable", "absent"]
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
    has_hint = f"; did you mean {meant}" in err
    assert has_hint is bool(meant)


def test_history_tells_each_reason(capsys: pytest.CaptureFixture[str]) -> None:
    """First there is no module, then the module has no such name."""
    assert main(["history", "up.late:g"]) == 1
    lines = capsys.readouterr().out.splitlines()
    first, second = (line.split() for line in lines[2:])
    assert first == [
        "1.0",
        "-",
        "2.0",
        "absent",
        "there",
        "is",
        "no",
        "module",
        "up.late",
    ]
    assert second == ["3.0", "absent", "up.late", "has", "no", "'g'"]


def test_history_of_what_is_not_there_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also if no release has it, so that there is none after which it went."""
    assert main(["history", "up.mod:ff"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "up.mod has no 'ff'" in lines[-1]


def test_history_of_a_patch_says_where_it_broke(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`history PATCH` names the last release and nightly that hold, and the first that break. The
    exit code is 1 if the patch broke.
    """
    wrap = "Wrap('up.mod:f', by='w')"
    world.pack(row("p-q", "patch_a", wrap, requires="('up>=1,<4',)"), patch_a=BODY)
    nightlies = {"2.1.dev20260102": {"mod": NEW}, "2.1.dev20260103": {"mod": ""}}
    write_wheels(tmp_path / "nightlies", nightlies)
    for file in (tmp_path / "nightlies").iterdir():
        file.rename(tmp_path / "wheels" / file.name.replace("up-", "up_nightly-"))
    words = ("history", "p-q", "--nightlies", "up-nightly")
    data = answer(capsys, *words, code=1)
    assert data["releases"] == {"holds": "2.0", "breaks": "3.0"}
    assert data["nightlies"]["breaks"] == "2026-01-03 2.1.dev20260103"
    assert [fault["code"] for fault in data["faults"]] == ["PK101"]
    assert main([*words, "--format", "markdown"]) == 1
    out = capsys.readouterr().out
    assert "| releases | 2.0 | 3.0 |" in out.splitlines()
    assert "- PK101 " in out
    assert main([*words[:2], "--releases", "up<3"]) == 0
    assert (
        capsys.readouterr().out
        == "p-q\n  releases   holds on 2.0\n             breaks on none\n"
    )
    assert main(["history", "up.mod:f", "--nightlies", "up-nightly"]) == 2
    assert "expected a patch for --nightlies" in capsys.readouterr().err


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What somebody tried to connect to, or to look up, on a machine without a network."""
    tried: list[object] = []

    def refuse(*where: object, **_: object) -> None:
        tried.append(where)
        raise OSError("there is no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.example/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    return tried


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("corp-schedular", "no patch is named 'corp-schedular'; did you mean corp-sch"),
        ("corp_scheduler", "no patch is named 'corp_scheduler'; did you mean corp-sch"),
        ("zzz", "no patch is named 'zzz'; 'patchkit list --all' lists all 1"),
        ("up", "no patch is named 'up'"),
        ("corp.scheduler", "or a target with a colon, such as corp:scheduler"),
        ("pack.patch_a", "or a target with a colon, such as pack:patch_a"),
    ],
)
@pytest.mark.parametrize("words", [[], ["--nightlies", "up-nightly"]])
def test_history_of_a_mistyped_patch_asks_no_index(
    words: list[str],
    name: str,
    message: str,
    world: World,
    connections: list[object],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A name without a colon is a patch's. It may be private, and does not leave the machine."""
    wrap = "Wrap('up.mod:f', by='w')"
    world.pack(row("corp-scheduler", "patch_a", wrap), patch_a=BODY)
    assert main(["history", name, *words]) == 2
    assert message in capsys.readouterr().err
    assert connections == []
    assert main(["history", "up.mod:f"]) == 2
    assert connections  # what is asked for by its colon is looked up


@pytest.mark.processes
def test_history_of_a_patch_over_commits(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--path` finds the commit on which the patch broke; only `--releases` asks an index, too."""
    world.pack(
        row("p-q", "patch_a", "Wrap('up.mod:f', by='w')", requires="('up>=1',)"),
        patch_a=BODY,
    )
    place = tmp_path / "clone"
    (place / "up").mkdir(parents=True)
    (place / "up" / "__init__.py").touch()
    identity = ["-c", "user.name=A", "-c", "user.email=a@x.example"]
    options = [*identity, "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    for text, title in ((OLD, "There"), (NEW, "Still there"), ("", "Gone | now")):
        (place / "up" / "mod.py").write_text(text)
        for words in (["add", "."], ["commit", "-q", "-m", title]):
            subprocess.run(["git", *options, *words], cwd=place, check=True)
    command = ("history", "p-q", "--path", str(place))
    data = answer(capsys, *command, code=1)
    commits = data["commits"]
    titles = [commits[end].split(maxsplit=2)[2] for end in ("holds", "breaks")]
    assert titles == ["Still there", "Gone | now"]
    assert "releases" not in data
    assert main([*command, "--format", "markdown"]) == 1
    assert r"Gone \| now |" in capsys.readouterr().out
    data = answer(capsys, *command, "--releases", "up", code=1)
    assert data["releases"]["breaks"] == "3.0"
    assert main(["history", "up.mod:f", "--path", str(place)]) == 2
    assert "expected a patch for --nightlies, --path" in capsys.readouterr().err
    assert main([*command[:3], str(tmp_path)]) == 2
    assert "not a git repository" in capsys.readouterr().err
