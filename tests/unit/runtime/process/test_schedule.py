from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import pytest
from support.samples import row

from patchkit import AfterImport, BeforeImport, Provide, Replace, Wrap
from patchkit.core.rows.declaration import AFTER, BEFORE, SERVING
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.process.applier import CopiesPass
from patchkit.runtime.process.patch_state import ARMED
from patchkit.runtime.process.schedule import Schedule, Turns

if TYPE_CHECKING:
    from patchkit.core.rows.declaration import Row
    from patchkit.runtime.process.patch_state import ChangeGroup


def schedule_of(*rows: Row) -> Schedule:
    """Return the schedule of these rows."""
    return Schedule(rows)


def test_changes_of_one_module_are_one_group() -> None:
    """Changes of one module form a group in declared order, and another module's form their own."""
    replaces = Replace("m:a", by="a")
    wraps = Wrap("m:b", by="b")
    runs_after = AfterImport("n", call="c")
    groups = schedule_of(row(changes=(replaces, runs_after, wraps))).groups()
    changes = {group.module: group.changes for group in groups}
    assert changes == {"m": ((0, replaces), (2, wraps)), "n": ((1, runs_after),)}


def test_changes_before_an_import_are_a_group_of_their_own() -> None:
    """A `BeforeImport` is due before its module executes, and the other changes after."""
    before, after = BeforeImport("m", call="a"), Replace("m:a", by="a")
    schedule = schedule_of(row(changes=(after, before)))
    assert [group.changes for group in schedule.due("m", BEFORE)] == [((1, before),)]
    assert [group.changes for group in schedule.due("m", AFTER)] == [((0, after),)]


def test_rows_of_one_module_come_in_their_order() -> None:
    """The groups of a module come in the order of the rows."""
    change = (Replace("m:a", by="a"),)
    schedule = schedule_of(row("first", changes=change), row("second", changes=change))
    assert [group.patch.name for group in schedule.due("m", AFTER)] == [
        "first",
        "second",
    ]
    assert [group.patch.name for group in schedule.groups()] == ["first", "second"]


def test_targets_and_bodies_are_watched() -> None:
    """A schedule has both the target and the body among its modules, each by its own name."""
    schedule = schedule_of(row(changes=(Replace("m:a", by="a"),)))
    assert schedule.modules == {"m", "pack.patch_a"}
    assert schedule.by_body["pack.patch_a"] == list(schedule.groups())
    assert "m" not in schedule.by_body


def test_a_module_that_no_row_names_has_nothing_due() -> None:
    """A module that no row names has an empty list due, and no error."""
    assert schedule_of().due("m", AFTER) == []


def test_rows_start_armed() -> None:
    """Each row begins with a state of its own, by its name, which is armed."""
    schedule = schedule_of(row("one"), row("two"))
    statuses = {name: state.status for name, state in schedule.patches.items()}
    assert statuses == {"one": ARMED, "two": ARMED}


def test_packs_keep_originals() -> None:
    """The pass over copies leaves out every pack, and patchkit itself."""
    schedule = schedule_of(row("one", pack="a"), row("two", pack="b.c"))
    keepers = CopiesPass(Sites(), schedule, states=None)._keepers()  # type: ignore[arg-type]
    assert set(keepers.packages) == {"patchkit", "a", "b.c"}


def test_a_provide_is_a_group_of_its_own() -> None:
    """A `Provide` is due at SERVING alone; one of a submodule makes its parent a package."""
    row_of_all = row(
        changes=(Provide("m"), BeforeImport("m", call="a"), Provide("m.sub"))
    )
    schedule = schedule_of(row_of_all)
    assert [group.changes for group in schedule.due("m", SERVING)] == [
        ((0, Provide("m")),)
    ]
    assert [group.moment for group in schedule.due("m", BEFORE)] == [BEFORE]
    beneath = [schedule.serves_beneath(name) for name in ("m", "m.sub", "m.s")]
    assert beneath == [True, False, False]


def test_rows_are_added_and_removed() -> None:
    """A row that is added applies after the others, and leaves nothing once it is removed."""
    change = (Replace("m:a", by="a"), Provide("n.sub"))
    schedule = schedule_of(row("one", changes=change))
    schedule.add(row("two", pack="other", changes=change))
    groups = schedule.due("m", AFTER)
    assert [(group.patch.name, group.rank) for group in groups] == [
        ("one", 0),
        ("two", 1),
    ]
    schedule.remove("two")
    assert [group.patch.name for group in schedule.due("m", AFTER)] == ["one"]
    assert schedule.by_body["other.patch_a"] == []
    schedule.remove("one")
    assert (schedule.patches, list(schedule.groups())) == ({}, [])
    assert not schedule.serves_beneath("n")


# -- turns ----------------------------------------------------------------------------------------


@pytest.fixture
def groups() -> list[ChangeGroup]:
    """Two change groups, at which it is another thread's turn."""
    rows = [row(name, changes=(Replace("m:a", by="a"),)) for name in ("p", "q")]
    made = schedule_of(*rows).groups()
    for group in made:
        group.thread = -1
    return made


def test_a_turn_is_taken_by_what_runs_within(groups: list[ChangeGroup]) -> None:
    """A finalizer that runs while its thread is about to wait for a turn may take another one."""
    turns = Turns()
    first, second = groups
    second.thread = None
    taken: list[bool] = []

    def finalize() -> bool:
        with turns.turn(second, lambda: False) as is_taken:
            taken.append(is_taken)
        return True

    thread = threading.Thread(target=turns.take, args=(first, finalize), daemon=True)
    thread.start()
    thread.join(10)
    assert taken == [True]
    assert second.thread is None


def test_a_turn_is_awaited_by_what_runs_within(groups: list[ChangeGroup]) -> None:
    """A signal handler that runs while its thread waits for a turn may wait for another one."""
    turns = Turns()
    first, second = groups
    answers = iter([False, True])
    is_over = threading.Event()

    def handle(*_: object) -> None:
        assert not turns.take(second, lambda: next(answers))
        is_over.set()

    former = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        assert not turns.take(first, is_over.is_set)
    finally:
        signal.signal(signal.SIGALRM, former)
