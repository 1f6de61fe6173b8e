"""The flagship on the real Ray actors of old releases.

Takes about 55 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import actors
import environments
import pytest
import sources

if TYPE_CHECKING:
    from pathlib import Path

V0 = "vllm.executor.ray_utils:RayWorkerWrapper"
V1 = "vllm.v1.executor.ray_utils:RayWorkerWrapper"
# The matrix runs engines over Ray of those from 0.7.3 on.
every = pytest.mark.every_cell
# 0.5.5 imports a function that outlines has renamed since, and 0.6.0 goes the way of 0.5.0.
RELEASES = (
    pytest.param("0.5.0.post1", V0, "method", marks=every),
    ("0.6.6.post1", V1, "creation"),
    pytest.param("0.7.3", V0, "creation", marks=every),
    pytest.param("0.9.2", V0, "creation", marks=every),
    pytest.param("0.11.2", V1, "creation", marks=every),
    pytest.param("0.18.1", V1, "method", marks=every),
)


@pytest.mark.parametrize(("release", "target", "place"), RELEASES)
def test_a_real_actor_accepts_the_device_only_with_patchkit(
    release: str, target: str, place: str, tmp_path: Path
) -> None:
    """The release's own Python, its own class, a real Ray; patchkit finds the version itself."""
    early = release.startswith(("0.5", "0.6"))
    python = environments.ensure("imports-early" if early else "imports-old")
    settings = {"PYTHONPATH": str(sources.old_vllm(release))}
    case = actors.ActorCase(target, place, "torch_simnpu", settings)
    actors.assert_cured(actors.run_both(python, case, tmp_path))
