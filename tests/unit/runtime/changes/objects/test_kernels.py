"""Kernels launched by `kernel[grid](…)`; Triton's real ones: tests/e2e/test_torch_targets.py."""

from __future__ import annotations

import pytest
from support.programs import program

from patchkit import Replace, Wrap
from patchkit.errors import TargetError
from runtime.changes.kinds import WATCHED, Bench

UPSTREAM = program(__file__, "kernels")
BODY = (
    WATCHED
    + """
def grown(wrapped, instance, args, kwargs):
    return wrapped(*args, **{**kwargs, 'grid': (9,)})
seen = []
def plain(x): seen.append(x)
def instead(wrapped, instance, args, kwargs): plain(*args)
"""
)


def a_bench() -> Bench:
    """Upstream's kernels, and a body that has a kernel too."""
    bench = Bench(UPSTREAM, BODY)
    bench.body.kernel = bench.upstream.StandInKernel(lambda x: -x)
    return bench


@pytest.mark.parametrize("target", ["kernel", "tuned"])
def test_a_wrapper_sees_every_launch(target: str) -> None:
    """`kernel[grid](…)` runs the wrapper, through every name; the object is the same one."""
    bench = a_bench()
    kernel = getattr(bench.upstream, target)
    undo = bench.apply(Wrap(f"upstream:{target}", by="by"))
    assert getattr(bench.upstream, target) is kernel
    kernel[(2,)](5)
    assert bench.body.calls == [(kernel, (5,), {"grid": (2,), "warmup": False})]
    assert bench.upstream.launches[0][:2] == (10, (2,))
    undo()
    assert "run" not in vars(kernel)
    kernel[(2,)](5)
    assert len(bench.body.calls) == 1


def test_a_wrapper_may_change_the_grid() -> None:
    """The wrapper gets the launch's own arguments as keywords, and passes another grid on."""
    bench = a_bench()
    bench.apply(Wrap("upstream:kernel", by="grown"))
    bench.upstream.copy[(2,)](5)
    assert bench.upstream.launches == [(10, (9,), False, {})]


def test_a_kernel_replaced_by_a_kernel() -> None:
    """A kernel of the body takes the name, and undo restores upstream's."""
    bench = a_bench()
    original = bench.upstream.kernel
    undo = bench.apply(Replace("upstream:kernel", by="kernel"))
    assert bench.upstream.kernel is bench.body.kernel
    undo()
    assert bench.upstream.kernel is original


@pytest.mark.parametrize("target", ["kernel", "tuned"])
def test_a_kernel_replaced_by_a_function_is_refused(target: str) -> None:
    """Replace refuses a function, which cannot be launched; the error points to Wrap."""
    with pytest.raises(
        TargetError, match=r"expected a kernel; to run a function .* Wrap it"
    ):
        a_bench().apply(Replace(f"upstream:{target}", by="plain"))


def test_a_wrapper_may_run_a_function_in_a_kernels_place() -> None:
    """A wrapper that calls a function launches nothing; after undo the kernel launches again."""
    bench = a_bench()
    undo = bench.apply(Wrap("upstream:kernel", by="instead"))
    bench.upstream.copy[(2,)](5)
    assert (bench.body.seen, bench.upstream.launches) == ([5], [])
    undo()
    bench.upstream.copy[(2,)](5)
    assert (len(bench.body.seen), len(bench.upstream.launches)) == (1, 1)
