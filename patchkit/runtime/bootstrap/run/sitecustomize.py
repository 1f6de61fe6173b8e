"""Arms every Python process that a command of `patchkit run` starts.

Its folder is on PYTHONPATH, so that Python imports it as `sitecustomize`. It leaves the path, lets
the `sitecustomize` that it hides run, and imports `patchkit.auto`; where that Python has no
patchkit, the one beside this file comes last on the path, so that it hides nothing. A Python too
old for patchkit is left alone.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - every start pays
_WING = os.path.dirname(os.path.dirname(_HERE))  # noqa: PTH120
_BESIDE = os.path.dirname(os.path.dirname(_WING))  # noqa: PTH120


def _step_aside() -> None:
    """Leave the path, and run the `sitecustomize` that this one hides."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _HERE]  # noqa: PTH100
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401, PLC0415
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        if own is not None:
            sys.modules["sitecustomize"] = own


def _arm() -> None:
    try:
        import patchkit.auto  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name != "patchkit":
            raise
        sys.path.append(_BESIDE)
        import patchkit.auto  # noqa: F401, PLC0415


def _arm_or_stop() -> None:
    """`site` swallows what a sitecustomize raises; nobody would see that patches are missing."""
    try:
        _arm()
    except Exception as error:  # noqa: BLE001 - whatever it is, the process is not armed
        if sys.stderr is not None:
            reason = " ".join(str(error).split("\n"))
            sys.stderr.write(f"patchkit: this process is not patched: {reason}\n")
            sys.stderr.flush()
        if os.environ.get("PATCHKIT_ON_FAILURE") != "warn":
            os._exit(2)


try:
    _step_aside()
finally:
    if sys.version_info >= (3, 10):  # noqa: UP036 - the command may start any Python
        _arm_or_stop()
