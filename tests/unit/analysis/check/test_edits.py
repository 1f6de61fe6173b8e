from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, codes, edit, only_finding, subject

if TYPE_CHECKING:
    from support.packages import World

F = "def f():\n    x = 1\n    return x\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\f", "\n# \u2028\n"])
def test_lines_end_as_python_has_it(world: World, end: str) -> None:
    """An Edit ends lines where Python does: also at a CR, not at a form feed or a U+2028."""
    lines = ["import os", "def g(): ...", "def f():", "    x = 1", "    return x", ""]
    edits = edit("x = 1", "x = 2"), edit("return x", "return [x]")
    world.pack(row("p", "patch_a", *edits), patch_a="")
    assert codes(checked([subject("1.0", mod=end.join(lines))])) == []


def test_later_edits_see_the_earlier(world: World) -> None:
    """Each of two edits of one function is looked for in what the one before it leaves."""
    changes = (edit("x = 1", "x = 2"), edit("x = 2", "x = 3"))
    world.pack(row("p", "patch_a", *changes), patch_a="")
    assert codes(checked([subject("1.0", mod="def f():\n    x = 1\n")])) == []


@pytest.mark.parametrize(
    ("first", "second", "more", "expected"),
    [
        (edit("x = 1", "x = 2"), edit("x = 1", "x = 3"), {}, ["PK111"]),
        (edit("x = 1", "x = 2"), edit("x = 2", "x = 3"), {}, []),
        (edit("x = 1", "x = 1\ny = 1"), edit("return x", "return y"), {}, []),
        (edit("x = 1", "x = 1; y = 1"), edit("= 1", "= 3"), {}, ["PK112"]),
        (
            edit("x = 1", "x = 2"),
            edit("x = 1", "x = 3", target="up.again:f"),
            {},
            ["PK102"],
        ),
        (
            edit("x = 1", "x = 2"),
            edit("x = 1", "x = 3"),
            {"roles": "{Role.WORKER}"},
            [],
        ),
        (
            edit("x = 1", "x = 2"),
            edit("x = 2", "x = 3"),
            {"roles": "{Role.WORKER}"},
            ["PK111"],
        ),
        (edit("x = 1", "x = 1"), edit("x = 1", "x = 3"), {}, ["PK113"]),
    ],
)
def test_edits_of_one_function_are_made_one_after_another(
    world: World, first: str, second: str, more: dict[str, str], expected: list[str]
) -> None:
    """An Edit is looked for in what those before it leave, in processes that have both."""
    rows = (
        row("p", "patch_a", first),
        row("q", "patch_a", second, after="('p',)", **more),
    )
    world.pack(*rows, patch_a="")
    report = checked([subject("1.0", mod=F, again="from up.mod import f\n")])
    assert codes(report) == expected
    if expected in (["PK111"], ["PK112"]) and not more:
        assert "as p leaves it" in only_finding(report, *expected).message


@pytest.mark.parametrize(
    ("new", "found"),
    [
        ("x = 1\n    y = 1", "line 2 of new fits no block: it begins 4 columns right"),
        ("x = 1\n  y = ?", "new: no Python: '?'"),
        ("x = 1\n\n    y = 1", "line 3 of new"),
    ],
)
def test_an_edit_that_no_release_can_take_is_an_error(
    world: World, new: str, found: str
) -> None:
    """What stops each process is not something to look at by hand: it is PK114."""
    world.pack(row("p", "patch_a", edit("x = 1", new)), patch_a="")
    finding = only_finding(checked([subject("1.0", mod=F)]), "PK114")
    assert found in finding.message
    assert "up/mod.py" in finding.message


def test_old_without_code_is_told_what_is_compared(world: World) -> None:
    """Its fix says nothing of indentation."""
    world.pack(row("p", "patch_a", edit("# x", "x = 1")), patch_a="")
    finding = only_finding(checked([subject("1.0", mod=F)]), "PK114")
    assert finding.fix.startswith("write code of the function into old")


def test_an_edit_after_one_that_may_be_left_out_holds_without_it(world: World) -> None:
    """Where `env` decides on the first, the second has to find its text either way."""
    first = row("p", "patch_a", edit("x = 1", "x = 2"), env="'FAST'")
    world.pack(
        first, row("q", "patch_a", edit("x = 2", "x = 3"), after="('p',)"), patch_a=""
    )
    assert codes(checked([subject("1.0", mod=F)])) == ["PK111"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x = 1", "x = = 1"),
        ("x = 1", "x = (1"),
        ("x = 1", "await other()"),
        ("x = 1", "nonlocal x"),
        ("x = 1", "break"),
    ],
)
def test_an_edited_text_that_does_not_compile_is_an_error(
    world: World, old: str, new: str
) -> None:
    """The run time would refuse it: of a function as of a method."""
    mod = "def f():\n    x = 1\nclass C:\n    def f(self):\n        x = 1\n"
    for target in ("up.mod:f", "up.mod:C.f"):
        world.pack(row("p", "patch_a", edit(old, new, target=target)), patch_a="")
        report = checked([subject("1.0", mod=mod)])
        assert codes(report) == ["PK114"], new
        assert report.grid["p"] == {"up 1.0": "broken"}


