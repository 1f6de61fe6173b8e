"""torch.compile sees the patched function, whole; it traces wrapt's proxies as the original.

Takes about 20 s.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest
import torch

from patchkit.analysis.status import read_directory
from patchkit.analysis.status.process_status import CALLED
from patchkit.core.rows.declaration import Role
from patchkit.core.rows.selection import Selection
from patchkit.core.versions.installed import Versions
from patchkit.registry import Registry
from patchkit.runtime.process.journal import Journal
from patchkit.runtime.process.session import Session
from patchkit.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# inductor's own use of torch.jit
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")

MODEL = """
import dataclasses

import torch

@dataclasses.dataclass
class Options:
    offset: int = 0

def scale(x):
    return x * 2

class Inner(torch.nn.Module):
    def forward(self, x):
        return x + 1

class Heir(Inner):
    pass

class OtherHeir(Inner):
    def forward(self, x):
        return super().forward(x) * 100

class Both(Heir, OtherHeir):
    pass

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def shift(self, x):
        return x - 1

    @staticmethod
    def half(x):
        return x / 2

    def forward(self, x):
        return self.half(self.shift(self.inner(scale(x))))
"""

ROWS = """
from patchkit import Add, AddField, Edit, Patch, Replace, Role, Wrap

TARGETS = ("scale", "Inner.forward", "Model.shift", "Model.half")
PATCHES = tuple(
    Patch(
        name=f"{kind.__name__.lower()}-{number}", body="patch_net", requires=("torch",),
        roles={Role.MAIN}, env=f"KIND={kind.__name__}",
        changes=(kind(f"compiled_net:{target}", by=f"{kind.__name__.lower()}_{number}"),),
    )
    for kind in (Replace, Wrap)
    for number, target in enumerate(TARGETS)
) + tuple(
    Patch(
        name=f"edit-{number}", requires=("torch",), roles={Role.MAIN}, env="KIND=Edit",
        changes=(Edit(f"compiled_net:{target}", old=old, new=old + "0"),),
    )
    for number, (target, old) in enumerate(zip(TARGETS, ("x * 2", "x + 1", "x - 1", "x / 2")))
) + (
    Patch(
        name="added", body="patch_net", requires=("torch",), roles={Role.MAIN}, env="KIND=Add",
        changes=(
            Add("compiled_net:Model.tenfold", by="tenfold"),
            Edit("compiled_net:Model.forward", old="scale(x)", new="self.tenfold(scale(x))"),
        ),
    ),
    Patch(
        name="inherited", body="patch_net", requires=("torch",), roles={Role.MAIN},
        env="KIND=inherited", changes=(Wrap("compiled_net:Heir.forward", by="wrap_1"),),
    ),
    Patch(
        name="field", requires=("torch",), roles={Role.MAIN}, env="KIND=AddField",
        changes=(
            AddField("compiled_net:Options", "factor", "int", 10),
            Edit("compiled_net:Model.forward", old="scale(x)", new="scale(x) * Options().factor"),
        ),
    ),
)
"""

BODY = """
def replace_0(x):
    return x * 20

def replace_1(self, x):
    return x + 10

def replace_2(self, x):
    return x - 10

def replace_3(x):
    return x / 20

def wrap_0(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs) * 10

def wrap_1(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs) + 9

def wrap_2(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs) - 9

wrap_3 = lambda wrapped, instance, args, kwargs: wrapped(*args, **kwargs) / 10

def tenfold(self, x):
    return x * 10
"""


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A model and a pack for it, importable for one test."""
    (tmp_path / "compiled_net.py").write_text(textwrap.dedent(MODEL))
    (tmp_path / "net_pack").mkdir()
    (tmp_path / "net_pack" / "__init__.py").write_text(ROWS)
    (tmp_path / "net_pack" / "patch_net.py").write_text(BODY)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [
        name for name in sys.modules if name.startswith(("compiled_net", "net_pack"))
    ]:
        del sys.modules[name]
    torch.compiler.reset()


@pytest.mark.parametrize("kind", ["Replace", "Wrap", "Edit", "Add", "AddField"])
@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.usefixtures("places")
def test_the_compiled_model_is_the_patched_one(kind: str, backend: str) -> None:
    """Functions, methods, static methods and submodules are traced patched, in one graph."""
    settings = Settings(packs=("net_pack",))
    selection = Selection(settings, Versions.of(settings), environ={"KIND": kind})
    session = Session(Registry.collect(settings), selection, Journal())
    session.arm({Role.MAIN})
    try:
        model = importlib.import_module("compiled_net").Model()
        x = torch.arange(4.0)
        compiled = torch.compile(model, fullgraph=True, backend=backend)
        assert torch.equal(compiled(x), patched(kind, x))
    finally:
        session.become([])
        session.stand_down()
    assert torch.equal(model(x), (x * 2 + 1 - 1) / 2)
    assert torch.equal(compiled(x), model(x))


@pytest.mark.usefixtures("places")
def test_a_wrapped_inherited_method_is_traced() -> None:
    """What `super()` finds in a class with a further base is traced, too."""
    settings = Settings(packs=("net_pack",))
    selection = Selection(
        settings, Versions.of(settings), environ={"KIND": "inherited"}
    )
    session = Session(Registry.collect(settings), selection, Journal())
    session.arm({Role.MAIN})
    try:
        net = importlib.import_module("compiled_net")
        x = torch.arange(4.0)
        for model, expected in ((net.Heir(), x + 10), (net.Both(), (x + 1) * 100 + 9)):
            compiled = torch.compile(model, fullgraph=True, backend="eager")
            assert torch.equal(compiled(x), expected)
    finally:
        session.become([])
        session.stand_down()


SCRIPT = """
import patchkit.auto
import torch
from compiled_net import Model

torch.compile(Model(), fullgraph=True, backend="eager")(torch.arange(4.0))
"""


@pytest.mark.parametrize("kind", ["Replace", "Wrap", "Edit"])
def test_what_is_inlined_is_in_effect(kind: str, places: Path) -> None:
    """What torch.compile traces is never called, and yet acts: the process says `called`."""
    own = {"PATCHKIT_PATCHES": "net_pack", "PATCHKIT_JOURNAL": str(places / "journal")}
    environ = {**os.environ, **own, "PYTHONPATH": str(places), "KIND": kind}
    subprocess.run([sys.executable, "-c", SCRIPT], env=environ, check=True)
    (process,) = read_directory(places / "journal")
    applied = {
        one.name: one.calls
        for one in process.patches.values()
        if one.status == "applied"
    }
    assert {name.partition("-")[0] for name in applied} == {kind.lower()}
    assert [set(calls.values()) for calls in applied.values()] == [{CALLED}] * 4


def patched(kind: str, x: torch.Tensor) -> torch.Tensor:
    """What the patched model makes of a tensor."""
    if kind in {"Add", "AddField"}:
        return ((x * 2) * 10 + 1 - 1) / 2
    return (x * 20 + 10 - 10) / 20
