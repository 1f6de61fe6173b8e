"""The functions that vLLM calls by its plugin entry points; they arm every process of vLLM."""

from patchkit.runtime.reach.arming import arm_unasked


def platform() -> None:
    """Arm when vLLM looks for its platform, which since 0.24 it does during `import vllm`.

    vLLM catches what is raised here, so `general` raises it again. Returning None means that
    patchkit offers no platform.
    """
    arm_unasked("vLLM's plugin")


def general() -> None:
    """Arm when vLLM loads its general plugins, and raise what it caught in `platform` again."""
    session = arm_unasked("vLLM's plugin")
    if session is not None:
        session.stop_if_failed()