def test_a_text_that_did_not_compile_before_is_no_fault_of_the_edit(
    world: World,
) -> None:
    """Upstream may be written for a later Python than the one that checks."""
    change = edit("x = 1", "x = 2", target="up.mod:C.f")
    world.pack(row("p", "patch_a", change), patch_a="")
    mod = "class C:\n    def f(self):\n        x = 1\n        break\n"
    assert codes(checked([subject("1.0", mod=mod)])) == []


@pytest.mark.parametrize(
    ("old", "new", "meant"),
    [
        ("retrun x", "return y", "      7      return x"),
        ("y = self.wieght", "y = 0", "      5      y = self.weight"),
        ("y = self.wieght\ng(y)", "return y", "      5      y = self.weight"),
    ],
)
def test_a_misspelled_old_is_not_found_though_new_is_there(
    world: World, old: str, new: str, meant: str
) -> None:
    """What `new` says may stand elsewhere in the function: that does not make it merged."""
    mod = (
        "def f(self, x, y):\n    if x:\n        y = 0\n        return y\n"
        "    y = self.weight\n    g(y)\n    return x\n"
    )
    world.pack(row("p", "patch_a", edit(old, new)), patch_a="")
    report = checked([subject("1.0", mod=mod)])
    assert codes(report) == ["PK111"]
    first, last = only_finding(report, "PK111").message.split("; nearest match:\n")
    assert first == f"{old.splitlines()[0]!r} not found in up/mod.py"
    assert last.splitlines()[0].split() == meant.split()


def test_the_later_line_of_old_that_differs_is_named(world: World) -> None:
    """Its first line is there, so that it is not said to be absent."""
    mod = "def f(x):\n    y = 0\n    if x:\n        return y\n    return x\n"
    change = edit("if x:\n    return z", "pass")
    world.pack(row("p", "patch_a", change), patch_a="")
    assert only_finding(checked([subject("1.0", mod=mod)]), "PK111").message == (
        "line 2 of old differs, in up/mod.py: found 'return y' in line 4, expected 'return z'; "
        "nearest match:\n     3      if x:\n     4          return y"
    )


def test_a_misspelled_word_is_told_from_a_part_of_another(world: World) -> None:
    """Whole words are compared, so that the order in which they are taken makes no difference."""
    mod = "def f(x):\n    weight = wieght_of(x)\n    return weight\n"
    change = edit("wieght = wieght_of(x)", "return weight")
    world.pack(row("p", "patch_a", change), patch_a="")
    assert codes(checked([subject("1.0", mod=mod)])) == ["PK111"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("a = old_size(1)", "a = new_size(1)"), ("b = g(size1)", "b = h(size1)")],
)
def test_a_similar_line_elsewhere_does_not_hide_that_upstream_has_an_edit(
    world: World, old: str, new: str
) -> None:
    """Words that upstream has replaced, or that stand elsewhere, are not misspelled."""
    mod = f"def f():\n    {new}\n    c = g(size2)\n    a2 = old_sizes(1)\n"
    world.pack(row("p", "patch_a", edit(old, new)), patch_a="")
    assert codes(checked([subject("1.0", mod=mod)])) == ["PK122"]


def test_an_edit_that_upstream_has_made_already(world: World) -> None:
    """Where `old` is still there beside `new`, the Edit writes it twice: upstream has it."""
    change = edit("(a,", "(a, b=1,")
    world.pack(row("p", "patch_a", change), patch_a="")
    report = checked([subject("1.0", mod="def f():\n    return g(a, b=1, c=2)\n")])
    assert codes(report) == ["PK122"]
    assert report.grid["p"] == {"up 1.0": "broken"}
    finding = only_finding(report, "PK122")
    assert "new is there already" in finding.message


def test_a_part_of_the_old_text_is_no_sign_of_a_merge(world: World) -> None:
    """Upstream has added a condition to what the Edit would take one out of."""
    change = edit("not keep and failed", "failed")
    world.pack(row("p", "patch_a", change), patch_a="")
    mod = "def f(keep, failed, more):\n    return not keep and more and failed\n"
    assert codes(checked([subject("1.0", mod=mod)])) == ["PK111"]


def test_a_new_text_that_is_elsewhere_too_is_no_merge(world: World) -> None:
    """A `break` in a loop does not make one outside of it right."""
    world.pack(row("p", "patch_a", edit("x = 1", "break")), patch_a="")
    mod = "def f():\n    x = 1\n    while x:\n        break\n"
    assert codes(checked([subject("1.0", mod=mod)])) == ["PK114"]


def test_a_text_that_is_there_less_often_than_expected(world: World) -> None:
    """The text is right: `count` is what the fix is about."""
    world.pack(row("p", "patch_a", edit("x = 1", "x = 2", count=2)), patch_a="")
    finding = only_finding(checked([subject("1.0", mod=F)]), "PK111")
    assert finding.fix == "count=1, if these are all that you mean"
