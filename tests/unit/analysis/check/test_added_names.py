"""Names that rows add are there for the bodies of the pack, by whichever name they are reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, codes, subject

if TYPE_CHECKING:
    from support.packages import World

LIB = """\
class Base:
    size = 1


class Sub(Base): ...


held = Sub()
table = None


def start():
    global table
    table = Sub()


def f(): ...
"""
USE = "def w(wrapped, instance, args, kwargs):\n    {}\n"


def codes_of_use(world: World, use: str, *changes: str) -> list[str]:
    """Check a Wrap whose function has a line, beside a row with some changes."""
    adding = row("adds", "patch_b", *changes, after="()")
    using = row("uses", "patch_a", "Wrap('up.lib:f', by='w')", after="('adds',)")
    world.pack(adding, using, patch_a=USE.format(use), patch_b="new = 1\n")
    release = subject("1.0", lib=LIB, again="from up.lib import Base, held\n")
    return codes(checked([release], names=["uses"]))


@pytest.mark.parametrize(
    "use",
    [
        "from up.lib import Base; Base.new",
        "from up.lib import Base; Base.new.more.still",
        "from up.lib import Sub; Sub.new.more",
        "from up.again import Base; Base.new",
        "import up; up.again.Base.new.more",
        "from up.lib import held; held.new.more",
        "from up.again import held; held.new.more",
        "from up.lib import table; table.new.more",
    ],
)
def test_what_is_added_to_a_class_is_there(world: World, use: str) -> None:
    """In the class, in one that derives from it, under another name, and in objects."""
    add = "Add('up.lib:Base.new', by='new')"
    assert codes_of_use(world, use, add) == []
    through_alias = "Add('up.again:Base.new', by='new')"
    assert codes_of_use(world, use, through_alias) == []


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("from up.lib import Base; Base.size", []),
        ("from up.lib import Base; Base.newer", ["PK602"]),
        ("from up.lib import Base; Base.old.more", ["PK602"]),
        ("import up; up.lib.gone.more", ["PK602"]),
    ],
)
def test_what_nothing_adds_is_gone(world: World, use: str, expected: list[str]) -> None:
    """A name that only begins like one that is added, and names of the class or the module."""
    add = "Add('up.lib:Base.new', by='new')"
    assert codes_of_use(world, use, add) == expected


def test_a_field_that_a_row_adds_is_there(world: World) -> None:
    """An AddField gives the class an attribute, too."""
    field = "AddField('up.lib:Base', name='new', type=int, default=1)"
    assert codes_of_use(world, "from up.lib import Sub; Sub.new", field) == []


def test_a_row_may_change_what_a_row_that_is_not_checked_adds(world: World) -> None:
    """`check NAME` of a Wrap knows that another row of the pack adds its target."""
    world.pack(
        row("adds", "patch_b", "Add('up.lib:Base.new', by='new')"),
        row("wraps", "patch_a", "Wrap('up.lib:Base.new', by='w')", after="('adds',)"),
        patch_a=USE.format("..."),
        patch_b="def new(self): ...\n",
    )
    release = subject("1.0", lib=LIB)
    assert codes(checked([release], names=["wraps"])) == []
    assert codes(checked([release])) == []
