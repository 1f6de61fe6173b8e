"""What a process tells of targets whose patches are for other roles."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.packages import row

from patchkit import Role

if TYPE_CHECKING:
    from support.packages import World

    from patchkit.runtime.process.session import Session

world = packages.world

UP = """
TABLE = {"a": "up.models.A", "b": ("models", "B"), "n": 1}
def f(): return "f"
def g(): return TABLE["a"]
class C:
    def m(self): return "m"
class Entry:
    def __init__(self, **fields): vars(self).update(fields)
TABLE["lazy"] = Entry(module_name="up.models", class_name="C")
TABLE["held"] = Entry(of=C)
TABLE["dict"] = {"module": "models", "cls": "A"}
TABLE["nested"] = (("up.models", "B"), 3)
TABLE["dots"] = (".models", "C")
TABLE["bare"] = "C"
TABLE["method"] = "up.models.A.run"
class Lazy:
    @property
    def __class__(self): raise AssertionError("it was loaded")
TABLE["proxy"] = (Lazy(), "up.models.A")
import functools
def logged(f):
    @functools.wraps(f)
    def inner(*args): return f(*args)
    return inner
@logged
def first(): return "first"
@logged
def second(): return "second"
class Heir(C): pass
class Other(C):
    def m(self): return "other"
"""
MODELS = """
class A:
    def run(self): return "A"
class B(A):
    def __init__(self): ...
class C(A):
    def run(self): return "C"
