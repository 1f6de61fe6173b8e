"""Operators, modules and kernels of the real torch and Triton, changed and given back.

Takes about 20 s.
"""

from __future__ import annotations

import copy
import gc
import importlib
import os
import subprocess
import sys
import textwrap
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import torch

from patchkit.core.rows.declaration import Add, Replace, Wrap
from patchkit.errors import TargetError
from patchkit.runtime.changes.context import Context
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.process.making import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from patchkit.core.rows.declaration import Change

# inductor's own use of torch.jit
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")

UPSTREAM = """
import torch
from torch import Tensor
library = torch.library.Library("pk_up", "FRAGMENT")
def define(name, function, fake=None, key="CPU"):
    library.define(name + torch.library.infer_schema(function, mutates_args=[]))
    library.impl(name, function, key)
    if fake is not None:
        library._register_fake(name, fake)
def shift(x: Tensor, by: float = 1.0) -> Tensor: return x + by
define("shift", shift, lambda x, by=1.0: torch.empty_like(x))
def _shrink_impl(x: Tensor) -> Tensor: return x / 2
define("shrink", _shrink_impl)
def twice(x: Tensor) -> Tensor: return x * 2
library.define("twice(Tensor x) -> Tensor")
library.define("composite(Tensor x) -> Tensor")
library.impl("composite", lambda x: x.sin().cos(), "CompositeImplicitAutograd")
@torch.library.custom_op("pk_up::defined", mutates_args=())
def defined(x: Tensor) -> Tensor: return x + 1
@defined.register_fake
def _(x): return torch.empty_like(x)
@defined.register_kernel("cpu")
def _(x): return x + 2
class Net(torch.nn.Module):
    def forward(self, x): return torch.ops.pk_up.shift(x) * defined(x)
class Plain(torch.nn.Module):
    def forward(self, x): return x + 1
net, plain = Net(), Plain()
"""
BODY = """
import torch
def minus(x, by=1.0): return x - by
def minus_one(x): return x - 1
def one_more(wrapped, instance, args, kwargs): return wrapped(*args, **kwargs) + 100
def forward(self, x): return x + 10 + (0 if self.training else 1)
"""


class Bench:
    """The modules, and changes made between them."""

    def __init__(self, upstream: ModuleType, body: ModuleType) -> None:
        self.upstream: Any = upstream
        self.body: Any = body
        self.sites = Sites()

    def apply(self, change: Change) -> Callable[[], None]:
        ready = prepare(change, Context(self.upstream, self.body, self.sites))
        ready.apply()
        return ready.undo

    def replace(self, target: str, by: str, **more: Any) -> Callable[[], None]:
        return self.apply(Replace(f"upstream:{target}", by=by, **more))

    def wrap(self, target: str, by: str = "one_more") -> Callable[[], None]:
        return self.apply(Wrap(f"upstream:{target}", by=by))


@pytest.fixture
def bench() -> Iterator[Bench]:
    gc.collect()  # of an earlier test's libraries, with which torch forgets operators by name
    upstream, body = ModuleType("upstream"), ModuleType("body")
    sys.modules["upstream"] = upstream
    exec(UPSTREAM, vars(upstream))
    exec(BODY, vars(body))
    yield Bench(upstream, body)
    for library in (upstream.library, upstream.defined._lib):
        library._destroy()
    del sys.modules["upstream"]
    torch.compiler.reset()


X = torch.arange(4.0)
OP = "torch.ops.pk_up.shift"


def test_an_operator_is_replaced(bench: Bench) -> None:
    """Whoever calls the operator runs the body's kernel, and after undo the former one."""
    op = torch.ops.pk_up.shift
    undo = bench.replace(OP, "minus")
    assert torch.equal(op(X), X - 1)
    assert torch.equal(op(X, 3.0), X - 3)
    assert torch.equal(op.default(X), X - 1)
    undo()
    undo()
    assert torch.equal(op(X), X + 1)
    assert "pk_up/shift/CPU" in torch.library._impls
    assert torch.ops.pk_up.shift is op


def test_an_operator_is_wrapped(bench: Bench) -> None:
    """The wrapper calls the kernel that was there."""
    undo = bench.wrap(OP)
    assert torch.equal(torch.ops.pk_up.shift(X, by=2.0), X + 102)
    undo()
    assert torch.equal(torch.ops.pk_up.shift(X), X + 1)


def test_wrapped_and_replaced_in_any_order(bench: Bench) -> None:
    """Replace goes below Wrap, and either comes off first."""
    undo_wrap = bench.wrap(OP)
    undo_replace = bench.replace(OP, "minus")
    assert torch.equal(torch.ops.pk_up.shift(X), X - 1 + 100)
    undo_wrap()
    assert torch.equal(torch.ops.pk_up.shift(X), X - 1)
    bench.wrap(OP)
    undo_replace()
    assert torch.equal(torch.ops.pk_up.shift(X), X + 101)


