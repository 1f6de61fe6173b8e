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
    bench = Bench(UPSTREAM, BODY)
    bench.body.bases = (bench.upstream.Other,)
    return bench


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
    """Replace sets a flag, a metaclass's property or a class's bases, and undo restores it."""
    before = eval(target, vars(bench.upstream))
    undo = bench.apply(Replace(f"upstream:{target}", by=by))
    assert eval(target, vars(bench.upstream)) is getattr(bench.body, by)
    undo()
    assert eval(target, vars(bench.upstream)) is before


def test_undo_deletes_an_added_attribute(bench: Bench) -> None:
    """Undo of Add asks an object that keeps its attributes itself, as torch's do, to delete one."""
    undo = bench.apply(Add("upstream:holder.bias", by="weight"))
    assert bench.upstream.holder.bias is bench.body.weight
    undo()
    assert list(bench.upstream.holder.held) == ["weight"]


@pytest.mark.parametrize(
    ("target", "by", "read_back"),
    [
        ("backend.benchmark", "three", "True"),
        ("matmul.precision", "name", "'tf322'"),
    ],
)
def test_an_attribute_that_reads_back_another_object_is_refused(
    bench: Bench, target: str, by: str, read_back: str
) -> None:
    """What reads back another object than was set is refused, and has its value again."""
    before = eval(target, vars(bench.upstream))
    with pytest.raises(
        TargetError, match=rf"does not store .*\(reads back {read_back}\)"
    ):
        bench.apply(Replace(f"upstream:{target}", by=by))
    assert eval(target, vars(bench.upstream)) == before


def test_an_attribute_of_a_thread_local_is_refused(bench: Bench) -> None:
    """A `threading.local` is refused and not written to: only this thread would see it."""
    with pytest.raises(TargetError, match="attribute of a threading"):
        bench.apply(Replace("upstream:local.mode", by="name"))
    assert bench.upstream.local.mode == "thread"


@pytest.mark.parametrize(
    "target", ["registry['a']", "chain['k']", "os.environ['HOME']"]
)
def test_a_mapping_that_sets_items_in_its_own_way_is_refused(
    bench: Bench, target: str
) -> None:
    """Replace and Wrap refuse its items, which are as before: undo could not restore them."""
    before = eval(target, vars(bench.upstream))
    for change in (
        Replace(f"upstream:{target}", by="name"),
        Wrap(f"upstream:{target}", by="around"),
    ):
        with pytest.raises(TargetError, match="expected a dict or list"):
            bench.apply(change)
    assert eval(target, vars(bench.upstream)) == before


def test_a_refusal_says_what_could_not_be_put_back(bench: Bench) -> None:
    """The error says what the attribute holds, if it could not be restored."""
    with pytest.raises(TargetError, match="it is not as it was: it holds 'a2'"):
        bench.apply(Replace("upstream:log.last", by="name"))
