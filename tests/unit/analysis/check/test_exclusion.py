"""Rows of which a process refuses one, if it selects both."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, codes, edit, only_finding, subject
from patchkit import Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from support.packages import World

    from patchkit.analysis.check.findings import Report

BODY = """
def d(target):
    return lambda *args: target(*args)
from up.mod import C
def f(): return 1
def m(self): return 1
def w(wrapped, instance, args, kwargs): return wrapped(*args, **kwargs)
class Derived(C): ...
class Other:
    def m(self): return 3
class Bare: ...
TABLE = {"a": 2}
"""
MOD = """
def f():
    return 0
class C:
    def m(self):
        return 0
TABLE = {"a": 1}
"""
REQUIRES = "('up>=1,<2',)"
EDIT = edit("return 0", "return 2")
EDIT_IN_CLASS = edit("return 0", "return 2", target="up.mod:C.m")
REPLACE = "Replace('up.mod:f', by='f')"
UNRELATED = "Replace('up.mod:C', by='Other', unrelated=True)"
DERIVED = "Replace('up.mod:C', by='Derived')"
WRAP_IN_CLASS = "Wrap('up.mod:C.m', by='w')"
ITEM = "Replace('up.mod:TABLE[\"a\"]', by='f')"
WHOLE_TABLE = "Replace('up.mod:TABLE', by='TABLE')"


PLACES = [
    "Replace('up.mod:C', by='Bare', unrelated=True)",
    EDIT,
    EDIT_IN_CLASS,
    REPLACE,
    UNRELATED,
    DERIVED,
    WRAP_IN_CLASS,
    ITEM,
    WHOLE_TABLE,
    "Wrap('up.mod:f', by='w')",
    "Add('up.mod:C.new', by='m')",
    "Wrap('up.mod:C.new', by='w')",
    "Replace('up.mod:C.new', by='m')",
    "Replace('up.mod:C.m', by='m')",
    "Decorate('up.mod:f', by='d')",
    "Decorate('up.mod:C.m', by='d')",
]


def report_of(world: World, *rows: str) -> Report:
    """Check rows that share a body against one release."""
    world.pack(*rows, patch_a=BODY)
    return checked([subject("1.0", mod=MOD)])


def named(name: str, change: str, **fields: str) -> str:
    """A row of one change, with a range that is closed."""
    return row(name, "patch_a", change, **{"requires": REQUIRES, **fields})


def excluded(report: Report) -> list[str]:
    """The names of the patches that are refused."""
    return [
        finding.patch for finding in report.findings if finding.code.code == "PK403"
    ]


@pytest.mark.parametrize(
    ("first", "second", "is_refused"),
    [
        (EDIT, REPLACE, True),
        (REPLACE, EDIT, True),
        (EDIT_IN_CLASS, UNRELATED, True),
        (UNRELATED, EDIT_IN_CLASS, True),
        (EDIT_IN_CLASS, DERIVED, False),
        (WRAP_IN_CLASS, UNRELATED, True),
        (UNRELATED, WRAP_IN_CLASS, False),
        (WRAP_IN_CLASS, DERIVED, False),
        (ITEM, WHOLE_TABLE, True),
        (WHOLE_TABLE, ITEM, False),
        (EDIT, "Wrap('up.mod:f', by='w')", False),
    ],
)
def test_what_the_run_time_refuses_of_two_rows(
    world: World, first: str, second: str, is_refused: bool
) -> None:
    """The later row is broken where the run time refuses it, and `after` is no way out."""
    rows = [named("one", first), named("two", second, after="('one',)")]
    report = report_of(world, *rows)
    assert excluded(report) == (["two"] if is_refused else [])
    assert (report.grid["two"]["up 1.0"] == "broken") is is_refused
    assert "PK401" not in codes(report)


@pytest.mark.parametrize(
    ("change", "other", "added"),
    [
        (
            "AddField('up.mod:C', 'x', int, 1)",
            "AddField('up.mod:C', 'x', int, 2)",
            "up.mod:C.x",
        ),
        ("Provide('up.new')", "Provide('up.new')", "up.new"),
        ("AddField('up.mod:C', 'x', int, 1)", "AddField('up.mod:C', 'y', int, 1)", ""),
    ],
)
def test_what_two_rows_add_is_refused(
    world: World, change: str, other: str, added: str
) -> None:
    """A field and a module as well as a name, whatever their order."""
    rows = [named("one", change), named("two", other, after="('one',)")]
    report = report_of(world, *rows)
    assert excluded(report) == (["two"] if added else [])
    if added:
        assert only_finding(report, "PK403").target == added


@pytest.mark.parametrize("first", PLACES)
@pytest.mark.parametrize("second", PLACES)
def test_check_says_what_the_run_time_does(
    world: World, first: str, second: str
) -> None:
    """The law: of two changes, `check` calls the pair broken where a process refuses it."""
    if "unrelated" in first and second == DERIVED:
        pytest.skip("it depends on what the body has imported by then")
    rows = [named("one", first), named("two", second, after="('one',)")]
    report = report_of(world, *rows)
    world.module("up.mod", MOD)
    session = world.session(on_failure="warn")
    session.arm({Role.MAIN})
    importlib.import_module("up.mod")
    statuses = {name: state.status for name, state in session.states.items()}
    is_refused = "failed" in statuses.values()
    assert (broken(report) != []) is is_refused, (statuses, codes(report))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"env": "'A=1'"}, {"env": "'A=2'"}),
        ({"when": "'f'"}, {}),
        (
            {"requires": "('up>=1,<2', 'torch_a')"},
            {"requires": "('up>=1,<2', 'torch_b')"},
        ),
        ({"roles": "{Role.MAIN}"}, {"roles": "{Role.WORKER}"}),
        ({"conflicts": "('two',)", "env": "'A'"}, {"env": "'B'"}),
    ],
)
def test_rows_that_a_condition_keeps_apart_may_be_alternatives(
    world: World, first: dict[str, str], second: dict[str, str]
) -> None:
    """Environments, other distributions, a `when` and roles decide what is selected."""
    rows = [named("one", EDIT, **first), named("two", REPLACE, **second)]
    assert excluded(report_of(world, *rows)) == []


@pytest.mark.parametrize("fields", [{}, {"env": "'A'"}, {"roles": "{Role.WORKER}"}])
def test_rows_in_conflict_are_both_broken(world: World, fields: dict[str, str]) -> None:
    """If both are selected neither applies, whatever their roles."""
    change = "Wrap('up.mod:f', by='w')"
    rows = [named("one", change, conflicts="('two',)"), named("two", change, **fields)]
    report = report_of(world, *rows)
    assert sorted(excluded(report)) == ["one", "two"]
    assert set(broken(report)) == {"one", "two"}


def broken(report: Report) -> Iterable[str]:
    """The names of the patches that are broken somewhere."""
    return [
        patch for patch, states in report.grid.items() if "broken" in states.values()
    ]


def test_an_edit_and_a_replace_without_order_are_no_matter_of_order(
    world: World,
) -> None:
    """PK401 does not advise `after` where one of both is refused in any order."""
    rows = [named("one", EDIT, env="'A=1'"), named("two", REPLACE, env="'A=2'")]
    finding = only_finding(report_of(world, *rows), "PK401")
    assert "after" not in finding.fix
    assert "conflicts=('one',) in two" in finding.fix


def test_one_row_may_exclude_its_own_changes(world: World) -> None:
    """An Edit and a Replace of one function in one row fail as in two."""
    world.pack(row("p", "patch_a", EDIT, REPLACE, requires=REQUIRES), patch_a=BODY)
    assert excluded(checked([subject("1.0", mod=MOD)])) == ["p"]
