"""Leaves patchkit's own frames out of the tracebacks that users see: they begin at the body."""

import importlib
import os
from collections.abc import Iterator
from types import TracebackType

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
_PACKS = ("platform", "worker", "data_llm")
_IMPORTLIB = ("<frozen importlib.", "<patchkit, among importlib.")
_MOST_LINES = 60
"""Of a traceback in the journal: its end says what happened."""


def leave_out_own_frames(error: BaseException) -> None:
    """Drop the frames of patchkit, and those of imports, from an error and from its causes.

    With `PATCHKIT_LOG=debug` nothing is dropped.

    Args:
        error: The error, whose tracebacks are changed.
    """
    if os.environ.get("PATCHKIT_LOG", "").strip().lower() == "debug":
        return
    for each in _with_causes(error):
        each.__traceback__ = _without_own(each.__traceback__)


def trace_of(error: BaseException) -> dict[str, list[str]]:
    """Write the traceback of an error and of its causes, without patchkit's frames.

    Args:
        error: The error.

    Returns:
        The lines as `trace`, for the journal; nothing where no frame is left.
    """
    from traceback import format_exception  # noqa: PLC0415 - only a failure needs it

    leave_out_own_frames(error)
    is_from_elsewhere = any(each.__traceback__ for each in _with_causes(error))
    # Python writes the line of a syntax error without a frame.
    if not (is_from_elsewhere or isinstance(error, SyntaxError)):
        return {}
    text = "".join(format_exception(error))
    return {"trace": text.splitlines()[-_MOST_LINES:]}


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, what it was raised from or within, and what a group of them holds."""
    met: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in met:
            continue
        met.add(id(each))
        yield each
        waiting += [each.__cause__, each.__context__]
        inner = getattr(each, "exceptions", None)
        if isinstance(inner, tuple):
            waiting += [part for part in inner if isinstance(part, BaseException)]


def _without_own(first: TracebackType | None) -> TracebackType | None:
    """Return a traceback without patchkit's frames, and those of imports."""
    kept: list[TracebackType] = []
    entry = first
    follows_own = False
    while entry is not None:
        file = entry.tb_frame.f_code.co_filename
        # A body is imported by patchkit; what the body imports itself stays.
        is_left_out = _is_own(file) or (follows_own and file == importlib.__file__)
        if not is_left_out:
            kept.append(entry)
        follows_own = is_left_out
        entry = entry.tb_next
    following: TracebackType | None = None
    for entry in reversed(kept):
        entry.tb_next = following
        following = entry
    if first is not None and first is not following:
        # Before Python 3.11, a bare `raise` goes on with this one.
        first.tb_next = following
    return following


def _is_own(file: str) -> bool:
    """Whether a file is patchkit's, but for its packs, or the code that imports modules."""
    if file.startswith(_IMPORTLIB):
        return True
    folder, _, path = file.partition(_FOLDER + os.sep)
    return not folder and path.partition(os.sep)[0] not in ("", *_PACKS)
