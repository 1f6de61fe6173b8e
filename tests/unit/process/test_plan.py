from __future__ import annotations

from samples import row

from patchkit import AfterImport, BeforeImport, Provide, Replace, Wrap
from patchkit.process.plan import ARMED, Plan
from patchkit.registry import Registry


def plan_of(*rows: object) -> Plan:
    return Plan(Registry(rows))  # type: ignore[arg-type]


def test_changes_of_one_module_are_one_group() -> None:
    """They become due together, in declared order; another module's are a group of their own."""
    one, two = Replace("m:a", by="a"), Wrap("m:b", by="b")
    other = AfterImport("n", call="c")
    plan = plan_of(row(changes=(one, other, two)))
    groups = {group.module: group.changes for group in plan.groups()}
    assert groups == {"m": [(0, one), (2, two)], "n": [(1, other)]}


def test_before_and_after_are_apart() -> None:
    """What runs before a module executes is no part of what is applied after."""
    before, after = BeforeImport("m", call="a"), Replace("m:a", by="a")
    plan = plan_of(row(changes=(after, before)))
    assert [group.changes for group in plan.due("m", before=True)] == [[(1, before)]]
    assert [group.changes for group in plan.due("m", before=False)] == [[(0, after)]]


def test_rows_of_one_module_come_in_the_registrys_order() -> None:
    """`after` decides, not the order of declaration."""
    change = (Replace("m:a", by="a"),)
    first, second = row("first", changes=change), row("second", changes=change, after=("first",))
    plan = plan_of(second, first)
    assert [group.row.name for group in plan.due("m", before=False)] == ["first", "second"]
    assert [group.row.name for group in plan.groups()] == ["first", "second"]


def test_targets_and_bodies_are_watched() -> None:
    """A body matters too: somebody else may be importing it when its target is imported."""
    plan = plan_of(row(changes=(Replace("m:a", by="a"),)))
    assert plan.modules == {"m", "pack.patch_a"}
    assert plan.of_body("pack.patch_a") == list(plan.groups())
    assert plan.of_body("m") == []


def test_a_module_that_no_row_names_has_nothing_due() -> None:
    """Nothing is the answer, not an error."""
    assert plan_of().due("m", before=False) == []


def test_rows_start_armed() -> None:
    """Each has a state of its own, by name."""
    plan = plan_of(row("one"), row("two"))
    assert {name: state.status for name, state in plan.states.items()} == {
        "one": ARMED,
        "two": ARMED,
    }


def test_packs_keep_originals() -> None:
    """Bodies of every pack, and patchkit itself, are left out of the pass over copies."""
    assert set(plan_of(row("one", pack="a"), row("two", pack="b.c")).keepers) == {
        "patchkit",
        "a",
        "b.c",
    }


def test_what_serves_a_module_is_apart() -> None:
    """It is due only where nobody else has the module; one beneath makes a package of it."""
    plan = plan_of(row(changes=(Provide("m"), BeforeImport("m", call="a"), Provide("m.sub"))))
    assert [group.changes for group in plan.providing("m")] == [[(0, Provide("m"))]]
    assert [group.provides for group in plan.due("m", before=True)] == [False]
    assert [plan.provides_beneath(name) for name in ("m", "m.sub", "m.s")] == [True, False, False]


def test_rows_come_and_go() -> None:
    """One that is taken in later applies after the others, and leaves nothing when it goes."""
    change = (Replace("m:a", by="a"), Provide("n.sub"))
    plan = plan_of(row("one", changes=change))
    plan.add(row("two", pack="other", changes=change))
    groups = plan.due("m", before=False)
    assert [(group.row.name, group.rank) for group in groups] == [("one", 0), ("two", 1)]
    plan.remove("two")
    assert [group.row.name for group in plan.due("m", before=False)] == ["one"]
    assert plan.of_body("other.patch_a") == []
    plan.remove("one")
    assert (plan.states, list(plan.groups()), plan.provides_beneath("n")) == ({}, [], False)
