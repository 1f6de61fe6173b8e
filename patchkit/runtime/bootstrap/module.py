"""Arms a process when its Python starts, where PATCHKIT=1 asks for it.

`patchkit bootstrap install` copies this file into site-packages, beside the `.pth` that calls it;
so it imports nothing of patchkit before it is needed, and nothing else that costs a start. It is
never the reason why Python does not start: whatever goes wrong is one line on stderr.
"""

import builtins
import os
import sys

TYPE_CHECKING = False  # what `typing` holds, without its 2 ms
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

LOCATION: "str | None" = None
"""Where patchkit lies, if this Python does not find it by itself; `install` fills it in."""


def start() -> None:
    """Arm this process as soon as all its folders are on `sys.path`, if PATCHKIT=1 says so."""
    if os.environ.get("PATCHKIT", "").strip() != "1":
        return
    if _path_is_whole():
        _arm_or_say()
    elif not any(isinstance(finder, _Waiting) for finder in sys.meta_path):
        # A venv's `.pth` files run twice: `site` visits its folder twice.
        sys.meta_path.insert(0, _Waiting())


def _path_is_whole() -> bool:
    """Whether `site` has put all its folders on `sys.path`.

    `.pth` files run while it is at it, in the order of their names and folder by folder; what
    comes later may be what patchkit or a pack is found by. `quit` is what `site` makes next.
    """
    return hasattr(builtins, "quit") or bool(sys.flags.no_site)


class _Waiting:
    """Arms the process on the next import: `site` asks for `sitecustomize` in any case."""

    def find_spec(
        self,
        name: str,
        path: "Sequence[str] | None" = None,
        target: "ModuleType | None" = None,
    ) -> "ModuleSpec | None":
        """Arm, once; the import that it takes for that goes on as if nothing had been."""
        if not _path_is_whole() or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        _arm_or_say()
        # Who is walking the list that has just changed would miss a finder.
        for finder in list(sys.meta_path):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None


def _arm_or_say() -> None:
    """Arm the process, and say on stderr why if that fails."""
    try:
        _arm()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - Python starts, whatever it is
        _say(error)


def _arm() -> None:
    try:
        import patchkit.auto  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name != "patchkit" or LOCATION is None:
            raise
        sys.path.append(LOCATION)  # last, so that it hides nothing
        import patchkit.auto  # noqa: F401, PLC0415


def _say(error: BaseException) -> None:
    text = " ".join(f"patchkit: this process is not patched: {_reason(error)}".split())
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return  # stderr is closed, or there is none


def _reason(error: BaseException) -> str:
    if getattr(error, "name", None) == "patchkit" and isinstance(
        error, ModuleNotFoundError
    ):
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
