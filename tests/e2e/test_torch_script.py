"""What torch.jit compiles calls the patch, or is refused, or is named; and undo is for it, too.

Takes about 20 s.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from patchkit.core.rows.declaration import Edit, Replace, Wrap
from patchkit.errors import TargetError
from patchkit.runtime.changes.context import Context
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.process.making import prepare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.core.rows.declaration import Change

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")

REPOSITORY = Path(__file__).parents[2]
UPSTREAM = """
import torch
from torch import Tensor
def f(x: Tensor) -> Tensor:
    return x + 1
def caller(x: Tensor) -> Tensor:
    return f(x) * 2
class Net(torch.nn.Module):
    def helper(self, x: Tensor) -> Tensor:
        return x + 5
    def forward(self, x: Tensor) -> Tensor:
        return self.helper(x) + f(x)
class Unused(torch.nn.Module):
    @torch.jit.unused
    def helper(self, x: Tensor) -> Tensor:
        return x + 5
    def forward(self, x: Tensor) -> Tensor:
        return x + 1
@torch.jit.script
def scripted(x: Tensor) -> Tensor:
    return x + 1
"""
BODY = """
from torch import Tensor
def more(wrapped, instance, args, kwargs): return wrapped(*args, **kwargs) + 100
def f(x: Tensor) -> Tensor:
    return x + 101
"""
WRAP = Wrap("up_script:f", by="more")
EDIT = Edit("up_script:f", "x + 1", "x + 101")
REPLACE = Replace("up_script:f", by="f")
HELPER = Wrap("up_script:Net.helper", by="more")
X = torch.zeros(1)


@pytest.fixture
def up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The upstream module; it and the body have files, which torch reads."""
    (tmp_path / "up_script.py").write_text(UPSTREAM)
    (tmp_path / "up_script_body.py").write_text(BODY)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("up_script")
    for name in ("up_script", "up_script_body"):
        sys.modules.pop(name, None)


def _prepared(up: Any, change: Change) -> Any:
    body = importlib.import_module("up_script_body")
    return prepare(change, Context(up, body, Sites()))


@pytest.mark.parametrize(
    ("change", "of", "patched", "original"),
    [
        (WRAP, "caller", 202, 2),
        (EDIT, "caller", 202, 2),
        (EDIT, "f", 101, 1),
        (REPLACE, "f", 101, 1),
        (WRAP, "Net", 106, 6),
        (HELPER, "Net", 106, 6),
    ],
)
def test_what_is_compiled_after_the_patch(
    up: Any, change: Change, of: str, patched: int, original: int
) -> None:
    """Code that is compiled while the patch is on calls it; compiled after the undo, no more."""

    def compiled() -> Any:
        value = getattr(up, of)
        return torch.jit.script(value() if of == "Net" else value)

    ready = _prepared(up, change)
    ready.apply()
    assert compiled()(X).item() == patched
    ready.undo()
    # What torch has compiled of a function or class, it keeps as long as that lives.
    torch.jit._state._jit_caching_layer.clear()
    torch.jit._recursive.concrete_type_store = torch.jit._recursive.ConcreteTypeStore()
    assert compiled()(X).item() == original


def test_a_wrapped_function_is_not_compiled_itself(up: Any) -> None:
    """torch.jit.script would read the original's source: it is refused, in our words."""
    ready = _prepared(up, WRAP)
    ready.apply()
    with pytest.raises(RuntimeError, match="found f with a Wrap of patchkit on it"):
        torch.jit.script(up.f)
    ready.undo()
    assert torch.jit.script(up.f)(X).item() == 1


def test_others_of_torch_see_the_wrap(up: Any) -> None:
    """What torch traces or compiles by itself calls the wrapper as before."""
    ready = _prepared(up, WRAP)
    ready.apply()
    compiled = torch.compile(up.caller, backend="eager", fullgraph=True)
    assert compiled(X).item() == 202
    assert torch.jit.trace(up.caller, (X,))(X).item() == 202
    assert torch.fx.symbolic_trace(up.caller)(X).item() == 202
    torch.compiler.reset()


def test_a_method_that_is_left_out_stays_left_out(up: Any, tmp_path: Path) -> None:
    """A wrapped `@torch.jit.unused` method does not keep its module from being saved."""
    _prepared(up, Wrap("up_script:Unused.helper", by="more")).apply()
    net = torch.jit.script(up.Unused())
    torch.jit.save(net, tmp_path / "net.pt")
    assert torch.jit.load(tmp_path / "net.pt")(X).item() == 1


def test_an_edit_or_a_wrap_of_what_torch_has_made(up: Any) -> None:
    """A function under `@torch.jit.script` is refused to an Edit, and to a Wrap."""
    with pytest.raises(TargetError, match="ScriptFunction"):
        _prepared(up, Edit("up_script:scripted", "x + 1", "x + 2"))
    original = up.scripted
    with pytest.raises(TargetError, match="compiled, expected one of Python"):
        _prepared(up, Wrap("up_script:scripted", by="more")).apply()
    assert up.scripted is original


PACK = """
from patchkit import Edit, Patch, Replace, Role, Wrap
CHANGES = {
    "wrap": Wrap("up_script:f", by="more"),
    "edit": Edit("up_script:Net.helper", old="x + 5", new="x + 6"),
    "edit-f": Edit("up_script:edited", old="x + 1", new="x + 2"),
}
PATCHES = tuple(
    Patch(name=name, body="patch_one", changes=(change,), requires=("up>=1",), roles={Role.MAIN})
    for name, change in CHANGES.items()
)
"""
PROGRAM = """
import torch, up_script as up
kept = torch.jit.script(up.caller)
up.kept = torch.jit.script(up.f)
other = torch.jit.script(up.edited)
import patchkit.auto
"""
EDITED = """
def edited(x: Tensor) -> Tensor:
    return x + 1
"""


def test_what_was_compiled_before_is_in_the_journal(tmp_path: Path) -> None:
    """What is compiled of a target, for itself or its caller, is reported; others are not."""
    (tmp_path / "up_script.py").write_text(UPSTREAM + EDITED)
    (tmp_path / "pack_script").mkdir()
    (tmp_path / "pack_script" / "__init__.py").write_text(PACK)
    (tmp_path / "pack_script" / "patch_one.py").write_text(BODY)
    variables = {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(REPOSITORY)]),
        "PATCHKIT_PATCHES": "pack_script",
        "PATCHKIT_JOURNAL": str(tmp_path / "journal"),
        "PATCHKIT_VERSIONS": "up=1.0",
    }
    command = [sys.executable, "-c", PROGRAM]
    subprocess.run(command, env={**os.environ, **variables}, check=True)
    (journal,) = (tmp_path / "journal").iterdir()
    entries = map(json.loads, journal.read_text().splitlines())
    told = {
        entry["name"]: entry["out_of_reach"]
        for entry in entries
        if "out_of_reach" in entry
    }
    assert sorted(told["wrap"]) == [
        "up_script:f (compiled by torch.jit)",
        "up_script:kept._torchdynamo_inline",
    ]
    assert told["edit"] == []
    assert told["edit-f"] == ["up_script:edited (compiled by torch.jit)"]
