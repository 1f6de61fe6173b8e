"""A row that is carried: bodies that hold more than its function, or lie in unusual files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import subject
from support.packages import row

from authoring.rebase.carried_row import (
    BODY,
    COPY,
    F,
    carry,
    code,
    world,
    written,
)
from patchkit.analysis.check.packs import PackSource
from patchkit.authoring.rebase.rebasing import Rebase
from patchkit.authoring.scaffold.files import write
from patchkit.errors import ScaffoldError, UpstreamError
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["world"]
pytestmark = pytest.mark.processes  # git


@pytest.mark.parametrize(
    "body",
    [
        "\ufeff" + BODY,
        BODY.replace("\n", "\r\n"),
        BODY.replace("    ", "\t"),
        "# Ünïcödé ✓\n" + BODY,
        "# one\fpage\n\f\n" + BODY,
    ],
    ids=["BOM", "CRLF", "tabs", "letters", "pages"],
)
def test_bodies_in_unusual_files(world: World, body: str) -> None:
    """All but the merged line stays byte for byte, except for a byte order mark, which goes."""
    new = code("function", step_2="step_2 = walk(2)")
    if "\t" in body:
        new = new.replace("    ", "\t")
    rebase = carry(world, new.replace("walk", "run"), new, COPY, body=body)
    assert rebase.conflicts == []
    (made,) = (file.new for file in rebase.files if file.what == "body")
    assert made == body.removeprefix("\ufeff").encode().replace(b"run(2)", b"walk(2)")


def test_a_body_that_does_not_parse_is_named(world: World) -> None:
    """The error is raised if the body has to be merged; otherwise the row is unchanged."""
    body = "def f(a:\n"
    with pytest.raises(UpstreamError, match=r"patch_a\.py"):
        carry(world, F, code("function", step_2="step_2 = walk(2)"), COPY, body=body)
    assert carry(world, F, F, COPY, body=body).result == "unchanged"


def test_a_body_that_changes_meanwhile_is_not_overwritten(world: World) -> None:
    """What somebody has written between planning and writing stays, and is an error."""
    (world.folder / "pack").mkdir()
    unchanged = carry(world, F, F, COPY, body=BODY)
    new = subject("2.0", mod=code("function", step_2="step_2 = walk(2)"))
    rebase = Rebase(unchanged.row, unchanged.old, new, unchanged.pack)
    rebase.run()
    file = world.folder / "pack" / "patch_a.py"
    file.write_text(BODY + "\n\nmore = 1\n")
    rebase.plan()
    with pytest.raises(ScaffoldError, match="changed meanwhile"):
        write(rebase.files)
    assert file.read_text() == BODY + "\n\nmore = 1\n"


def test_a_function_that_two_rows_use_is_not_changed(world: World) -> None:
    """It is a conflict, unless `keep` writes a new one beside it or the other row uses an alias."""
    new = code("function", step_2="step_2 = walk(2)")
    other = row("q", "patch_a", "Replace('up.late:f', by='f')")
    rebase = carry(world, F, new, COPY, body=BODY, other_row=other)
    assert rebase.conflicts[0].reason == "other rows of the body use f, too"
    rebase = carry(world, F, new, COPY, body=BODY, other_row=other, keep=True)
    assert "def f_2_0(" in rebase.files[1].text
    of_alias = row("q", "patch_a", "Replace('up.late:f', by='g')")
    body = BODY + "\n\ng = f\n"
    rebase = carry(world, F, new, COPY, body=body, other_row=of_alias)
    assert rebase.result == "merged"


def test_an_import_that_moved_in_a_body_of_two_rows_is_a_conflict(world: World) -> None:
    """In a body of one row it is rewritten; in one of two, the other row may need the old place."""
    body = "from up.mod import g\n\n\n" + BODY
    g = F.replace("def f", "def g").replace("run", "go")
    old, new = f"{F}\n\n{g}", F
    rebase = carry(world, old, new, COPY, body=body, late=g)
    assert rebase.result == "merged"
    assert rebase.files[1].text == body.replace("up.mod", "up.late")
    other = row("q", "patch_a", "Wrap('up.late:f', by='f')")
    rebase = carry(world, old, new, COPY, body=body, late=g, other_row=other)
    assert [str(conflict.target) for conflict in rebase.conflicts] == ["up.mod:g"]
    assert "it moved, and other rows" in rebase.conflicts[0].reason


GUARDED = "try:\n    from up.mod import g\n    g.limit = 1\nexcept ImportError:\n    pass\n\n\n"


G = code("function").replace("def f", "def g").replace("run", "go")


@pytest.mark.parametrize(("old", "is_followed"), [("", False), (f"{G}\n\n", True)])
def test_a_guarded_import_is_followed_if_the_old_release_has_it(
    world: World, *, old: str, is_followed: bool
) -> None:
    """Code for other releases, which does nothing in the old one, does nothing in the new one."""
    new = code("function", step_1="step_1 = run(11)")
    rebase = carry(world, old + F, new, COPY, body=GUARDED + BODY, late=G)
    body = written(rebase, "body")
    assert "run(11)" in body
    assert ("fromup.lateimportg" in body) is is_followed
    assert ("fromup.modimportg" in body) is not is_followed


def test_a_kept_function_whose_name_is_taken_is_a_conflict(world: World) -> None:
    """`keep` writes no second definition of a name that the body has."""
    new = code("function", step_2="step_2 = walk(2)")
    rebase = carry(world, F, new, COPY, body=f"{BODY}\n\nf_2_0 = f\n", keep=True)
    assert rebase.conflicts[0].reason.startswith("f_2_0 is there already")


def test_a_row_carried_twice_with_keep_has_three_functions(world: World) -> None:
    """Each of the three functions is for its own releases."""
    second = code("function", step_2="step_2 = walk(2)")
    rebase = carry(world, F, second, COPY, body=BODY, keep=True)
    write(rebase.files)
    sys.modules.pop("pack")
    (patch,) = read_pack("pack")
    again = Rebase(
        patch,
        subject("2.0", mod=second),
        subject("3.0", mod=second.replace("run(4)", "walk(4)")),
        PackSource("pack"),
        True,
    )
    again.run()
    again.plan()
    assert again.conflicts == []
    text = written(again)
    assert "Replace('up.mod:f',by='f',requires=('up<2.0',))" in text
    assert "Replace('up.mod:f',by='f_2_0',requires=('up>=2.0','up<3.0'))" in text
    assert "by='f_2_0_3_0',requires=('up>=2.0','up>=3.0')" in text
    assert "requires=('up>=1,<3.1',)" in text
    assert written(again, "body").count("def") == 3


def test_a_body_of_two_changes_has_both_merged(world: World) -> None:
    """Two copies in one body are merged one after the other, and neither merge is lost."""
    old = F + "\n\n" + F.replace("def f", "def g")
    new_f = F.replace("run(1)", "walk(1)")
    new_g = F.replace("def f", "def g").replace("run(2)", "walk(2)")
    new = new_f + "\n\n" + new_g
    body = BODY + "\n\n" + BODY.replace("def f", "def g")
    rebase = carry(world, old, new, COPY, "Replace('up.mod:g', by='g')", body=body)
    assert rebase.conflicts == []
    text = written(rebase, "body")
    assert text.count("walk(1)") == 1
    assert text.count("walk(2)") == 1
    assert text.count("run(77)") == 2
