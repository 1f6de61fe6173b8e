"""Attributes that lie in no dict: undo puts the original back, or nothing is changed."""

from __future__ import annotations

import pytest
from support.programs import program

from patchkit import Add, Replace, Wrap
from patchkit.errors import TargetError
from runtime.changes.kinds import Bench

UPSTREAM = program(__file__, "kept_elsewhere")
BODY = """
on = True
three = 3
name = 'tf32' + str(len('ab'))
weight = [2]
def around(wrapped, instance, args, kwargs): return wrapped(*args, **kwargs)
"""


@pytest.fixture
def bench() -> Bench:
    made = Bench(UPSTREAM, BODY)
    made.body.bases = (made.upstream.Other,)
    return made


@pytest.mark.parametrize(
    ("target", "by"),
    [
        ("backend.benchmark", "on"),
        ("matmul.allow", "on"),
        ("C.limit", "three"),
        ("Child.__bases__", "bases"),
        ("holder.weight", "weight"),
    ],
)
def test_undo_puts_the_original_back(bench: Bench, target: str, by: str) -> None:
    """A flag behind a module's class, one in C, a property of a metaclass, the bases of a class."""
    before = eval(target, vars(bench.upstream))
    undo = bench.apply(Replace(f"upstream:{target}", by=by))
    assert eval(target, vars(bench.upstream)) is getattr(bench.body, by)
    undo()
    assert eval(target, vars(bench.upstream)) is before


def test_what_was_added_goes(bench: Bench) -> None:
    """An object that keeps its attributes itself, as torch's modules do, is asked to delete one."""
    undo = bench.apply(Add("upstream:holder.bias", by="weight"))
    assert bench.upstream.holder.bias is bench.body.weight
    undo()
    assert list(bench.upstream.holder.held) == ["weight"]


@pytest.mark.parametrize(
    ("target", "by", "found"),
    [
        ("backend.benchmark", "three", "True"),
        ("matmul.precision", "name", "'tf322'"),
    ],
)
def test_what_gives_out_another_object_is_refused(
    bench: Bench, target: str, by: str, found: str
) -> None:
    """Whether it is still ours could not be told later, so nothing is changed."""
    before = eval(target, vars(bench.upstream))
    with pytest.raises(TargetError, match=rf"does not store .*\(reads back {found}\)"):
        bench.apply(Replace(f"upstream:{target}", by=by))
    assert eval(target, vars(bench.upstream)) == before


def test_an_attribute_of_a_thread_is_refused(bench: Bench) -> None:
    """Nothing is written that only this thread would see."""
    with pytest.raises(TargetError, match="attribute of a threading"):
        bench.apply(Replace("upstream:local.mode", by="name"))
    assert bench.upstream.local.mode == "thread"


@pytest.mark.parametrize(
    "target", ["registry['a']", "chain['k']", "os.environ['HOME']"]
)
def test_what_sets_items_in_its_own_way_is_refused(bench: Bench, target: str) -> None:
    """What it makes of them, and whether that can be undone, only an AfterImport can know."""
    before = eval(target, vars(bench.upstream))
    for change in (
        Replace(f"upstream:{target}", by="name"),
        Wrap(f"upstream:{target}", by="around"),
    ):
        with pytest.raises(TargetError, match="expected a dict or list"):
            bench.apply(change)
    assert eval(target, vars(bench.upstream)) == before


def test_what_cannot_be_put_back_is_said(bench: Bench) -> None:
    """A refusal does not claim that nothing was changed."""
    with pytest.raises(TargetError, match="it is not as it was: it holds 'a2'"):
        bench.apply(Replace("upstream:log.last", by="name"))
