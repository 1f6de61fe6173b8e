from __future__ import annotations

from typing import TYPE_CHECKING

from support.packages import row

from analysis.check.released import Memory, checked, files_of, subject
from patchkit.analysis.check import codes
from patchkit.analysis.check.releases import CheckedRelease
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


def test_a_class_is_not_offered_for_a_member() -> None:
    """Though most of its letters are those of the class of the member."""
    source = "class BackendEnumeration: X = 1\nclass _BackendEnumerationMeta: ...\n"
    release = subject("1", mod=source)
    assert did_you_mean(Target("up.mod", "BackendEnumeration.OTHER"), release) == ""


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


_MODULE = """\
from enum import Enum
from dataclasses import dataclass

from up.base import Base, Scheduler
from lib import helper

class Status(Enum):
    \"\"\"A request that waits is WAITNGS.\"\"\"
    WAITING = 1
    def __str__(self): ...

@dataclass
class Args(Base):
    max_model_len: int = 1
    def create_model(self):
        max_model_lex = 1

LONG_NAME: int = 1
"""
_BASE = "class Base:\n    def generate(self): ...\nclass Scheduler: ...\n"


def _hint(target: str) -> str:
    release = subject("1", mod=_MODULE, base=_BASE)
    return did_you_mean(Target.parse(target), release)


def test_fields_and_members_of_enums_are_candidates() -> None:
    """They come before all that is outside of their class, and words of its code are none."""
    assert _hint("up.mod:Status.WAITNG") == "; did you mean up.mod:Status.WAITING?"
    assert _hint("up.mod:Args.max_model_lenn") == (
        "; did you mean up.mod:Args.max_model_len?"
    )
    assert _hint("up.mod:Stats.WAITING") == "; did you mean up.mod:Status.WAITING?"
    # `Status` and `Status.__str__` are like it only because of the class.
    assert _hint("up.mod:Status.qqqq") == ""


def test_members_of_bases_and_of_imported_classes_are_candidates() -> None:
    """The class is read where it is defined, and the hint names it as the target does."""
    assert _hint("up.mod:Args.generatee") == "; did you mean up.mod:Args.generate?"
    assert _hint("up.mod:Base.generatee") == "; did you mean up.mod:Base.generate?"


def test_imported_names_and_variables_of_a_module_are_candidates() -> None:
    """Of the words in the text, those that the module has: what a `__getattr__` returns is one."""
    assert _hint("up.mod:Schedular") == "; did you mean up.mod:Scheduler?"
    assert _hint("up.mod:LONG_NAEM") == "; did you mean up.mod:LONG_NAME?"
    lazy = (
        "TABLE = {'PORT': 1}\ndef __getattr__(name):\n"
        "    if name in TABLE:\n        return TABLE[name]\n"
        "    raise AttributeError('PROTS')\n"
    )
    hint = did_you_mean(Target("up.envs", "PROT"), subject("1", envs=lazy))
    assert hint == "; did you mean up.envs:PORT?"


def test_a_module_that_only_imports_the_name_is_not_offered() -> None:
    """Of two modules with similar names, the one that defines it is meant; a package offers it."""
    importer = "from up.scheduler import Scheduler\n"
    defining = "class Scheduler: ...\n"
    release = subject("1", scheduler=defining, schedulers=importer)
    hint = did_you_mean(Target("up.schedular", "Scheduler"), release)
    assert hint == "; did you mean up.scheduler:Scheduler?"
    files = {**files_of({"scheduler": defining}), "up/package/__init__.py": importer}
    source = Memory("up 1", "1", files)
    offering = CheckedRelease("up 1", "up", "1", lambda: source, is_local=False)
    offered = did_you_mean(Target("up.packag", "Scheduler"), offering)
    assert offered == "; did you mean up.package:Scheduler?"
