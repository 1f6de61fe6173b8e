from __future__ import annotations

import pytest
from support import packages
from support.packages import World, row

pytestmark = pytest.mark.processes

world = packages.world

PROTOCOL = """
from dataclasses import dataclass
@dataclass(frozen=True)
class WeightCacheKey:
    checkpoint: str
    vllm_version: str
    @classmethod
    def from_model_config(cls, model, *, tp_size=1):
        return cls(model, f"0.33.0 of {tp_size}")
"""
CODE = """
import json, patchkit.auto
from patchkit import Role
patchkit.auto.session.enter(Role.WORKER)
from vllm.model_executor.model_loader.weight_cache.protocol import WeightCacheKey
key = WeightCacheKey.from_model_config("llama", tp_size=2)
print(json.dumps([key.checkpoint, key.vllm_version]))
"""
WORKER = row("acme", "patch_acme", "Wrap('up.mod:f', by='by')", roles="{Role.WORKER}")


@pytest.fixture
def upstream(world: World) -> World:
    """A vLLM with nothing but the key of its weight cache."""
    world.module("up.mod", "def f(): ...\n")
    world.module("vllm.model_executor.model_loader.weight_cache.protocol", PROTOCOL)
    return world


def version(upstream: World, **environ: str) -> str:
    """The version that the key has in a worker, which runs the row itself."""
    variables = {"PATCHKIT_VERSIONS": "vllm=0.33.0,up=1.0", **environ}
    checkpoint, version_of_key = upstream.answer(CODE, **variables)
    assert checkpoint == "llama"
    return str(version_of_key)


def test_the_key_has_the_digest_of_other_packs(upstream: World) -> None:
    """The key changes with the code of a worker's patch, and is the same for the same code."""
    upstream.pack(WORKER, patch_acme="def by(): return 1\n")
    first = version(upstream)
    assert first.startswith("0.33.0 of 2, patches ")
    assert version(upstream) == first
    upstream.module("pack.patch_acme", "def by(): return 2\n")
    assert version(upstream) not in {first, "0.33.0 of 2"}


def test_the_key_stays_without_a_workers_patch(upstream: World) -> None:
    """Patchkit's own rows, a patch for main and a disabled patch do not change the key."""
    main = row("acme", "patch_acme", "Wrap('up.mod:f', by='by')", roles="{Role.MAIN}")
    upstream.pack(main, patch_acme="def by(): return 1\n")
    assert version(upstream) == "0.33.0 of 2"
    upstream.pack(WORKER)
    assert version(upstream, PATCHKIT_DISABLE="acme") == "0.33.0 of 2"