def test_an_operator_that_is_gone(bench: Bench) -> None:
    """Its library has taken it back, and torch lists it still: its function is one like others."""
    bench.upstream.library._destroy()
    assert "pk_up::shift" in torch.library._defs
    undo = bench.replace("shift", "minus")
    assert bench.upstream.shift is bench.body.minus
    undo()
    assert bench.upstream.shift is not bench.body.minus


def test_a_function_that_calls_its_operator(bench: Bench) -> None:
    """It is no kernel, whatever its name and arguments are: only the name is changed."""
    exec(
        "def shift(x, by=1.0): return torch.ops.pk_up.shift(x, by) * 2",
        vars(bench.upstream),
    )
    bench.replace("shift", "minus")
    assert torch.equal(bench.upstream.shift(X), X - 1)
    assert torch.equal(torch.ops.pk_up.shift(X), X + 1)


@pytest.mark.parametrize("name", ["__lt__", "__eq__", "__sub__"])
def test_a_special_method_named_as_an_operator(bench: Bench, name: str) -> None:
    """It is no kernel of `torch.ops.prims.lt`, which has the parameters self and other, too."""
    exec(
        f"class Size:\n    def {name}(self, other): return 1",
        vars(bench.upstream),
    )
    bench.wrap(f"Size.{name}")
    assert getattr(bench.upstream.Size(), name)(2) == 101


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            Replace("upstream:torch.ops.pk_up.twice", by="minus_one"),
            "no kernel of its own here",
        ),
        (Replace(f"upstream:{OP}['CPU']", by="minus"), "is not there"),
        (Add(f"upstream:{OP}['CUDA']", by="minus"), "expected a dict"),
        (Replace("upstream:torch.ops.aten.add", by="minus"), "overloads"),
        (
            Replace("upstream:shift", by="minus"),
            "function of the operator torch.ops.pk_up.shift",
        ),
        (
            Wrap("upstream:_shrink_impl", by="one_more"),
            "the operator torch.ops.pk_up.shrink",
        ),
        (Replace("upstream:torch.ops.pk_up.gone", by="minus"), "is not there"),
    ],
)
def test_what_cannot_be_is_refused(bench: Bench, change: Change, words: str) -> None:
    """The error says what was found and what can be named instead."""
    with pytest.raises(TargetError, match=words):
        bench.apply(change)


def test_a_composite_operator(bench: Bench) -> None:
    """One that is made of others takes the body's function, with autograd through it."""
    undo = bench.replace("torch.ops.pk_up.composite", "minus_one")
    x = X.clone().requires_grad_()
    torch.ops.pk_up.composite(x).sum().backward()
    assert torch.equal(x.grad, torch.ones(4))
    undo()
    assert torch.equal(torch.ops.pk_up.composite(X), X.sin().cos())
    undo = bench.wrap("torch.ops.pk_up.composite")
    assert torch.equal(torch.ops.pk_up.composite(X), X.sin().cos() + 100)
    undo()


def test_a_defined_operator(bench: Bench) -> None:
    """Every kernel of a `custom_op` is changed, whether it is called by name or by `torch.ops`."""
    tables = dict(bench.upstream.defined._backend_fns)
    for target in ("defined", "torch.ops.pk_up.defined"):
        undo = bench.replace(target, "minus_one")
        assert torch.equal(bench.upstream.defined(X), X - 1)
        assert torch.equal(torch.ops.pk_up.defined(X), X - 1)
        undo_wrap = bench.wrap(target)
        assert torch.equal(bench.upstream.defined(X), X - 1 + 100)
        undo()
        assert torch.equal(bench.upstream.defined(X), X + 102)
        undo_wrap()
    after = bench.upstream.defined._backend_fns
    assert all(after[kind] is tables[kind] for kind in tables)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_compiled(bench: Bench, backend: str) -> None:
    """Graphs call the changed kernels, whether they were compiled before or after."""
    before = torch.compile(bench.upstream.net, fullgraph=True, backend=backend)
    assert torch.equal(before(X), (X + 1) * (X + 2))
    undos = [bench.replace(OP, "minus"), bench.wrap("defined")]
    after = torch.compile(bench.upstream.Net(), fullgraph=True, backend=backend)
    expected = (X - 1) * (X + 102)
    assert torch.equal(before(X), expected)
    assert torch.equal(after(X), expected)
    for undo in undos:
        undo()
    assert torch.equal(before(X), (X + 1) * (X + 2))


def test_shapes_stay_upstreams(bench: Bench) -> None:
    """Fake kernels are asked as before."""
    bench.replace(OP, "minus")
    empty = torch.empty(3, device="meta")
    assert torch.ops.pk_up.shift(empty).shape == (3,)


