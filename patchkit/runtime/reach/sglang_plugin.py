"""The function that SGLang calls by its plugin entry point; it arms every process of SGLang."""

from patchkit.errors import PatchkitError
from patchkit.runtime.reach.arming import arm_unasked


def general() -> None:
    """Arm when SGLang loads its plugins: in the process that launches others, and in each of those.

    Raises:
        SystemExit: This process must not run unpatched. SGLang logs any `Exception` of a plugin,
            and goes on without it.
    """
    try:
        session = arm_unasked("SGLang's plugin")
        if session is not None:
            session.stop_if_failed()
    except PatchkitError as error:
        raise SystemExit(f"patchkit: {type(error).__name__}: {error}") from error
