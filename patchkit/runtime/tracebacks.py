"""Leaves patchkit's own frames out of the tracebacks that users see: they begin at the body."""

import importlib
import os
from collections.abc import Iterator
from types import TracebackType

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
_PACKS = ("platform", "worker", "data_llm")
"""The folders of patchkit's own packs: the frames of their bodies stay, as those of any body."""

_IMPORTLIB = ("<frozen importlib.", "<patchkit, among importlib.")
"""How the file names of importlib begin, and of patchkit's loaders, which are named like these."""
_MOST_LINES = 60
"""How many lines of a traceback the journal has: the last ones, which say what happened."""


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
        The lines as `trace`, for the journal; {} if no frame is left, as the traceback would then
        say no more than the error's message, which the journal has anyway.
    """
    from traceback import format_exception  # noqa: PLC0415 - only a failure needs it

    leave_out_own_frames(error)
    has_frames = any(each.__traceback__ for each in _with_causes(error))
    # Without a frame, the traceback of a syntax error still shows the line that is wrong.
    if not (has_frames or isinstance(error, SyntaxError)):
        return {}
    text = "".join(format_exception(error))
    return {"trace": text.splitlines()[-_MOST_LINES:]}


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, its causes and contexts, and the members of exception groups, each once."""
    visited: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        current = pending.pop()
        if current is None or id(current) in visited:
            continue
        visited.add(id(current))
        yield current
        pending += [current.__cause__, current.__context__]
        # An ExceptionGroup has its members in `exceptions`; on another class, that may be anything.
        members = getattr(current, "exceptions", None)
        if isinstance(members, tuple):
            pending += [
                member for member in members if isinstance(member, BaseException)
            ]


def _without_own(first: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of patchkit and of importlib; None if none is left.

    The entries of the traceback are linked anew. Before Python 3.11 the first one is still shown,
    whatever frame it is of.
    """
    kept: list[TracebackType] = []
    entry = first
    is_after_left_out = False
    while entry is not None:
        file = entry.tb_frame.f_code.co_filename
        # `_is_own` knows patchkit's files and the frozen part of importlib, but not the file of
        # `importlib.import_module`: its frame is left out if patchkit has called it, to import a
        # body, and stays if a body has.
        is_called_by_own = is_after_left_out and file == importlib.__file__
        is_left_out = _is_own(file) or is_called_by_own
        if not is_left_out:
            kept.append(entry)
        is_after_left_out = is_left_out
        entry = entry.tb_next
    first_kept = _linked(kept)
    if first is not None and first is not first_kept:
        # The first entry is left out, but before Python 3.11, a bare `raise` shows it, whatever
        # `__traceback__` is. So at least only entries that are kept follow it.
        first.tb_next = first_kept
    return first_kept


def _linked(entries: list[TracebackType]) -> TracebackType | None:
    """Make each entry of a traceback lead to the next of these; return the first, if any."""
    following: TracebackType | None = None
    for entry in reversed(entries):
        entry.tb_next = following
        following = entry
    return following


def _is_own(file: str) -> bool:
    """Whether a file is part of patchkit (but not of its packs) or of the frozen importlib."""
    if file.startswith(_IMPORTLIB):
        return True
    folder, _, path = file.partition(_FOLDER + os.sep)
    # For a file below patchkit's folder, `folder` is empty, and `path` is such as
    # `runtime/drift.py`. For a file elsewhere, `path` is empty.
    return not folder and path.partition(os.sep)[0] not in ("", *_PACKS)