@pytest.mark.parametrize("target", ["Plain.forward", "plain.forward"])
@pytest.mark.parametrize("kind", ["replace", "wrap"])
def test_a_modules_forward(bench: Bench, target: str, kind: str) -> None:
    """A class's forward and one instance's are traced patched; a copy of the instance works."""
    original = bench.upstream.plain
    if kind == "replace":
        undo, expected = bench.replace(target, "forward"), X + 10
    else:
        undo, expected = bench.wrap(target), X + 101
    for module in (original, copy.deepcopy(original)):
        compiled = torch.compile(module, fullgraph=True, backend="eager")
        assert torch.equal(compiled(X), expected)
    undo()
    assert torch.equal(original(X), X + 1)
    assert "forward" not in vars(original)


KERNELS = """
import torch, triton, triton.language as tl
from types import ModuleType
from patchkit.runtime.changes.context import Context
from patchkit.runtime.process.making import prepare
from patchkit.runtime.changes.sites import Sites
from patchkit.core.rows.declaration import Wrap

@triton.jit
def double(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 2)

upstream, body = ModuleType("upstream"), ModuleType("body")
upstream.double, copy, calls = double, double, []

def by(wrapped, instance, args, kwargs):
    calls.append((instance is double, kwargs["grid"]))
    return wrapped(*args, **kwargs)

def instead(wrapped, instance, args, kwargs): args[1].copy_(args[0] * 3)

body.by, body.instead = by, instead

def made(change):
    ready = prepare(change, Context(upstream, body, Sites()))
    ready.apply()
    return ready.undo

def run():
    out = torch.zeros(8)
    copy[(2,)](torch.arange(8.0), out, BLOCK=4)
    return out

x = torch.arange(8.0)
assert torch.equal(run(), x * 2)
undo = made(Wrap("upstream:double", by="by"))
assert torch.equal(run(), x * 2) and calls == [(True, (2,))], calls
undo()
undo = made(Wrap("upstream:double", by="instead"))
assert torch.equal(run(), x * 3) and upstream.double is double
undo()
assert torch.equal(run(), x * 2) and len(calls) == 1 and "run" not in vars(double)
print(type(double).__name__)
"""


def test_a_kernel_of_triton_runs(tmp_path: Any) -> None:
    """Triton's interpreter runs it, the wrapper around it, and a function that one calls."""
    script = tmp_path / "kernels.py"
    script.write_text(textwrap.dedent(KERNELS))
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "InterpretedFunction\n"), done.stderr


def test_a_compiled_kernel_of_triton_takes_the_change(bench: Bench) -> None:
    """What `@triton.jit` makes for a device is launched through the changed place, too."""
    triton = importlib.import_module("triton")

    @triton.jit  # type: ignore[untyped-decorator]
    def kernel(x: Any) -> None: ...

    bench.upstream.kernel = kernel
    seen = []
    bench.body.note = lambda wrapped, instance, args, kwargs: seen.append(
        (instance, args, kwargs)
    )
    undo = bench.wrap("kernel", "note")
    kernel[(1,)](X, num_warps=4)
    assert seen == [(kernel, (X,), {"grid": (1,), "warmup": False, "num_warps": 4})]
    assert bench.upstream.kernel is kernel
    undo()
    assert "run" not in vars(kernel)


def test_an_operator_of_vllm() -> None:
    """The attention operator is changed under its own name and comes back."""
    name = "vllm.model_executor.layers.attention.attention"
    module = importlib.import_module(name)
    body = ModuleType("body")
    body.note = lambda wrapped, instance, args, kwargs: "noted"  # type: ignore[attr-defined]
    context = Context(module, body, Sites())
    operator = "torch.ops.vllm.unified_attention_with_output"
    ready = prepare(Wrap(f"{name}:{operator}", by="note"), context)
    (kernel,) = ready.sites
    before = kernel.current
    ready.apply()
    assert kernel.owner.has("CPU")
    assert kernel.current is not before
    ready.undo()
    assert kernel.current is before


def test_an_entry_of_vllms_model_registry() -> None:
    """An architecture loads the body's class, or is a new one, and the order is as it was."""
    name = "vllm.model_executor.models.registry"
    module: Any = importlib.import_module(name)
    body: Any = ModuleType("body")
    body.entry = module._LazyRegisteredModel(
        "vllm.model_executor.models.opt", "OPTForCausalLM"
    )
    context = Context(module, body, Sites())
    before = list(module.ModelRegistry.models.items())
    for kind, architecture in ((Replace, "LlamaForCausalLM"), (Add, "ANewOne")):
        target = f"{name}:ModelRegistry.models[{architecture!r}]"
        ready = prepare(kind(target, by="entry"), context)
        ready.apply()
        assert architecture in module.ModelRegistry.get_supported_archs()
        loaded = module.ModelRegistry._try_load_model_cls(architecture)
        assert loaded.__name__ == "OPTForCausalLM"
        ready.undo()
        assert list(module.ModelRegistry.models.items()) == before
