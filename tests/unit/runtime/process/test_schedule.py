from __future__ import annotations

from typing import TYPE_CHECKING

from support.samples import row

from patchkit import AfterImport, BeforeImport, Provide, Replace, Wrap
from patchkit.core.rows.declaration import AFTER, BEFORE, SERVING
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.process.applier import CopiesPass
from patchkit.runtime.process.patch_state import ARMED
from patchkit.runtime.process.schedule import Schedule

if TYPE_CHECKING:
    from patchkit.core.rows.declaration import Row


def schedule_of(*rows: Row) -> Schedule:
    return Schedule(rows)


def test_changes_of_one_module_are_one_group() -> None:
    """They become due together, in declared order; another module's are a group of their own."""
    one, two = Replace("m:a", by="a"), Wrap("m:b", by="b")
    other = AfterImport("n", call="c")
    groups = schedule_of(row(changes=(one, other, two))).groups()
    changes = {group.module: group.changes for group in groups}
    assert changes == {"m": ((0, one), (2, two)), "n": ((1, other),)}


def test_before_and_after_are_apart() -> None:
    """What runs before a module executes is no part of what is applied after."""
    before, after = BeforeImport("m", call="a"), Replace("m:a", by="a")
    schedule = schedule_of(row(changes=(after, before)))
    assert [group.changes for group in schedule.due("m", BEFORE)] == [((1, before),)]
    assert [group.changes for group in schedule.due("m", AFTER)] == [((0, after),)]


def test_rows_of_one_module_come_in_their_order() -> None:
    """The registry's, in which `after` decides."""
    change = (Replace("m:a", by="a"),)
    schedule = schedule_of(row("first", changes=change), row("second", changes=change))
    assert [group.patch.name for group in schedule.due("m", AFTER)] == [
        "first",
        "second",
    ]
    assert [group.patch.name for group in schedule.groups()] == ["first", "second"]


def test_targets_and_bodies_are_watched() -> None:
    """A body matters too: somebody else may be importing it when its target is imported."""
    schedule = schedule_of(row(changes=(Replace("m:a", by="a"),)))
    assert schedule.modules == {"m", "pack.patch_a"}
    assert schedule.by_body["pack.patch_a"] == list(schedule.groups())
    assert "m" not in schedule.by_body


def test_a_module_that_no_row_names_has_nothing_due() -> None:
    """Nothing is the answer, not an error."""
    assert schedule_of().due("m", AFTER) == []


def test_rows_start_armed() -> None:
    """Each has a state of its own, by name."""
    schedule = schedule_of(row("one"), row("two"))
    assert {name: state.status for name, state in schedule.patches.items()} == {
        "one": ARMED,
        "two": ARMED,
    }


def test_packs_keep_originals() -> None:
    """Bodies of every pack, and patchkit itself, are left out of the pass over copies."""
    schedule = schedule_of(row("one", pack="a"), row("two", pack="b.c"))
    keepers = CopiesPass(Sites(), schedule, states=None)._keepers()  # type: ignore[arg-type]
    assert set(keepers.packages) == {"patchkit", "a", "b.c"}


def test_what_serves_a_module_is_apart() -> None:
    """It is due only where nobody else has the module; one beneath makes a package of it."""
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


def test_rows_come_and_go() -> None:
    """One that is taken in later applies after the others, and leaves nothing when it goes."""
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
