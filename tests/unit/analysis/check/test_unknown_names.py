"""Names in the text of a change that nothing defines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, codes, only_finding, subject
from patchkit import AddField, Edit, Wrap
from patchkit.analysis.check.text_names import globals_read, names_to_find

if TYPE_CHECKING:
    from support.packages import World

MODULE = """
import time
from dataclasses import dataclass
try:
    import fast
except ImportError:
    fast = None
LIMIT = 7

def f(x):
    return x + LIMIT

@dataclass
class C:
    field: int = 0
    def m(self, x):
        return self.field + x
"""
UP = subject("1.0", mod=MODULE)
STAR = subject("1.0", mod=f"from somewhere import *\n{MODULE}")
BODY = (
    "from typing import Optional\nclass Own: ...\ndef call(module): ...\nhelper = 1\n"
)


def edit(new: str, target: str = "f", old: str = "return x + LIMIT") -> str:
    """The source of an Edit of `f`, or of another target."""
    return f"Edit('up.mod:{target}', old={old!r}, new={new!r})"


def field(annotation: str) -> str:
    """The source of an AddField with an annotation."""
    return f"AddField('up.mod:C', 'added', {annotation!r}, None)"


@pytest.mark.parametrize(
    ("changes", "unknown"),
    [
        ([edit("return x + LIMITS")], "LIMITS"),
        ([edit("return x + tiem.time()")], "tiem"),
        ([edit("y = 'LIMITS'  # LIMITS\nreturn x + y + time.time()")], ""),
        ([edit("from up import other\nreturn other(x) or fast")], ""),
        ([edit("return [y for y in x if y.LIMITS(z=len(x))]")], ""),
        ([edit("return [y for y in x if z]")], "z"),
        ([edit("return (lambda: LIMITS)()")], "LIMITS"),
        ([edit("return self.feild", "C.m", "return self.field + x")], ""),
        ([edit("return filed", "C.m", "return self.field + x")], "filed"),
        ([edit("return field", "C.m", "return self.field + x")], "field"),
        ([edit("global made\nmade = x\nreturn made")], ""),
        # Another change defines it.
        ([edit("return helper"), "Add('up.mod:helper', by='helper')"], ""),
        ([edit("return helper"), "AfterImport('up.mod', call='call')"], ""),
        (
            [
                edit("y = 2\nreturn x + LIMIT"),
                edit("return x + LIMIT + y", old="return x + LIMIT"),
            ],
            "",
        ),
        ([field("int | None")], ""),
        ([field("intt")], "intt"),
        ([field("'Optional[Own]'")], ""),
        ([field("Optional['Onw']")], "Onw"),
        ([field("Literal['Onw']")], "Literal"),
        ([field("C")], ""),
    ],
)
def test_a_name_is_defined_somewhere(
    world: World, changes: list[str], unknown: str
) -> None:
    """In the module, the function, the body of an AddField, or by another change; or it is told."""
    world.pack(row("p", "patch_a", *changes, requires="('up>=1,<2',)"), patch_a=BODY)
    report = checked([UP])
    assert codes(report) == ["PK115"] * bool(unknown)
    if unknown:
        message = only_finding(report, "PK115").message
        assert f"reads {unknown}, which nothing in up.mod defines" in message
        assert report.grid["p"] == {"up 1.0": "broken"}


@pytest.mark.parametrize(
    ("name", "near"),
    [("LIMITS", "LIMIT"), ("tiem", "time"), ("fsat", "fast"), ("lenn", "len")],
)
def test_a_near_name_is_asked_for(world: World, name: str, near: str) -> None:
    """A name of the module or the function, before a builtin."""
    change = edit(f"return x + {name}")
    world.pack(row("p", "patch_a", change, requires="('up>=1,<2',)"), patch_a=BODY)
    message = only_finding(checked([UP]), "PK115").message
    assert message.endswith(f"; did you mean {near}?")


def test_where_a_star_import_may_define_it_nothing_is_said(world: World) -> None:
    """What cannot be known is no fault."""
    change = edit("return x + LIMITS")
    world.pack(row("p", "patch_a", change, requires="('up>=1,<2',)"), patch_a=BODY)
    assert codes(checked([STAR])) == []


def test_the_names_that_are_looked_up() -> None:
    """Only of Edits and of AddFields with a text."""
    of_edit = Edit("up.mod:f", old="x + LIMIT", new="y.z + LIMIT + max(n)")
    assert names_to_find(of_edit) == ["n", "y"]
    assert names_to_find(AddField("up.mod:C", "a", "list[X]", None)) == ["X"]
    assert names_to_find(AddField("up.mod:C", "a", int, 0)) == []
    assert names_to_find(AddField("up.mod:C", "a", "not valid(", 0)) == []
    assert names_to_find(Wrap("up.mod:f", by="w")) == []


def test_the_names_that_a_function_reads_from_its_module() -> None:
    """None of a text that does not compile, nor those of decorators and defaults."""
    assert globals_read("@d\ndef f(x=D): return x + G") == {"G"}
    assert globals_read("def f(: pass") == set()
