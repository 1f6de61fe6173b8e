"""A row that is carried: each kind of change and of code, over releases that lie in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from authoring.adopt.carried_row import (
    BODY,
    COPY,
    KINDS,
    STEPS,
    F,
    carry,
    code,
    edit,
    world,
    written,
)

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["world"]
pytestmark = pytest.mark.processes  # git


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_of_every_kind_of_function(world: World, kind: str) -> None:
    """The lines that it names have changed: the Edit is written for the new ones."""
    name, _ = KINDS[kind]
    change = edit(
        name, "step_3 = run(3)\nstep_4 = run(4)", "step_3 = run(3)\nstep_4 = run(44)"
    )
    done = carry(world, code(kind), code(kind, step_3="step_3 = walk(3)"), change)
    assert (done.result, done.conflicts) == ("merged", [])
    ((made,),) = done.changes
    assert (made.old, made.new) == ("step_4 = run(4)", "step_4 = run(44)")
    assert "requires=('up>=2.0,<2.1',)" in written(done)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_of_every_kind_of_function(world: World, kind: str) -> None:
    """The body has it outside of its class, under a name of its own, without decorators."""
    name, template = KINDS[kind]
    head = template.removesuffix("\n{}").rpartition("\n")[2].strip()
    head = head.replace("def f(", "def ours(")
    steps = "".join(f"    {one}\n" for one in [*STEPS[:7], "step_7 = run(77)"])
    body = f"{head}\n{steps}"
    done = carry(
        world,
        code(kind),
        code(kind, step_2="step_2 = walk(2)"),
        f"Replace('up.mod:{name}', by='ours')",
        body=body,
    )
    assert (done.result, done.conflicts) == ("merged", [])
    assert done.files[1].text == body.replace("run(2)", "walk(2)")


def test_edits_of_one_function_are_carried_together(world: World) -> None:
    """The first of them is what both have become, the second is gone."""
    changes = (
        edit(
            "f", "step_1 = run(1)\nstep_2 = run(2)", "step_1 = run(11)\nstep_2 = run(2)"
        ),
        edit("f", "run(6)", "run(66)"),
    )
    done = carry(world, F, code("function", step_2="step_2 = walk(2)"), *changes)
    first, second = done.changes
    made = [
        ("step_6 = run(6)", "step_6 = run(66)"),
        ("step_1 = run(1)", "step_1 = run(11)"),
    ]
    assert [(one.old, one.new) for one in first] == made
    assert not second
    assert written(done).count("Edit('up.mod:f'") == 2


@pytest.mark.parametrize(
    "more", [", when='asked'", ", requires=('other',)", ", rebind=False"]
)
def test_edits_under_other_conditions_are_carried_apart(
    world: World, more: str
) -> None:
    """What becomes of one is not made under the condition of the other."""
    changes = (
        edit(
            "f",
            "step_1 = run(1)\nstep_2 = run(2)",
            "step_1 = run(11)\nstep_2 = run(2)",
            more,
        ),
        edit("f", "run(6)", "run(66)"),
    )
    body = "def asked():\n    return True\n"
    done = carry(
        world, F, code("function", step_2="step_2 = walk(2)"), *changes, body=body
    )
    (first,), (second,) = done.changes
    assert (first.new, second.new) == ("step_1 = run(11)", "run(66)")
    assert [
        one.kind
        for one in (first, second)
        if (one.when, one.requires, one.rebind) == (None, (), True)
    ] == ["Edit"]
    assert (second.when, second.requires, second.rebind) == (None, (), True)


def test_an_edit_of_two_places(world: World) -> None:
    """Upstream has a third by now: each of the two is named by its own lines."""
    old = code("function", step_3="same(1)", step_5="same(1)")
    new = code("function", step_3="same(1)", step_5="same(1)", step_7="same(1)")
    done = carry(world, old, new, edit("f", "same(1)", "same(2)", ", count=2"))
    (made,) = done.changes
    assert done.result == "merged"
    assert [one.count for one in made] == [1, 1]
    assert all("same(2)" in one.new for one in made)


def test_a_part_that_upstream_has_goes(world: World) -> None:
    """The other changes of the row are written alone."""
    old = F + "\n\n" + F.replace("def f", "def g")
    new = old.replace("run(6)", "run(66)", 1)
    changes = (
        edit("g", "run(4)", "run(44)"),
        edit("f", "run(6)", "run(66)"),
        "Add('up.late:h', by='h')",
    )
    done = carry(
        world,
        old,
        new,
        *changes,
        body="def h():\n    return 1\n",
        late="def h():\n    return 2\n",
    )
    assert done.result == "merged"
    assert "changes=(Edit('up.mod:g',old='run(4)',new='run(44)'),)" in written(done)


def test_requirements_on_other_packages_stay(world: World) -> None:
    """A version of one is none of the other."""
    more = "Wrap('ray.mod:f', by='w')"
    body = "def w(wrapped, instance, args, kwargs): ...\n"
    done = carry(
        world,
        F,
        F,
        edit("f", "run(3)", "run(33)"),
        more,
        body=body,
        requires="('up>=1,<2', 'ray>=2.35')",
    )
    assert "requires=('up>=1,<2.1','ray>=2.35')" in written(done)


def test_from_a_release_that_is_out_of_range(world: World) -> None:
    """What it was written for is what somebody says, whatever its range is."""
    new = code("function", step_2="step_2 = walk(2)")
    done = carry(world, F, new, COPY, body=BODY, requires="('up>=2',)")
    assert done.result == "merged"
