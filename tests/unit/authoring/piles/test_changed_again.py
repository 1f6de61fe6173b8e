"""Two statements of a module that are about one attribute, of which a row expresses only one."""

from __future__ import annotations

import pytest

from authoring.piles.pile_of_up import World, adopt, answers, here, kinds, world

__all__ = ["here", "world"]

KEPT = "lib.D.new = 5\n"
"""A statement that has a row in any case."""
HEAD = "from up import lib\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("lib.extra: int = 1", "lib.extra = 2"),
        ("lib.extra = 2", "lib.extra, lib.more = 1, 2"),
        ("del lib.g", "lib.g = print"),
        ("lib.extra = 1", "del lib.extra"),
        ("lib.TABLE['a'] = 5", "lib.TABLE.clear()"),
        ("lib.TABLE.clear()", "lib.TABLE['a'] = 5"),
        ("lib.C.s = 1", "lib.C: type = lib.D"),
    ],
)
def test_a_statement_stays_beside_one_that_no_row_expresses(
    here: World, capsys: pytest.CaptureFixture[str], first: str, second: str
) -> None:
    """Both are listed, and run in the body, in their order."""
    report = adopt(here, capsys, {"patches": f"{HEAD}{KEPT}{first}\n{second}\n"})
    lines = {place["line"] for place in report["left"]}
    assert lines == {3, 4}
    body = (here.folder / "mine" / "patch_patches.py").read_text()
    assert body.index(first) < body.index(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("def later():\n    lib.g: object = 1", "lib.g = print"),
        ("lib.C: type = lib.D", "lib.C.s = 1"),
    ],
)
def test_a_statement_that_meets_no_other_has_a_row(
    here: World, capsys: pytest.CaptureFixture[str], first: str, second: str
) -> None:
    """The other one runs later, or is done when the row is."""
    report = adopt(here, capsys, {"patches": f"{HEAD}{first}\n{second}\n"})
    (changes,) = kinds(report).values()
    assert len(changes) == 1
    assert len(report["left"]) == 1


@pytest.mark.processes
def test_the_rows_do_what_the_pile_does(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is set, deleted and set again, or counted up, ends as in the pile."""
    text = """\
from up import lib, user

lib.extra: int = 1
lib.extra = 2
lib.C.size = 4
lib.C.size += 3
lib.TABLE["a"] = {"b": 1}
lib.TABLE["a"]["b"] = 2
lib.C.new = 1
"""
    report = adopt(here, capsys, {"patches": text})
    assert kinds(report) == {"patches": [("Add", "up.lib:C.new")]}
    theirs, ours = answers(here)
    assert ours == theirs


def test_what_a_loop_or_a_with_sets_is_listed(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their variables may be attributes of upstream."""
    text = f"""{HEAD}{KEPT}for lib.index in (1, 2): pass
for _, lib.index in enumerate("ab"): pass
with open(__file__) as lib.handle: pass
"""
    report = adopt(here, capsys, {"patches": text})
    places = [(place["line"], place["place"]) for place in report["left"]]
    assert places[:3] == [
        (3, "up.lib.index"),
        (4, "up.lib.index"),
        (5, "up.lib.handle"),
    ]


@pytest.mark.processes
def test_what_two_modules_add_is_replaced_by_the_second(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """An Add would find what the first row has added, and stop the process."""
    modules = {
        "__init__": "from pile import more, patches\n",
        "more": f"{HEAD}lib.extra = 3\nlib.C.new = 1\n",
        "patches": f"{HEAD}lib.C.new = 2\n",
    }
    report = adopt(here, capsys, modules)
    assert kinds(report) == {
        "more": [("Add", "up.lib:extra"), ("Add", "up.lib:C.new")],
        "patches": [("Replace", "up.lib:C.new")],
    }
    theirs, ours = answers(here)
    assert ours == theirs
