"""Constants that a Replace gives another type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, codes, only_finding, subject

if TYPE_CHECKING:
    from support.packages import World


def replaced(world: World, mod: str, body: str, more: str = "") -> list[str]:
    """Check a row that replaces `up.mod:N` by the body's `N`; return the codes of findings."""
    world.pack(
        row("p", "patch_a", f"Replace('up.mod:N', by='N'{more})"), patch_a=body + "\n"
    )
    return codes(checked([subject("1.0", mod=mod + "\n")]))


@pytest.mark.parametrize(
    ("mod", "body"),
    [
        ("N = 160", "N = '160'"),
        ("N = -1", "N = '1'"),
        ("N: int = 160", "N = '160'"),
        ("N = 'auto'", "N = 2"),
        ("N = b'x'", "N: str = 'x'"),
        ("if A:\n    N = 1\nelse:\n    N = 2.5", "N = '1'"),
    ],
)
def test_a_constant_of_another_type_is_a_warning(
    world: World, mod: str, body: str
) -> None:
    """Code that reads a number does not expect a string."""
    assert replaced(world, mod, body) == ["PK106"]


@pytest.mark.parametrize(
    ("mod", "body"),
    [
        ("N = None", "N = 'x'"),
        ("N = 1", "N = None"),
        ("N = 1", "N = 2.5"),
        ("N = 2.5", "N = 1"),
        ("N = 0", "N = True"),
        ("N = False", "N = 1"),
        ("N = ...", "N = 1"),
        ("N = 'a'", "N = 'b'"),
        ("N = g()", "N = 'b'"),
        ("N = 1", "N = str(1)"),
        ("N = [1]", "N = (1,)"),
        ("N: int | str = 1", "N = 'auto'"),
        ("N: object = 1", "N = 'auto'"),
        ("if A:\n    N = 1\nelse:\n    N = 'x'", "N = 'y'"),
        ("if A:\n    N = 1\nelse:\n    N = g()", "N = 'y'"),
        ("N = 1 if A else 'x'", "N = 'y'"),
        ("N, M = (1 if A else None), 2", "N = 'y'"),
        ("N = 'x' if A else g()", "N = 1"),
        ("N = 1", "N = 'x' if str() else None"),
    ],
)
def test_types_that_may_be_meant_are_not_told(
    world: World, mod: str, body: str
) -> None:
    """None, numbers among each other, what is declared to be of several types, what is computed."""
    assert replaced(world, mod, body) == []


def test_unrelated_allows_another_type(world: World) -> None:
    """It says that the author knows."""
    assert replaced(world, "N = 1", "N = 'x'", ", unrelated=True") == []


def test_a_default_of_a_class_and_an_item_count_as_constants(world: World) -> None:
    """The patch holds: nothing refuses it."""
    changes = (
        "Replace('up.mod:C.size', by='N')",
        "Replace(\"up.mod:TABLE['a']\", by='N')",
    )
    world.pack(row("p", "patch_a", *changes), patch_a="N = '5'\n")
    mod = "class C:\n    size: int = 4\n\nTABLE = {'a': 1}\n"
    report = checked([subject("1.0", mod=mod)])
    assert codes(report) == ["PK106", "PK106"]
    assert report.grid["p"] == {"up 1.0": "ok"}


def test_both_types_are_told(world: World) -> None:
    """The finding points at the constant of the body."""
    world.pack(
        row("p", "patch_a", "Replace('up.mod:N', by='N')"), patch_a="\nN = '160'\n"
    )
    finding = only_finding(checked([subject("1.0", mod="N = 160\n")]), "PK106")
    assert finding.message == "found N (a str), expected a number, as upstream has it"
    assert finding.line == 2
