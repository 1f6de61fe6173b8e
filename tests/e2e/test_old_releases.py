"""The flagship on the real Ray actors of releases whose engines do not run here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import actors
import pytest
import sources

if TYPE_CHECKING:
    from pathlib import Path

V0 = "vllm.executor.ray_utils:RayWorkerWrapper"
V1 = "vllm.v1.executor.ray_utils:RayWorkerWrapper"
RELEASES = {
    "0.7.3": (V0, "creation"),
    "0.9.2": (V0, "creation"),
    "0.11.2": (V1, "creation"),
    "0.18.1": (V1, "method"),
}


@pytest.mark.parametrize("release", RELEASES)
def test_a_real_actor_accepts_the_device_only_with_patchkit(
    release: str, old_python: Path, tmp_path: Path
) -> None:
    """The release's own Python, its own class, a real Ray; patchkit finds the version itself."""
    target, place = RELEASES[release]
    settings = {"PYTHONPATH": str(sources.old_vllm(release))}
    case = actors.ActorCase(target, place, "torch_simnpu", settings)
    imported = actors.importable(old_python, case, tmp_path / "import.log")
    if imported.status != 0:
        pytest.xfail(f"vLLM {release} cannot be imported here: {imported.tail(1)}")
    actors.assert_cured(actors.run_both(old_python, case, tmp_path))
