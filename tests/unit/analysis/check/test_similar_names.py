from __future__ import annotations

from typing import TYPE_CHECKING

from support.packages import row

from analysis.check.released import checked, subject
from patchkit.analysis.check import codes
from patchkit.analysis.check.similar_names import did_you_mean
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    import pytest
    from support.packages import World


def test_a_slip_in_the_key_of_a_table_names_similar_keys() -> None:
    """No release has the item: its table has one with a similar key, or a similar table has."""
    release = subject("1", mod="TABLE = {'llama': 1, 'other': 2}\n")
    key = did_you_mean(Target("up.mod", "TABLE['lama']"), release)
    assert key == "; did you mean up.mod:TABLE['llama']?"
    assert did_you_mean(Target("up.mod", "TABLE['zzz']"), release) == ""
    table = did_you_mean(Target("up.mod", "TABL['llama']"), release)
    assert table == "; did you mean up.mod:TABLE?"


def test_a_colon_in_the_wrong_place_is_told() -> None:
    """The module, the class and the method are there, divided by a colon and a dot."""
    release = subject("1", mod="class C:\n    def f(self): ...\n")
    for slip in (
        Target("up.mod.C", "f"),
        Target("up.mod.C.f"),
    ):
        assert did_you_mean(slip, release) == "; did you mean up.mod:C.f?"
    assert did_you_mean(Target("up.nothing.C", "f"), release) == ""
    assert did_you_mean(Target("up.mod.C", "TABLE['a.b']"), release) == ""


def test_a_slip_in_an_open_class_is_told_before_look_by_hand(world: World) -> None:
    """Where a decorator may add anything, a nearly equal name of the class is told all the same."""
    world.pack(
        row("slip", "patch_a", "Replace('up.mod:C.get_sizee', by='f')"),
        row("other", "patch_a", "Replace('up.mod:C.elsewhere', by='f')"),
        patch_a="def f(self): ...",
    )
    source = "from lib import config\n@config\nclass C:\n    def get_size(self): ...\n"
    findings = {
        finding.patch: finding
        for finding in checked([subject("1", mod=source)]).findings
        if finding.code is codes.UNDECIDABLE
    }
    assert findings["slip"].fix.startswith(
        "did you mean up.mod:C.get_size? Otherwise, check it by hand"
    )
    assert findings["other"].fix.startswith("check it by hand")


def test_similar_names_are_found_without_parsing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A check of many rows asks for names of as many modules, whose trees are forgotten by then."""
    release = subject("1", mod="def compute(): ...\n")
    monkeypatch.setattr("patchkit.analysis.upstream.reading.files.parse", None)
    hint = did_you_mean(Target("up.mod", "compite"), release)
    assert hint == "; did you mean up.mod:compute?"
