"""vLLM's compile cache on a CPU: an artifact made with other patches is not served.

vLLM 0.32.0 writes the artifact of a CPU's model, under a key of its own, but fails to load it
('function' object has no attribute 'finalize_loading'). A patch of the test's pack, which is in
every run, loads it with torch's own function; the key stays vLLM's.

Takes about 105 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from patchkit_lab import processes, scenario

if TYPE_CHECKING:
    from pathlib import Path

ROWS = """
from patchkit import AddField, Patch, Replace, Role, Wrap

PATCHES = (
    Patch(
        name="load-on-cpu", body="patch_decorators", requires=("vllm",), roles={Role.WORKER},
        changes=(Wrap("vllm.compilation.decorators:_try_load_aot_compiled_fn", by="load"),),
    ),
    Patch(
        name="louder", body="patch_llama", requires=("vllm",), roles={Role.WORKER},
        changes=(Replace("vllm.model_executor.models.llama:LlamaMLP.forward", by="forward"),),
    ),
    Patch(
        name="tagged", requires=("vllm",), roles=set(Role),
        changes=(AddField("vllm.v1.outputs:ModelRunnerOutput", "tags", "set", {"a", "b", "c"}),),
    ),
)
"""

LOADER = """
import os
import torch
from vllm.config import set_current_vllm_config

def load(wrapped, instance, args, kwargs):
    model, path = args
    if not os.path.exists(path):
        return None
    with set_current_vllm_config(model.vllm_config), open(path, "rb") as file:
        function = torch.compiler.load_compiled_function(
            file, f_globals=model.forward.__globals__
        )
    print("the artifact was loaded")
    return function
"""

BODY = """
def forward(self, x):
    gate_up, _ = self.gate_up_proj(x)
    x, _ = self.down_proj(self.act_fn(gate_up))
    return -50.0 * x
"""

UNSTAMPED = """
import patchkit.runtime.process.configuration
patchkit.runtime.process.configuration.stamp = lambda *_: None
"""
"""What patchkit would be without the entry that vLLM hashes."""


class Compiler:
    """Generates with compiled models, over and over with one cache."""

    def __init__(self, python: Path, model: Path, directory: Path) -> None:
        self._python = python
        self._model = model
        self.directory = directory
        package = directory / "loud_patches"
        package.mkdir()
        (package / "__init__.py").write_text(ROWS)
        (package / "patch_llama.py").write_text(BODY)
        (package / "patch_decorators.py").write_text(LOADER)
        (directory / "unstamped.py").write_text(UNSTAMPED)

    def tokens(self, *flags: str, executor: str = "uni", **settings: str) -> list[int]:
        """Run once; with `uni` a single process holds main, engine core and worker."""
        env = {
            **scenario.SINGLE,
            "PYTHONPATH": str(self.directory),
            "PATCHKIT_PATCHES": "loud_patches",
            "VLLM_CACHE_ROOT": str(self.directory / "cache"),
            **settings,
        }
        arguments = ("--executor", executor, "--patchkit", "--compile", *flags)
        log = self.directory / "run.log"
        self.last: processes.Outcome = scenario.generate(
            self._python, self._model, log, *arguments, env=env
        )
        return scenario.report(self.last).tokens

    def loaded(self) -> bool:
        """Whether the last run took its model from the cache."""
        return "the artifact was loaded" in self.last.output


@pytest.fixture
def compiler(python: Path, model: Path, tmp_path: Path) -> Compiler:
    """A cache of its own, empty."""
    return Compiler(python, model, tmp_path)


def test_the_wrong_artifact_is_served_only_without_the_stamp(
    compiler: Compiler,
) -> None:
    """The same engine, first without and then with a patch on an inlined function."""
    plain = compiler.tokens("--before", "unstamped", PATCHKIT_DISABLE="louder")
    assert not compiler.loaded()
    served = compiler.tokens("--before", "unstamped")
    assert compiler.loaded()
    assert served == plain, "the artifact of the unpatched model was served"
    right = compiler.tokens()
    assert not compiler.loaded()
    assert right != plain


@pytest.mark.every_cell
def test_spawned_workers_agree_and_find_their_artifact_again(
    compiler: Compiler,
) -> None:
    """A default that is a set has another order in each process; the key is equal all the same."""
    settings = {
        "VLLM_ENABLE_V1_MULTIPROCESSING": "1",
        "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
        "PYTHONHASHSEED": "random",
    }
    first = compiler.tokens(executor="mp", **settings)
    assert not compiler.loaded()
    assert compiler.tokens(executor="mp", **settings) == first
    assert compiler.loaded()
    helper = compiler.directory / "loud_patches" / "helpers.py"
    helper.write_text("LOUDER = True\n")
    compiler.tokens(executor="mp", **settings)
    assert not compiler.loaded(), "a body may import the module that is new"