"""
BODY = """
NEW = 2
def by(wrapped, instance, args, kwargs): return wrapped(*args, **kwargs)
"""


def of_table(key: str) -> str:
    return f"Replace('up.mod:TABLE[\"{key}\"]', by='NEW')"


@pytest.fixture
def armed(world: World) -> Any:
    """Return a function that arms a worker with rows for main, and journals what it does."""
    world.module("up.mod", UP)
    world.module("up.other")
    world.module("up.models", MODELS)

    def arm(*changes: str, roles: str = "{Role.MAIN}") -> Session:
        rows = [row("p", "patch_a", *changes, roles=roles)]
        world.pack(*rows, patch_a=BODY)
        session = world.session()
        session.journal.directory = str(world.journal)
        session.arm({Role.WORKER})
        return session

    return arm


def told(session: Session, event: str, key: str) -> list[Any]:
    """Look once, and return what the entries of an event hold under a key."""
    session.lookout.glance()
    entries = session.journal.entries
    return [entry[key] for entry in entries if entry["event"] == event]


def test_imports_are_told_whatever_the_role(armed: Any) -> None:
    """A look tells which modules of targets are imported, each once; the first tells of none."""
    session = armed("Wrap('up.mod:f', by='by')", "Wrap('up.other:f', by='by')")
    assert told(session, "imported", "modules") == [[]]
    importlib.import_module("up.mod")
    assert told(session, "imported", "modules") == [[], ["up.mod"]]
    assert told(session, "imported", "patches")[-1] == {"p": ["up.mod"]}
    importlib.import_module("up.other")
    assert told(session, "imported", "modules") == [[], ["up.mod"], ["up.other"]]
    assert len(told(session, "imported", "modules")) == 3


def test_what_a_patch_has_changed_waits_for_nobody(armed: Any) -> None:
    """The module of an applied patch is imported, and is none that it has not changed."""
    session = armed("Wrap('up.mod:f', by='by')", roles="{Role.WORKER}")
    mod = importlib.import_module("up.mod")
    assert told(session, "imported", "modules")[-1] == ["up.mod"]
    assert told(session, "imported", "patches")[-1] == {}
    mod.f()
    assert told(session, "unpatched", "patches") == []


@pytest.mark.parametrize(
    ("change", "call"),
    [
        ("Wrap('up.mod:f', by='by')", lambda mod: mod.f()),
        ("Wrap('up.mod:C.m', by='by')", lambda mod: mod.C().m()),
    ],
)
def test_a_target_that_runs_without_its_patch_is_told_once(
    armed: Any, change: str, call: Any
) -> None:
    """A call of the original is seen."""
    session = armed(change)
    mod = importlib.import_module("up.mod")
    assert told(session, "unpatched", "patches") == []
    call(mod)
    target = change.split("'")[1]
    assert told(session, "unpatched", "patches") == [{"p": [target]}]
    call(mod)
    assert len(told(session, "unpatched", "patches")) == 1


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("a", "A"),
        ("b", "B"),
        ("lazy", "C"),
        ("dict", "A"),
        ("nested", "B"),
        ("dots", "C"),
        ("method", "A"),
        ("proxy", "A"),
    ],
)
def test_an_entry_of_a_registry_is_used_where_the_class_that_it_names_is(
    armed: Any, key: str, name: str
) -> None:
    """It is imported later than the registry, and no sooner than it is looked up."""
    session = armed(of_table(key))
    mod = importlib.import_module("up.mod")
    assert mod.g()
    assert told(session, "unpatched", "patches") == []
    models = importlib.import_module("up.models")
    assert told(session, "unpatched", "patches") == []
    vars(models)[name]().run()
    assert told(session, "unpatched", "patches") == [{"p": [f'up.mod:TABLE["{key}"]']}]


@pytest.mark.parametrize(
    ("change", "used", "others"),
    [
        ("Wrap('up.mod:first', by='by')", "first", ["second"]),
        ("Wrap('up.mod:Heir.m', by='by')", "", ["C().m", "Heir().m"]),
        ("Replace('up.mod:Other', by='NEW')", "Other().m", ["Heir().m"]),
        (of_table("bare"), "C().m", ["Other().m", "g"]),
        (of_table("a"), "", ["g", "first"]),
    ],
)
def test_what_others_share_is_no_use_of_a_target(
    armed: Any, change: str, used: str, others: list[str]
) -> None:
    """A wrapper of a decorator, what a class inherits, and its siblings say nothing of it."""
    session = armed(change)
    mod = importlib.import_module("up.mod")
    assert told(session, "unpatched", "patches") == []
    for call in others:
        eval(f"{call}()", vars(mod))
    assert told(session, "unpatched", "patches") == []
    if used:
        eval(f"{used}()", vars(mod))
        assert len(told(session, "unpatched", "patches")) == 1


def test_an_entry_that_holds_a_class_is_used_where_the_class_is(armed: Any) -> None:
    """A registry holds the class itself, once somebody has registered one."""
    session = armed(of_table("held"))
    mod = importlib.import_module("up.mod")
    assert told(session, "unpatched", "patches") == []
    mod.C().m()
    assert told(session, "unpatched", "patches") == [{"p": ['up.mod:TABLE["held"]']}]


def test_plain_data_is_not_seen_to_be_used(armed: Any) -> None:
    """Nobody sees whether it is looked up; other code of its module says nothing of it."""
    session = armed(of_table("n"))
    mod = importlib.import_module("up.mod")
    mod.g()
    assert told(session, "unpatched", "patches") == []


def test_other_calls_are_none_of_the_target(armed: Any) -> None:
    """A module that is used for its own sake says nothing of a function in it."""
    session = armed("Wrap('up.mod:f', by='by')")
    mod = importlib.import_module("up.mod")
    mod.g()
    mod.C().m()
    assert told(session, "unpatched", "patches") == []


def test_a_role_that_comes_later_takes_the_target(armed: Any) -> None:
    """Once the patch is for the process, calls are the patch's."""
    session = armed("Wrap('up.mod:f', by='by')")
    mod = importlib.import_module("up.mod")
    session.enter(Role.MAIN)
    mod.f()
    assert told(session, "unpatched", "patches") == []


def test_an_object_that_answers_nothing_stops_no_import(
    armed: Any, world: World
) -> None:
    """What cannot be read is not observed, and its import goes on."""
    session = armed("Wrap('up.mod:Odd', by='by')")
    odd = "class Meta(type):\n    @property\n    def __module__(cls): raise OSError\n"
    world.module("up.mod", f"{odd}class Odd(metaclass=Meta): ...\n")
    importlib.import_module("up.mod")
    assert told(session, "unpatched", "patches") == []
    assert told(session, "imported", "modules")[-1] == ["up.mod"]


def test_without_a_journal_nothing_is_observed(world: World) -> None:
    """Nobody would read it."""
    world.module("up.mod", UP)
    world.pack(row("p", "patch_a", "Wrap('up.mod:f', by='by')"), patch_a=BODY)
    session = world.session()
    session.arm({Role.WORKER})
    importlib.import_module("up.mod")
    assert session.lookout.unpatched is None
