"""Notes which files of a release a Python program opens, to know their texts, and idle writes.

`python_runner` loads this file in the process of the program.
"""

import json
import os
import sys
from contextlib import suppress
from typing import Any, NamedTuple

_WRITES = os.O_WRONLY | os.O_RDWR
_LEAST_SHARE = 0.5
"""The share of a text's lines that are in a file from which on the text is taken for its."""
_FILES_KEPT = 50
_TOOLS = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120


class _Write(NamedTuple):
    """A file that was opened to write into it.

    Args:
        place: The file and the line of each function of the program that was running.
        path: The file.
        content: What was in it before.
    """

    place: tuple[tuple[str, int], ...]
    path: str
    content: bytes


class WatchedFiles:
    """The files of the release that the program opens, as they were when it did."""

    def __init__(self) -> None:
        answers_file = os.path.join(_TOOLS, "modules", "answers.json")  # noqa: PTH118
        with open(answers_file, encoding="utf-8") as opened:  # noqa: PTH123 - whatever Python
            answers = json.load(opened)
        self.log = os.path.join(_TOOLS, "idle_texts")  # noqa: PTH118
        self._commands_log = os.path.join(_TOOLS, "edits")  # noqa: PTH118
        site = os.path.realpath(answers["site"])
        self._folder = os.path.join(site, answers["package"]) + os.sep  # noqa: PTH118
        self._is_reading = False
        self._has_written = False
        # The hashes of whole texts, and of those on which edits were tried.
        self._texts: set[int] = set()
        self._edited: set[int] = set()
        # By path, the lines of the files that were opened last.
        self._lines: dict[str, frozenset[str]] = {}
        # By path, the last time that it was opened for writing.
        self._open_writes: dict[str, _Write] = {}
        # By place, the path that it has written as it was; None once it has changed a file.
        self._idle_writes: dict[tuple[tuple[str, int], ...], str | None] = {}
        sys.addaudithook(self._audit)

    def are_origin_of(self, text: Any) -> bool:
        """Whether a text is that of a file, or a part of it.

        Args:
            text: The text, as `str` or `bytes`.
        """
        if hash(text) in self._texts:
            return True
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        lines = [line for line in text.splitlines() if line.strip()]
        if not lines:
            return False
        for known_lines in reversed(self._lines.values()):
            count = sum(line in known_lines for line in lines)
            if count >= _LEAST_SHARE * len(lines):
                return True
        return False

    def add_text(self, text: Any) -> None:
        """Note a text that an edit has made of one of a file.

        Args:
            text: The text, as `str` or `bytes`.
        """
        self._texts.add(hash(text))

    def note_edited(self, text: Any) -> None:
        """Note that an edit of a text was tried.

        Args:
            text: The text, as `str` or `bytes`.
        """
        self._edited.add(hash(text))

    def idle_writes(self) -> list[tuple[str, int, str]]:
        """Return the places that wrote files as they were, though no edit of the text was tried.

        Returns:
            File and line of each, and the path of the file that it has written.
        """
        self._is_reading = True
        for write in self._open_writes.values():
            self._close(write)
        self._open_writes.clear()
        idle: list[tuple[str, int, str]] = []
        for place, path in self._idle_writes.items():
            if path is not None:
                file, line = place[0]
                idle.append((file, line, path))
        return idle

    def note_end(self, command: list[str], *, is_done: bool) -> None:
        """Write to the log of commands whether the program has edited files, or failed to.

        Args:
            command: The command, as for people.
            is_done: Whether the program has ended well.
        """
        if is_done and not self._has_written:
            return  # it was no edit
        if not self._lines:
            return  # it has asked for something else
        reason = "" if is_done else "it ended with 1"
        text = " ".join(" ".join(command).split())
        with open(self._commands_log, "a", encoding="utf-8") as opened:  # noqa: PTH123
            opened.write(f"{reason}\t{text}\n")

    def _audit(self, event: str, args: Any) -> None:
        """Note a file that is opened."""
        if event != "open" or self._is_reading:
            return
        path, _, flags = args
        if not isinstance(path, (str, os.PathLike)):
            return
        path = os.path.realpath(path)
        if not path.startswith(self._folder):
            return
        self._is_reading = True
        with suppress(OSError, ValueError):
            self._note_opened(path, flags or 0)
        self._is_reading = False

    def _note_opened(self, path: str, flags: int) -> None:
        """Note the text of a file that is opened, and who opens it if it is to write.

        Raises:
            OSError: There is no such file, or it cannot be read.
        """
        earlier = self._open_writes.pop(path, None)
        if earlier is not None:
            self._close(earlier)
        content = _content(path)
        text = content.decode("utf-8", "replace")
        unix_text = text.replace("\r\n", "\n")
        for form in (content, text, unix_text):
            self._texts.add(hash(form))
        self._lines.pop(path, None)
        self._lines[path] = frozenset(unix_text.splitlines())
        if len(self._lines) > _FILES_KEPT:
            del self._lines[next(iter(self._lines))]
        if flags & _WRITES:
            self._has_written = True
            self._open_writes[path] = _Write(_place(), path, content)

    def _close(self, write: _Write) -> None:
        """Compare a file that was opened for writing with what it was before."""
        content = b""
        with suppress(OSError):
            content = _content(write.path)
        text = content.decode("utf-8", "replace")
        was_edited = not self._edited.isdisjoint({hash(content), hash(text)})
        if content != write.content or was_edited:
            self._idle_writes[write.place] = None
        else:
            self._idle_writes.setdefault(write.place, write.path)


def _content(path: str) -> bytes:
    """Return what is in a file.

    Raises:
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:  # noqa: PTH123 - whatever Python runs this
        return file.read()


def _place() -> tuple[tuple[str, int], ...]:
    """Return file and line of each function of the program that runs, the innermost first."""
    place: list[tuple[str, int]] = []
    frame: Any = sys._getframe(1)  # noqa: SLF001
    main = sys.modules["__main__"].__dict__
    while frame is not None:
        if frame.f_globals is main:
            file = frame.f_code.co_filename
            place.append(("" if file.startswith("<") else file, frame.f_lineno))
        frame = frame.f_back
    return tuple(place) or (("", 0),)
