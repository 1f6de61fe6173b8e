"""Arms a process when its Python starts, where PATCHKIT=1 asks for it.

`patchkit bootstrap install` copies this file into site-packages, beside the `.pth` that calls it.
So it imports patchkit only when it arms the process, and no other module that takes time. It never
keeps Python from starting: whatever goes wrong becomes one line on stderr.
"""

import builtins
import os
import sys

TYPE_CHECKING = False  # as in `typing`, whose import takes 2 ms
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

LOCATION: "str | None" = None
"""Where patchkit lies, if this Python does not find it by itself; `install` fills it in."""


def start() -> None:
    """Arm this process if PATCHKIT=1; wait for that until `sys.path` is complete."""
    if os.environ.get("PATCHKIT", "").strip() != "1":
        return
    if _path_is_complete():
        _arm_or_say()
    elif not any(isinstance(finder, _Waiting) for finder in sys.meta_path):
        # A venv's `.pth` files run twice: `site` visits its folder twice.
        sys.meta_path.insert(0, _Waiting())


def _path_is_complete() -> bool:
    """Whether `site` has put all its folders on `sys.path`.

    `.pth` files run one after the other meanwhile, and a later one may add the folder of patchkit
    or of a pack. Right after the last, `site` adds `quit` to the builtins. With `python -S` there
    is no `site`, and nothing to wait for.
    """
    return hasattr(builtins, "quit") or bool(sys.flags.no_site)


class _Waiting:
    """A finder that arms the process on the first import after `site` has completed `sys.path`.

    Such an import always comes: `site` itself then tries to import `sitecustomize`.
    """

    def find_spec(
        self,
        name: str,
        path: "Sequence[str] | None" = None,
        target: "ModuleType | None" = None,
    ) -> "ModuleSpec | None":
        """Arm the process and leave `sys.meta_path`; then find the module as Python would.

        Returns:
            The module's spec; None before `sys.path` is complete, or if no finder finds the module.
        """
        # If this finder is not in the list any more, another thread has just armed the process.
        if not _path_is_complete() or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        _arm_or_say()
        # importlib is iterating over the list, and would skip a finder as this one was removed.
        for finder in list(sys.meta_path):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None


def _arm_or_say() -> None:
    """Arm the process; if that fails, write the reason to stderr."""
    try:
        _arm()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - Python is to start all the same
        _say(error)


def _arm() -> None:
    """Import `patchkit.auto`, from `LOCATION` if Python does not find patchkit by itself."""
    try:
        import patchkit.auto  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name != "patchkit" or LOCATION is None:
            raise  # one of patchkit's imports fails, or nobody knows where patchkit lies
        sys.path.append(LOCATION)  # last, so that it hides nothing
        import patchkit.auto  # noqa: F401, PLC0415


def _say(error: BaseException) -> None:
    """Write one line to stderr that says why the process is not patched."""
    # `split` and `join` turn the line breaks of a message into blanks.
    text = " ".join(f"patchkit: this process is not patched: {_reason(error)}".split())
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return  # stderr is closed, or there is none


def _reason(error: BaseException) -> str:
    """Return the message for an error, with the way out if patchkit itself is missing."""
    if isinstance(error, ModuleNotFoundError) and error.name == "patchkit":
        folder = ""
        if LOCATION:
            folder = f" or in {LOCATION}"
        return (
            f"found no patchkit, expected it in this Python{folder}; install vllm-patchkit, or "
            f"delete {os.path.splitext(__file__)[0]}.py and the two patchkit-bootstrap.* beside it"  # noqa: PTH122
        )
    if type(error).__module__.startswith("patchkit."):
        return str(error)
    return f"{type(error).__name__}: {error}"
