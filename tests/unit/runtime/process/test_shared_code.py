"""What is told of functions of a pack that share their code, as one decorator has made them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.packages import row

from patchkit import Role
from patchkit.runtime.changes import own_code
from patchkit.runtime.process.effects import CALLED, NEVER_CALLED, NOT_OBSERVABLE

if TYPE_CHECKING:
    from types import ModuleType

    from support.packages import World

world = packages.world

UP = """
def f(): return "f"
def g(): return "g"
class C:
    def m(self): return "m"
class Heir(C): pass
"""
LOGS = """
import functools
def logged(f):
    @functools.wraps(f)
    def inner(*args): return f(*args)
    return inner
def bare(f):
    def inner(*args): return f(*args)
    return inner
def other(f):
    @functools.wraps(f)
    def inner(*args): return f(*args)
    return inner
def twice(f): return logged(bare(f))
"""
BODY = """
from pack.logs import bare, logged, other, twice
@logged
def newf(): return "newf"
@logged
def newg(): return "newg"
@bare
def bareg(): return "bareg"
class New:
    @logged
    def m(self): return "newm"
    @logged
    def n(self): return "newn"
def plain(): return "plain"
def newm(self): return "newm"
def around(wrapped, instance, args, kwargs): return wrapped(*args, **kwargs)
def around_again(wrapped, instance, args, kwargs): return wrapped(*args, **kwargs)
named = logged(plain)
"""
HELPERS = """
from pack.logs import bare, logged
from pack.patch_a import plain
class Helper:
    @staticmethod
    @logged
    def help(): return "help"
@bare
@logged
def outer(): return "outer"
@bare
def inner(): return "inner"
"""

NEWF = "Replace('up.mod:f', by='newf')"
NEWG = "Replace('up.mod:g', by='newg')"
BARE = "Replace('up.mod:g', by='bareg')"
METHOD = "Replace('up.mod:C.m', by='New.m')"
NAMED = "Replace('up.mod:g', by='named')"
MADE = "Decorate('up.mod:g', by='logged')"


def inherited(kind: str, by: str, by_of_base: str) -> tuple[str, str]:
    """Two changes of one kind: of what an heir inherits, and of where it inherits it from."""
    return (
        f"{kind}('up.mod:Heir.m', by='{by}')",
        f"{kind}('up.mod:C.m', by='{by_of_base}')",
    )


@pytest.fixture
def told(world: World) -> Any:
    """Return a function that applies changes of `up.mod`, and runs and looks by turns."""

    def tell(*changes: str, runs: tuple[str, ...] = ()) -> list[str]:
        """Return the words on `up.mod:g`, or the only target, after each run."""
        world.module("up.mod", UP)
        world.pack(
            row("p", "patch_a", *changes), patch_a=BODY, logs=LOGS, helpers=HELPERS
        )
        session = world.session()
        session.journal.directory = str(world.journal)
        session.arm({Role.MAIN})
        names = {"mod": importlib.import_module("up.mod")}
        words: dict[str, str] = {}
        result: list[str] = []
        for run in ("", *runs):
            if run:
                names["helpers"] = importlib.import_module("pack.helpers")
                eval(run, names)
            session.lookout.effects.look()
            for entry in session.journal.entries:
                if entry["event"] == "in-effect":
                    words |= entry["patches"].get("p", {})
            result.append(words[changes[-1].split("'")[1]])
        return result

    return tell


@pytest.mark.parametrize(
    ("change", "helper", "use"),
    [
        (NEWG, "helpers.Helper.help()", "mod.g()"),
        (NEWG, "helpers.outer()", "mod.g()"),
        (METHOD, "helpers.Helper.help()", "mod.C().m()"),
    ],
)
def test_a_helper_of_the_same_decorator_is_no_use_of_a_target(
    told: Any, change: str, helper: str, use: str
) -> None:
    """Its run says nothing; then a run of the function beneath the decorator does."""
    assert told(change, runs=(helper, helper, use)) == [
        NEVER_CALLED,
        NOT_OBSERVABLE,
        NOT_OBSERVABLE,
        CALLED,
    ]


def test_a_decorator_that_does_not_say_what_is_beneath(told: Any) -> None:
    """Nothing tells its functions from each other."""
    words = told(BARE, runs=("helpers.inner()", "mod.g()"))
    assert words == [NEVER_CALLED, NOT_OBSERVABLE, NOT_OBSERVABLE]


@pytest.mark.parametrize(
    ("changes", "run", "word"),
    [
        ((NEWF, NEWG), "mod.f()", NOT_OBSERVABLE),
        ((NEWF, NEWG), "mod.g()", CALLED),
        ((NEWF, METHOD), "mod.C().m()", CALLED),
        ((NEWF, MADE), "mod.g()", NOT_OBSERVABLE),
        ((NAMED,), "helpers.plain()", NEVER_CALLED),
        ((NAMED,), "mod.g()", NOT_OBSERVABLE),
        (("Replace('up.mod:C', by='New', unrelated=True)",), "mod.C().n()", CALLED),
        # Upstream's method has another name than the body's function: a copy is put there.
        (("Replace('up.mod:C.m', by='newm')",), "mod.C().m()", CALLED),
        (("Add('up.mod:C.o', by='newm')",), "mod.C().o()", CALLED),
        # One target's layer lies beneath that of the other.
        (inherited("Wrap", "around", "around_again"), "mod.Heir().m()", CALLED),
        (inherited("Wrap", "around", "around_again")[::-1], "mod.Heir().m()", CALLED),
        (inherited("Decorate", "logged", "other"), "mod.Heir().m()", CALLED),
    ],
)
def test_which_runs_say_something_of_a_target(
    told: Any, changes: tuple[str, ...], run: str, word: str
) -> None:
    """Only that of a function that is the target's alone, whatever else the pack makes of it."""
    assert told(*changes, runs=(run,))[-1] == word


def test_a_pack_is_searched_only_where_something_has_run(
    told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then each module is searched once, and only a run of something else looks for new ones."""
    searched: list[str] = []
    search = own_code._holders_of_code

    def holders(module: ModuleType, pack: str) -> Any:
        searched.append(module.__name__)
        return search(module, pack)

    monkeypatch.setattr(own_code, "_holders_of_code", holders)
    assert told(NEWG, runs=("None",)) == [NEVER_CALLED, NEVER_CALLED]
    assert not searched
    runs = ("helpers.Helper.help()", "None", "mod.g()", "None")
    assert told(NEWG, runs=runs)[-1] == CALLED
    assert {"pack.logs", "pack.patch_a", "pack.helpers"} <= set(searched)
    assert len(searched) == len(set(searched))
