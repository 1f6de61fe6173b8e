"""Arms every Python process that a command of `patchkit run` starts.

Its folder is on PYTHONPATH, so that Python imports it as `sitecustomize`. It removes the folder
from `sys.path`, imports the `sitecustomize` that it has hidden, and then `patchkit.auto`. If that
Python has no patchkit, the folder of the patchkit that this file belongs to becomes the last of
`sys.path`, where it hides no other package. In a Python that is too old for patchkit, nothing is
armed.
"""

import os
import sys

# This folder; `patchkit/runtime`; the folder that `patchkit` lies in. By `os.path`, as importing
# `pathlib` would slow down the start of every Python.
_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
_WING = os.path.dirname(os.path.dirname(_HERE))  # noqa: PTH120
_BESIDE = os.path.dirname(os.path.dirname(_WING))  # noqa: PTH120


def _step_aside() -> None:
    """Remove this file's folder from `sys.path`, and import the `sitecustomize` that it hid."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _HERE]  # noqa: PTH100
    # As long as `sys.modules` has this module by that name, the import below would return it.
    own_module = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401, PLC0415
    except ImportError as error:
        if error.name != "sitecustomize":
            raise  # there is another one, which fails to import something
        # There is no other. This module goes back to `sys.modules`: importlib, which is still
        # importing it, takes it from there at the end, and fails if it is gone.
        if own_module is not None:
            sys.modules["sitecustomize"] = own_module


def _arm() -> None:
    """Import `patchkit.auto`, if need be from the patchkit that this file belongs to."""
    try:
        import patchkit.auto  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name != "patchkit":
            raise  # patchkit is there, and one of its imports fails
        sys.path.append(_BESIDE)  # last, so that it hides nothing
        import patchkit.auto  # noqa: F401, PLC0415


def _arm_or_stop() -> None:
    """Arm the process, or write the reason to stderr and exit, unless failures are only warnings.

    An exception would not stop the process, as `site` catches what a `sitecustomize` raises.
    """
    try:
        _arm()
    except Exception as error:  # noqa: BLE001 - whatever it is, the process is not armed
        stops = os.environ.get("PATCHKIT_ON_FAILURE", "").strip().lower() != "warn"
        if sys.stderr is not None:
            reason = " ".join(str(error).split("\n"))  # on one line
            text = f"patchkit: this process is not patched: {reason}"
            if stops:
                text = (
                    f"patchkit: this process is not patched, so it stops: {reason}; "
                    "PATCHKIT_ON_FAILURE=warn lets it continue"
                )
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
        if stops:
            os._exit(2)  # `sys.exit` raises an exception, too


try:
    _step_aside()
finally:  # also if the hidden `sitecustomize` raises: Python starts all the same
    _is_off = os.environ.get("PATCHKIT", "").strip() == "0"
    # patchkit needs 3.10, but the command may start any Python.
    if sys.version_info >= (3, 10) and not _is_off:
        _arm_or_stop()
