"""What a package sets on upstream or overrides, in releases that have lost it or do not tell."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pytest

from analysis.check.released import find_only_in, write_wheels
from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

OLD = "def f(): ...\nclass C:\n    level = 1\n    def m(self): ...\n"
NEW = "class C:\n    def n(self): ...\n"
EMPTY = ""
FROM_1_1 = {"1.0": NEW, "1.1": OLD, "1.2": OLD}
UP_TO_1_1 = {"1.0": OLD, "1.1": OLD, "1.2": NEW}


@pytest.fixture
def folder(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no index but itself."""
    monkeypatch.chdir(world.folder)
    find_only_in(monkeypatch, ".")
    return world.folder


def answer(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, lib: dict[str, str]
) -> dict[str, Any]:
    """What `fit` says as JSON of a package with one file, for releases that differ in `up.lib`."""
    write_wheels(folder, {version: {"lib": source} for version, source in lib.items()})
    (folder / "theirs").mkdir()
    (folder / "theirs" / "__init__.py").write_text(text)
    capsys.readouterr()
    main(["fit", "theirs", "--of", "up", "--format", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def found_in(answered: dict[str, Any]) -> list[str]:
    """The findings of all releases, each as `1.2 PK606 up.lib:f`."""
    return [
        f"{release['release'][3:]} {finding['code']} {finding['name']}"
        for release in answered["releases"]
        for finding in release["findings"]
    ]


@pytest.mark.parametrize(
    ("text", "lib", "expected"),
    [
        ("import up.lib\nup.lib.f = 1", UP_TO_1_1, ["1.2 PK606 up.lib:f"]),
        ("import up.lib\nup.lib.f = 1", FROM_1_1, []),
        ("import up.lib\nup.lib.other = 1", UP_TO_1_1, []),
        (
            "from up.lib import C\nsetattr(C, 'm', 1)",
            UP_TO_1_1,
            ["1.2 PK606 up.lib:C.m"],
        ),
        ("from up.lib import C\nC.level = 2", UP_TO_1_1, ["1.2 PK606 up.lib:C.level"]),
        (
            "import up.lib\nif not hasattr(up.lib, 'f'):\n    up.lib.f = 1",
            UP_TO_1_1,
            ["1.2 PK605 up.lib:f"],
        ),
        (
            "import up.lib\nold = up.lib.f\nup.lib.f = 1",
            UP_TO_1_1,
            ["1.2 PK601 up.lib:f"],
        ),
        (
            "from up.lib import C\nclass D(C):\n    def m(self): ...",
            UP_TO_1_1,
            ["1.2 PK606 up.lib:C.m"],
        ),
        ("from up.lib import C\nclass D(C):\n    def m(self): ...", FROM_1_1, []),
        (
            "from up.lib import C\nclass D(C):\n    level = 2",
            UP_TO_1_1,
            ["1.2 PK606 up.lib:C.level"],
        ),
        (
            "from up.lib import C\nclass D(C):\n    def m(self): self.m()",
            UP_TO_1_1,
            ["1.2 PK605 up.lib:C.m"],
        ),
        (
            "from up.lib import C\nclass D(C):\n    def m(self): super().m()",
            UP_TO_1_1,
            ["1.2 PK602 up.lib:C.m"],
        ),
        (
            "from up.lib import C\nclass D(C):\n    level = 2",
            {"1.0": OLD, "1.1": "class C:\n    level: int\n"},
            [],
        ),
        (
            "from up.lib import C\nclass D(C):\n    level = 2",
            {
                "1.0": OLD,
                "1.1": "class C:\n    def __init__(self): self.level = 1\n",
            },
            ["1.1 PK606 up.lib:C.level"],
        ),
        (
            "from up.lib import C\nC.m = 1",
            {"1.0": OLD, "1.1": EMPTY},
            ["1.1 PK601 up.lib:C"],
        ),
    ],
)
def test_what_replaces_a_name_that_is_gone(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    lib: dict[str, str],
    expected: list[str],
) -> None:
    """What is set or overridden counts where an earlier release has it, else it is new."""
    assert found_in(answer(folder, capsys, text, lib)) == expected


def test_an_override_of_one_base_is_not_lost_with_the_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A method that overrides one of two bases has no effect only where neither has it."""
    text = "from up.lib import A, B\nclass D(A, B):\n    def m(self): ..."
    has = "class {}:\n    def m(self): ...\n"
    lacks = "class {}: ...\n"
    lib = {
        "1.0": has.format("A") + has.format("B"),
        "1.1": lacks.format("A") + has.format("B"),
        "1.2": lacks.format("A") + lacks.format("B"),
    }
    assert found_in(answer(folder, capsys, text, lib)) == [
        "1.2 PK606 up.lib:A.m",
        "1.2 PK606 up.lib:B.m",
    ]


def test_it_is_said_where_what_is_replaced_went(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The finding of a name that is set and that moved says where; the release does not fit."""
    body = """(ranks, device):
    for rank in ranks:
        device.adjust(rank, ranks)
    return sorted(ranks)
"""
    moved = {"1.0": f"def f{body}", "1.1": f"def g{body}"}
    answered = answer(folder, capsys, "import up.lib\nup.lib.f = 1", moved)
    (finding,) = answered["releases"][-1]["findings"]
    assert finding["moved_to"] == "up.lib:g"
    assert (
        "upstream does not use what is put there; renamed to up.lib:g"
        in finding["message"]
    )
    assert [release["fits"] for release in answered["releases"]] == [True, False]


def test_names_that_are_not_decided_are_counted_and_listed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`fit` says how many names it could not decide; `--undecided` lists them in each format."""
    open_ended = "globals().update(more())\nVALUE = made()\n"
    text = "from up import lib\nfrom up.lib import f, VALUE\nVALUE.x\nlib.own = f.y\n"
    answered = answer(
        folder, capsys, text, {"1.0": "def f(): ...\n" + open_ended, "1.1": open_ended}
    )
    assert answered["names"] == 5  # without `lib.own`, which no release has
    undecided = [
        [name["name"] for name in release["undecided"]]
        for release in answered["releases"]
    ]
    assert "up.lib:f" not in undecided[0]
    assert undecided[1] == ["up.lib:VALUE.x", "up.lib:f", "up.lib:f.y"]
    assert all(name["reason"] for name in answered["releases"][1]["undecided"])
    words = ["fit", "theirs", "--of", "up"]
    assert main(words) == 0
    printed = capsys.readouterr()
    assert "2 of 2 releases are compatible (5 names checked, 3 not decidable)" in (
        printed.out
    )
    assert "PK607" not in printed.out
    assert "3 names could not be decided in some release; --undecided" in printed.err
    for form in ("table", "concise", "github", "markdown", "sarif", "html"):
        assert main([*words, "--undecided", "--format", form]) == 0
        assert "PK607" in capsys.readouterr().out
    assert (
        main([*words, "--undecided", "--format", "concise", "--ignore", "PK607"]) == 0
    )
    assert capsys.readouterr().out == ""


def test_many_names_that_are_not_decided_are_grouped_by_module(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The summary counts them by module, and the table lists them below their reason."""
    names = [f"name_{number}" for number in range(10)]
    lines = [f"from up.lib import {name}" for name in names]
    text = "\n".join([*lines, "from up.other import one, two", "import up.same"])
    open_ended = "globals().update(more())\n"
    release = {"lib": open_ended, "other": open_ended, "same": ""}
    write_wheels(folder, {"1.0": release, "1.1": release})
    (folder / "theirs").mkdir()
    (folder / "theirs" / "__init__.py").write_text(text)
    words = ["fit", "theirs", "--of", "up"]
    assert main([*words, "--undecided"]) == 0
    out = capsys.readouterr().out
    assert (
        "2 of 2 releases are compatible (13 names checked, 12 not decidable: 10 in up.lib, "
        "2 in up.other): up 1.0 to 1.1" in out
    )
    assert out.count("PK607") == 2
    first, _, second = out.partition("  PK607    up.other  2 names\n")
    assert (
        "  PK607    up.lib  10 names\n  note     not decidable: up.lib binds" in first
    )
    assert "\n             name_3  theirs/__init__.py:4\n" in first
    assert second.count("\n             ") == 2


def test_a_release_that_cannot_be_asked_is_not_compatible(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It lacks the package, as a placeholder; or this Python cannot parse what is used of it."""
    write_wheels(folder, {"1.0": {"lib": "f = 1"}, "1.1": {"lib": "print 'f'"}})
    with ZipFile(folder / "up-1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("other.py", "")
    (folder / "theirs").mkdir()
    (folder / "theirs" / "__init__.py").write_text("from up.lib import f")
    assert main(["fit", "theirs", "--of", "up", "--format", "json"]) == 1
    answered = json.loads(capsys.readouterr().out)
    assert (answered["first"], answered["last"]) == ("up 1.0", "up 1.0")
    assert main(["fit", "theirs", "--of", "up"]) == 1
    out = capsys.readouterr().out
    assert "up/lib.py: this Python cannot parse it" in out
    assert "it does not contain up" in out
    assert "1 of 1 release is compatible" in out
