"""Whether the functions that a row names can be called as patchkit calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, only_finding, subject

if TYPE_CHECKING:
    from support.packages import World

BODY = """
import functools
from out import made
def none(): ...
def one(module): ...
def two(module, other): ...
def more(module, *args, **kwargs): ...
def optional(a=1, *args, b=2, **kwargs): ...
def named(*, module): ...
@made
def decorated(a, b): ...
@functools.lru_cache
def cached(): ...
class Made:
    def __init__(self, module): ...
class Class:
    def method(self, module): ...
    def __call__(self): ...
instance = Class()
method = instance.method
if made:
    def either(): ...
else:
    def either(a, b): ...
small = functools.partial(two, 1, 2)
"""
AFTER = "AfterImport('up.mod', call={!r})"
BEFORE = "BeforeImport('up.mod', call={!r})"
ASKED = "AfterImport('up.mod', call='none', when={!r})"
SETS = "AfterImport('up.mod', call={!r}, sets=('up.mod:f',))"


def messages(world: World, change: str, name: str, **fields: str) -> list[str]:
    """The messages about the signature of a function that a row names."""
    world.pack(row("p", "patch_a", change.format(name), **fields), patch_a=BODY)
    report = checked([subject("1.0", mod="def f(): ...")])
    return [
        finding.message for finding in report.findings if finding.code.code == "PK103"
    ]


@pytest.mark.parametrize(
    ("change", "name", "expected"),
    [
        (AFTER, "two", "two(module, other), expected two(module) or two()"),
        (AFTER, "named", "named(*, module), expected named(module) or named()"),
        (SETS, "two", "two(module, other), expected two(module) or two()"),
        (BEFORE, "one", "one(module), expected one()"),
        (BEFORE, "Made", "Made(module), expected Made()"),
    ],
)
def test_a_function_that_is_called_with_less_than_it_requires(
    world: World, change: str, name: str, expected: str
) -> None:
    """At most the module is passed, and only after its import."""
    (message,) = messages(world, change, name)
    kind = change.partition("(")[0]
    assert message == f"found {expected}, as {kind} calls it"


@pytest.mark.parametrize("field", ["when", "verify"])
def test_what_a_row_asks_takes_no_arguments(world: World, field: str) -> None:
    """`when` and `verify` are called with nothing, those of a change too."""
    name = repr("one")
    (message,) = messages(world, AFTER, "none", **{field: name})
    assert message == f"found one(module), expected one(), as `{field}` calls it"


def test_what_a_change_asks_takes_no_arguments(world: World) -> None:
    """The `when` of one change is reported at the line of the function, and breaks the row."""
    world.pack(row("p", "patch_a", ASKED.format("one")), patch_a=BODY)
    report = checked([subject("1.0", mod="def f(): ...")])
    finding = only_finding(report, "PK103")
    assert finding.message == "found one(module), expected one(), as `when` calls it"
    assert (finding.line, report.grid["p"]["up 1.0"]) == (5, "broken")


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (AFTER, "none one more optional decorated cached Made Class instance method"),
        (AFTER, "either small"),
        (BEFORE, "none optional decorated cached Class instance method either small"),
        (ASKED, "none optional decorated cached Class instance method either small"),
    ],
)
def test_what_can_be_called_or_is_unknown_is_left_alone(
    world: World, change: str, names: str
) -> None:
    """What is passed arrives, or the source does not tell what the object takes."""
    rows = [
        row(f"p-{name.lower()}", "patch_a", change.format(name))
        for name in names.split()
    ]
    world.pack(*rows, patch_a=BODY)
    report = checked([subject("1.0", mod="def f(): ...")])
    assert "PK103" not in [finding.code.code for finding in report.findings]
