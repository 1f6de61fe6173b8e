"""Kernels launched by `kernel[grid](…)`; Triton's real ones: tests/e2e/test_torch_targets.py."""

from __future__ import annotations

from typing import Any

import pytest

from changes.kinds import WATCHED, Bench
from patchkit import Replace, Wrap
from patchkit.errors import TargetError

UPSTREAM = """
launches = []
class StandInKernel:
    'What Triton makes of a function, as far as launching goes; it has no other job here.'
    def __init__(self, fn): self.fn, self.arg_names = fn, ['x', 'BLOCK']
    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)
    def run(self, *args, grid, warmup, **kwargs):
        launches.append((self.fn(*args), grid, warmup, kwargs))
class StandInTuner(StandInKernel):
    def run(self, *args, **kwargs): return self.fn.run(*args, num_warps=4, **kwargs)
def double(x): return 2 * x
kernel = StandInKernel(double)
tuned = StandInTuner(kernel)
copy = kernel
"""
BODY = (
    WATCHED
    + """
def grown(wrapped, instance, args, kwargs):
    return wrapped(*args, **{**kwargs, 'grid': (9,)})
seen = []
def plain(x, BLOCK=1): seen.append((x, BLOCK))
def with_grid(x, grid, num_warps=0): seen.append((x, grid, num_warps))
def with_all(*args, **kwargs): seen.append((args, kwargs))
number = 3
"""
)


def a_bench() -> Bench:
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
    """The launch's own arguments come among the keywords."""
    bench = a_bench()
    bench.apply(Wrap("upstream:kernel", by="grown"))
    bench.upstream.copy[(2,)](5)
    assert bench.upstream.launches == [(10, (9,), False, {})]


@pytest.mark.parametrize(
    ("by", "seen"),
    [
        ("plain", (5, 16)),
        ("with_all", ((5,), {"BLOCK": 16, "num_warps": 4, "grid": (2,)})),
    ],
)
def test_a_plain_function_in_a_kernels_place(by: str, seen: Any) -> None:
    """It gets the kernel's arguments, and of the launch's own what it names."""
    bench = a_bench()
    undo = bench.apply(Replace("upstream:kernel", by=by))
    bench.upstream.copy[(2,)](5, BLOCK=16, num_warps=4)
    assert bench.body.seen == [seen]
    assert bench.upstream.launches == []
    undo()
    bench.upstream.copy[(2,)](5)
    assert len(bench.body.seen) == 1


def test_a_plain_function_that_wants_the_grid() -> None:
    """Grid and options are handed over by name; a warm-up calls nothing."""
    bench = a_bench()
    bench.apply(Replace("upstream:kernel", by="with_grid"))
    bench.upstream.kernel[(2,)](5, num_warps=4, num_stages=1)
    bench.upstream.kernel.run(5, grid=(2,), warmup=True)
    assert bench.body.seen == [(5, (2,), 4)]


def test_a_kernel_by_a_kernel() -> None:
    """A kernel of the body takes the name."""
    bench = a_bench()
    original = bench.upstream.kernel
    undo = bench.apply(Replace("upstream:kernel", by="kernel"))
    assert bench.upstream.kernel is bench.body.kernel
    undo()
    assert bench.upstream.kernel is original


def test_a_kernel_by_no_code() -> None:
    """A constant cannot be launched."""
    with pytest.raises(TargetError, match="expected something to call"):
        a_bench().apply(Replace("upstream:tuned", by="number"))


def test_wrapping_and_replacing_together() -> None:
    """The wrapper stays around whatever is launched, and both come off in any order."""
    bench = a_bench()
    undo_wrap = bench.apply(Wrap("upstream:kernel", by="by"))
    undo_replace = bench.apply(Replace("upstream:kernel", by="plain"))
    bench.upstream.kernel[(2,)](5)
    assert (len(bench.body.calls), bench.body.seen) == (1, [(5, 1)])
    undo_wrap()
    bench.upstream.kernel[(2,)](5)
    assert (len(bench.body.calls), len(bench.body.seen)) == (1, 2)
    undo_replace()
    assert "run" not in vars(bench.upstream.kernel)
