"""A row that is carried: each kind of change and of code, over releases that lie in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from authoring.rebase.carried_row import (
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
    """Upstream has changed lines that the Edit names: it is written for the new ones."""
    name, _ = KINDS[kind]
    change = edit(
        name, "step_3 = run(3)\nstep_4 = run(4)", "step_3 = run(3)\nstep_4 = run(44)"
    )
    rebase = carry(world, code(kind), code(kind, step_3="step_3 = walk(3)"), change)
    assert (rebase.result, rebase.conflicts) == ("merged", [])
    ((made,),) = rebase.changes
    assert (made.old, made.new) == ("step_4 = run(4)", "step_4 = run(44)")
    assert "requires=('up>=2.0,<2.1',)" in written(rebase)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_of_every_kind_of_function(world: World, kind: str) -> None:
    """A copy in the body, outside of its class and without decorators, gets upstream's change."""
    name, template = KINDS[kind]
    head = template.removesuffix("\n{}").rpartition("\n")[2].strip()
    head = head.replace("def f(", "def ours(")
    steps = "".join(f"    {step}\n" for step in [*STEPS[:7], "step_7 = run(77)"])
    body = f"{head}\n{steps}"
    rebase = carry(
        world,
        code(kind),
        code(kind, step_2="step_2 = walk(2)"),
        f"Replace('up.mod:{name}', by='ours')",
        body=body,
    )
    assert (rebase.result, rebase.conflicts) == ("merged", [])
    assert rebase.files[1].text == body.replace("run(2)", "walk(2)")


def test_edits_of_one_function_are_carried_together(world: World) -> None:
    """What both have become stands in place of the first, and the second is gone."""
    changes = (
        edit(
            "f", "step_1 = run(1)\nstep_2 = run(2)", "step_1 = run(11)\nstep_2 = run(2)"
        ),
        edit("f", "run(6)", "run(66)"),
    )
    rebase = carry(world, F, code("function", step_2="step_2 = walk(2)"), *changes)
    first, second = rebase.changes
    made = [
        ("step_6 = run(6)", "step_6 = run(66)"),
        ("step_1 = run(1)", "step_1 = run(11)"),
    ]
    assert [(edit.old, edit.new) for edit in first] == made
    assert not second
    assert written(rebase).count("Edit('up.mod:f'") == 2


@pytest.mark.parametrize(
    "more", [", when='asked'", ", requires=('other',)", ", rebind=False"]
)
def test_edits_under_other_conditions_are_carried_apart(
    world: World, more: str
) -> None:
    """Each keeps its own condition, and none is made under the condition of the other."""
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
    rebase = carry(
        world, F, code("function", step_2="step_2 = walk(2)"), *changes, body=body
    )
    (first,), (second,) = rebase.changes
    assert (first.new, second.new) == ("step_1 = run(11)", "run(66)")
    assert (first.when, first.requires, first.rebind) != (None, (), True)
    assert second.kind == "Edit"
    assert (second.when, second.requires, second.rebind) == (None, (), True)


def test_an_edit_of_two_places_becomes_two_when_there_is_a_third(world: World) -> None:
    """Upstream has a third such line by now: each of the two is named by lines of its own."""
    old = code("function", step_3="same(1)", step_5="same(1)")
    new = code("function", step_3="same(1)", step_5="same(1)", step_7="same(1)")
    rebase = carry(world, old, new, edit("f", "same(1)", "same(2)", ", count=2"))
    (made,) = rebase.changes
    assert rebase.result == "merged"
    assert [edit.count for edit in made] == [1, 1]
    assert all("same(2)" in edit.new for edit in made)


def test_a_change_that_upstream_has_made_is_dropped(world: World) -> None:
    """Only the other changes of the row are written."""
    old = F + "\n\n" + F.replace("def f", "def g")
    new = old.replace("run(6)", "run(66)", 1)
    changes = (
        edit("g", "run(4)", "run(44)"),
        edit("f", "run(6)", "run(66)"),
        "Add('up.late:h', by='h')",
    )
    rebase = carry(
        world,
        old,
        new,
        *changes,
        body="def h():\n    return 1\n",
        late="def h():\n    return 2\n",
    )
    assert rebase.result == "merged"
    assert "changes=(Edit('up.mod:g',old='run(4)',new='run(44)'),)" in written(rebase)


def test_a_field_that_upstream_has_by_now_is_no_longer_added(world: World) -> None:
    """As what an Add brings; a class that has other fields by now is to be looked at."""
    old = "from dataclasses import dataclass\n\n\n@dataclass\nclass A:\n    size: int = 1\n"
    field = "AddField('up.mod:A', name='more', type='int', default=2)"
    rebase = carry(world, old, f"{old}    more: int = 2\n", field)
    assert rebase.result == "retired"
    rebase = carry(world, old, f"{old}    other: int = 2\n", field)
    assert rebase.result == "unchanged"
    assert [str(target) for target in rebase.to_review] == ["up.mod:A"]


def test_requirements_on_other_packages_stay(world: World) -> None:
    """Only the bound of the package that is carried is raised."""
    wrap = "Wrap('ray.mod:f', by='w')"
    body = "def w(wrapped, instance, args, kwargs): ...\n"
    rebase = carry(
        world,
        F,
        F,
        edit("f", "run(3)", "run(33)"),
        wrap,
        body=body,
        requires="('up>=1,<2', 'ray>=2.35')",
    )
    assert "requires=('up>=1,<2.1','ray>=2.35')" in written(rebase)


def test_a_row_is_carried_from_a_release_out_of_its_range(world: World) -> None:
    """The caller says what the row was written for, whatever its requirements allow."""
    new = code("function", step_2="step_2 = walk(2)")
    rebase = carry(world, F, new, COPY, body=BODY, requires="('up>=2',)")
    assert rebase.result == "merged"
