"""A row that is there already, in many hands' layouts, with other changes and another range."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import patchkit
from patchkit.authoring.scaffold.row_edits import with_changes
from patchkit.core.rows.declaration import Edit, Patch, Wrap
from patchkit.errors import ScaffoldError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.core.rows.declaration import Change

FILE = Path("my_pack/__init__.py")
A, B, C = (Wrap(f"up.mod:{name}", by=f"around_{name}") for name in "abc")
NEW = Wrap("up.late:a", by="around_a", requires=("up>=2.0",))
LONG = Edit("up.mod:a", old='print("ü")', new="x = '\\n'  # " + "long " * 20)
WAYS = {
    "short": "Wrap('up.mod:{n}', by='around_{n}')",
    "exploded": (
        'Wrap(\n                "up.mod:{n}",  # why\n'
        '                by="around_{n}",\n            )'
    ),
    "name": "{n}_change",
    "joined": "Wrap('up' '.mod:{n}', by=\"around_\" + '{n}')",
    "letters": "Wrap('up.mod:{n}', by='around_{n}' or 'Ünïcödé ✓')",
}
LAYOUTS = (
    "({changes},)",
    "(\n            {changes},\n        )",
    "(  # first\n            {changes}\n            # the end\n        )",
    "({changes},\n)",
)
REQUIRES = (
    "('up>=1', 'other')",
    '(\n            "up>=1",\n            "other",\n        )',
    "RANGE",
)


def row(
    changes: str, layout: str = LAYOUTS[0], requires: str = REQUIRES[0], name: str = "p"
) -> str:
    """A row as somebody has written it."""
    return (
        f'Patch(\n        name="{name}",  # its name: ü\n        requires={requires},\n'
        f"        changes={layout.replace('{changes}', changes)},\n        why='ü',\n    )"
    )


def file(*rows: str) -> str:
    words = ", ".join(patchkit.__all__)
    names = "".join(
        f"{n}_change = Wrap('up.mod:{n}', by='around_{n}')\n" for n in "abc"
    )
    return (
        f"'''Rows: ü.'''\n\nfrom patchkit import {words}\n\nRANGE = ['up>=1', 'other']\n"
        f"{names}PATCHES = (\n    {', '.join(rows)},\n)\n\nLATER = 'ü'  # stays\n"
    )


def patches(content: bytes) -> list[Patch]:
    """What Python makes of a file."""
    space: dict[str, Any] = {}
    exec(content.decode(), space)
    return list(space["PATCHES"])


def edited(
    content: str | bytes,
    new: Sequence[Sequence[Change]],
    requires: Sequence[str] = ("up>=1", "other"),
) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    (old,) = (one for one in patches(content) if one.name == "p")
    return with_changes(FILE, content, old, new, requires)


@given(
    st.lists(st.sampled_from(sorted(WAYS)), min_size=3, max_size=3),
    st.sampled_from(LAYOUTS),
    st.sampled_from(REQUIRES),
    st.lists(
        st.sampled_from([None, [], [NEW], [NEW, LONG], [LONG]]), min_size=3, max_size=3
    ),
    st.sampled_from([("up>=1", "other"), ("up>=2.0,<2.1", "other"), ("up>=2.0",)]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_a_row_becomes_what_was_asked_for(
    ways: list[str],
    layout: str,
    requires: str,
    become: list[list[Change] | None],
    then: tuple[str, ...],
    newline: str,
    last: bool,
) -> None:
    """Python reads the new changes and range from it; every other line stays byte for byte."""
    new = [
        [one] if other is None else other
        for one, other in zip((A, B, C), become, strict=True)
    ]
    changes = ",\n            ".join(
        WAYS[way].format(n=n) for way, n in zip(ways, "abc", strict=True)
    )
    mine = row(changes, layout, requires)
    other = row(WAYS["short"].format(n="a"), name="q")
    old = file(*([other, mine] if last else [mine, other])).replace("\n", newline)
    content = edited(old, new, then)
    read = {one.name: one for one in patches(content)}
    assert list(read["p"].changes) == [one for several in new for one in several]
    assert tuple(read["p"].requires) == then
    assert read["q"] == {one.name: one for one in patches(old.encode())}["q"]
    if newline == "\r\n":
        assert content.count(b"\n") == content.count(b"\r\n")
    start, end = (
        content.decode().replace("\r\n", "\n").partition('name="p"')[i] for i in (0, 2)
    )
    before = old.replace("\r\n", "\n")
    assert before.startswith(start)
    assert end.endswith(before[before.rindex("        why=") :][-20:])
    if become == [None] * 3 and then == ("up>=1", "other"):
        assert content == old.encode()


@pytest.mark.parametrize(
    "text",
    [
        row("a_change").replace("changes=(a_change,)", "changes=[a_change]"),
        row("a_change").replace("changes=(a_change,)", "changes=(a_change,) + ()"),
        row("*[a_change, b_change]"),
        row("a_change, b_change").replace("(a_change, b_change,)", "CHANGES"),
        row("a_change").replace('"p"', "NAME"),
        row("a_change").replace('name="p",', "**{'name': 'p'},"),
        row("a_change").replace(
            "requires=('up>=1', 'other')", "**{'requires': ('up>=1', 'other')}"
        ),
        "made(name='p', requires=('up>=1', 'other'), changes=(a_change, b_change))",
    ],
)
def test_a_row_that_is_written_otherwise_is_its_authors(text: str) -> None:
    """A list, a sum, a star, names and calls that make it: one error, and what was expected."""
    content = file(text).replace(
        "PATCHES",
        "CHANGES = (a_change, b_change)\nNAME = 'p'\n"
        "def made(name, requires, changes):\n"
        "    return Patch(name=name, requires=requires, changes=changes[:1])\n\n\nPATCHES",
    )
    with pytest.raises(
        ScaffoldError, match="written otherwise, expected a row written as Patch"
    ):
        edited(content, [[NEW]] * len(patches(content.encode())[0].changes))


def test_a_change_that_two_rows_share_stays_the_others() -> None:
    """In this row its text takes the place of its name."""
    content = edited(file(row("a_change"), row("a_change", name="q")), [[NEW]])
    assert [list(one.changes) for one in patches(content)] == [[NEW], [A]]


def test_what_stands_for_one_change_is_indented_as_it_was() -> None:
    """A file looks as a formatter would have it."""
    old = file(row(WAYS["exploded"].format(n="a"), LAYOUTS[1]))
    content = edited(old, [[A, LONG]]).decode()
    assert (
        '            Wrap("up.mod:a", by="around_a"),\n            Edit(\n                '
        in content
    )
    assert content.index("\n            ),\n        ),\n        why=") > 0


@pytest.mark.parametrize("at", range(3))
def test_a_change_that_goes_takes_its_comma_with_it(at: int) -> None:
    """The first, one between, the last."""
    new: list[list[Change]] = [[A], [B], [C]]
    new[at] = []
    content = edited(file(row("a_change, b_change, c_change")), new)
    assert list(patches(content)[0].changes) == [
        one for several in new for one in several
    ]
