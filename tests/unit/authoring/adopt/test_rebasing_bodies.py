"""A row that is carried: bodies that hold more than its function, or lie in unusual files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import subject
from support.packages import row

from authoring.adopt.carried_row import (
    BODY,
    COPY,
    F,
    carry,
    code,
    world,
    written,
)
from patchkit.analysis.check.packs import PackSource
from patchkit.authoring.adopt.rebasing import Rebase
from patchkit.authoring.scaffold.plan import write
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
    """All else of the file stays byte for byte; but for a byte order mark, which goes."""
    new = code("function", step_2="step_2 = walk(2)")
    if "\t" in body:
        new = new.replace("    ", "\t")
    done = carry(world, new.replace("walk", "run"), new, COPY, body=body)
    assert done.conflicts == []
    (made,) = (one.new for one in done.files if one.what == "body")
    assert made == body.removeprefix("\ufeff").encode().replace(b"run(2)", b"walk(2)")


def test_a_body_that_does_not_parse(world: World) -> None:
    """One error names it where it has to be read; where not, `check` says so."""
    body = "def f(a:\n"
    with pytest.raises(UpstreamError, match=r"patch_a\.py"):
        carry(world, F, code("function", step_2="step_2 = walk(2)"), COPY, body=body)
    assert carry(world, F, F, COPY, body=body).result == "unchanged"


def test_a_body_that_changes_meanwhile(world: World) -> None:
    """What somebody has written between reading and writing is not lost."""
    (world.folder / "pack").mkdir()
    done = carry(world, F, F, COPY, body=BODY)
    done = Rebase(
        done.row,
        done.old,
        subject("2.0", mod=code("function", step_2="step_2 = walk(2)")),
        done.pack,
    )
    done.run()
    file = world.folder / "pack" / "patch_a.py"
    file.write_text(BODY + "\n\nmore = 1\n")
    done.plan()
    with pytest.raises(ScaffoldError, match="changed meanwhile"):
        write(done.files)
    assert file.read_text() == BODY + "\n\nmore = 1\n"


def test_a_function_that_two_rows_use(world: World) -> None:
    """It is not changed under the other row; beside it, another may be."""
    new = code("function", step_2="step_2 = walk(2)")
    other = row("q", "patch_a", "Replace('up.late:f', by='f')")
    done = carry(world, F, new, COPY, body=BODY, more=other)
    assert done.conflicts[0].reason == "other rows of the body use f, too"
    done = carry(world, F, new, COPY, body=BODY, more=other, keep=True)
    assert "def f_2_0(" in done.files[1].text
    others = row("q", "patch_a", "Replace('up.late:f', by='g')")
    body = BODY + "\n\ng = f\n"
    assert carry(world, F, new, COPY, body=body, more=others).result == "merged"


def test_imports_of_a_body_that_two_rows_use(world: World) -> None:
    """They stay, for the releases of the other."""
    body = "from up.mod import g\n\n\n" + BODY
    g = F.replace("def f", "def g").replace("run", "go")
    old, new = f"{F}\n\n{g}", F
    done = carry(world, old, new, COPY, body=body, late=g)
    assert (done.result, done.files[1].text) == (
        "merged",
        body.replace("up.mod", "up.late"),
    )
    other = row("q", "patch_a", "Wrap('up.late:f', by='f')")
    done = carry(world, old, new, COPY, body=body, late=g, more=other)
    assert [str(one.target) for one in done.conflicts] == ["up.mod:g"]
    assert "it moved, and other rows" in done.conflicts[0].reason


def test_a_name_that_is_there_already(world: World) -> None:
    """No second function of a name is written."""
    new = code("function", step_2="step_2 = walk(2)")
    done = carry(world, F, new, COPY, body=f"{BODY}\n\nf_2_0 = f\n", keep=True)
    assert done.conflicts[0].reason.startswith("f_2_0 is there already")


def test_keeping_twice(world: World) -> None:
    """Three functions, each for its releases."""
    two = code("function", step_2="step_2 = walk(2)")
    done = carry(world, F, two, COPY, body=BODY, keep=True)
    write(done.files)
    sys.modules.pop("pack")
    (found,) = read_pack("pack")
    again = Rebase(
        found,
        subject("2.0", mod=two),
        subject("3.0", mod=two.replace("run(4)", "walk(4)")),
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
    """One after the other, with what the first has become."""
    old = F + "\n\n" + F.replace("def f", "def g")
    new = (
        F.replace("run(1)", "walk(1)")
        + "\n\n"
        + F.replace("def f", "def g").replace("run(2)", "walk(2)")
    )
    body = BODY + "\n\n" + BODY.replace("def f", "def g")
    done = carry(world, old, new, COPY, "Replace('up.mod:g', by='g')", body=body)
    assert done.conflicts == []
    text = written(done, "body")
    assert text.count("walk(1)") == text.count("walk(2)") == 1
    assert text.count("run(77)") == 2
