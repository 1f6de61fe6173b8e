"""vLLM's plugin entry points: where patchkit is installed, every vLLM process arms itself."""

from __future__ import annotations

from patchkit.process import arm


def platform() -> None:
    """
    Arm as soon as vLLM looks for its platform, since 0.24 during `import vllm`.

    vLLM swallows what is raised here; `general` raises it again. Returns None: no platform.
    """
    arm()


def general() -> None:
    """
    Arm when vLLM loads its general plugins.

    Raises:
        PatchkitError: a setting or a row is malformed, or a required patch failed.

    """
    session = arm()
    if session is not None:
        session.stop_if_failed()
