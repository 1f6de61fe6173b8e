"""Arms every vLLM process where patchkit is installed: vLLM's plugin entry points."""

from patchkit.runtime.reach.arming import arm_unasked


def platform() -> None:
    """Arm as soon as vLLM looks for its platform, since 0.24 during `import vllm`.

    vLLM swallows what is raised here; `general` raises it again. None means: no platform.
    """
    arm_unasked("vLLM's plugin")


def general() -> None:
    """Arm when vLLM loads its general plugins; what it swallowed in `platform` is raised again."""
    session = arm_unasked("vLLM's plugin")
    if session is not None:
        session.stop_if_failed()
