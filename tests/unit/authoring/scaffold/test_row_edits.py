"""A row that is there already, in many hands' layouts, with other changes and another range."""

from __future__ import annotations

from itertools import chain
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
    """An `__init__.py` with these rows, and with names that they may use."""
    words = ", ".join(patchkit.__all__)
    names = "".join(
        f"{letter}_change = Wrap('up.mod:{letter}', by='around_{letter}')\n"
        for letter in "abc"
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
    """The content after the row `p` got new changes, those for each of its own, and a range."""
    content = content.encode() if isinstance(content, str) else content
    (old,) = [patch for patch in patches(content) if patch.name == "p"]
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
    replacements: list[list[Change] | None],
    new_requires: tuple[str, ...],
    newline: str,
    is_last: bool,
) -> None:
    """The row has the new changes and the new range; every other line stays byte for byte."""
    new = [
        [change] if replacement is None else replacement
        for change, replacement in zip((A, B, C), replacements, strict=True)
    ]
    texts = [
        WAYS[way].format(n=letter) for way, letter in zip(ways, "abc", strict=True)
    ]
    changes = ",\n            ".join(texts)
    row_p = row(changes, layout, requires)
    row_q = row(WAYS["short"].format(n="a"), name="q")
    rows = [row_q, row_p] if is_last else [row_p, row_q]
    old = file(*rows).replace("\n", newline)
    content = edited(old, new, new_requires)
    before_edit = {patch.name: patch for patch in patches(old.encode())}
    after_edit = {patch.name: patch for patch in patches(content)}
    assert list(after_edit["p"].changes) == list(chain.from_iterable(new))
    assert tuple(after_edit["p"].requires) == new_requires
    assert after_edit["q"] == before_edit["q"]
    if newline == "\r\n":
        assert content.count(b"\n") == content.count(b"\r\n")
    start, _, end = content.decode().replace("\r\n", "\n").partition('name="p"')
    old_text = old.replace("\r\n", "\n")
    assert old_text.startswith(start)
    old_end = old_text[old_text.rindex("        why=") :]
    assert end.endswith(old_end[-20:])
    if replacements == [None] * 3 and new_requires == ("up>=1", "other"):
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
def test_a_row_that_is_written_in_another_way_is_refused(text: str) -> None:
    """A row that is not a plain call of Patch with a tuple of changes is one error."""
    content = file(text).replace(
        "PATCHES",
        "CHANGES = (a_change, b_change)\nNAME = 'p'\n"
        "def made(name, requires, changes):\n"
        "    return Patch(name=name, requires=requires, changes=changes[:1])\n\n\nPATCHES",
    )
    first_row = patches(content.encode())[0]
    changes = [[NEW]] * len(first_row.changes)
    with pytest.raises(
        ScaffoldError, match="written otherwise, expected a row written as Patch"
    ):
        edited(content, changes)


def test_a_change_that_two_rows_share_stays_in_the_other() -> None:
    """Replacing a change that two rows share by its name leaves the other row as it was."""
    content = edited(file(row("a_change"), row("a_change", name="q")), [[NEW]])
    assert [list(patch.changes) for patch in patches(content)] == [[NEW], [A]]


def test_what_stands_for_one_change_is_indented_as_it_was() -> None:
    """What takes the place of a change is indented as a formatter would have it."""
    old = file(row(WAYS["exploded"].format(n="a"), LAYOUTS[1]))
    content = edited(old, [[A, LONG]]).decode()
    beginning = '            Wrap("up.mod:a", by="around_a"),\n            Edit(\n                '
    assert beginning in content
    assert content.index("\n            ),\n        ),\n        why=") > 0


@pytest.mark.parametrize("removed", range(3))
def test_a_change_that_goes_takes_its_comma_with_it(removed: int) -> None:
    """A row without its first, middle or last change has the other two."""
    new: list[list[Change]] = [[A], [B], [C]]
    new[removed] = []
    content = edited(file(row("a_change, b_change, c_change")), new)
    assert list(patches(content)[0].changes) == list(chain.from_iterable(new))
