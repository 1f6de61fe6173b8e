"""Finds the line of a script that a command which was run, or an edit, stands in."""

import re
import shlex
from collections.abc import Sequence


def line_of(command: str, lines: Sequence[str], first: int) -> int:
    """Return the number of the line that has most of a command's words.

    Args:
        command: The command as it was run, its words behind one another.
        lines: The lines of the script.
        first: The number of the line from which on it may stand; also what is returned where no
            line has a word of it besides the program's name.
    """
    try:
        words = shlex.split(command)[1:]
    except ValueError:
        words = command.split()[1:]
    words += command.split()[1:]
    best_line = first
    most_words = 0
    for number, line in enumerate(lines[first - 1 :], first):
        count = sum(len(word) for word in words if _has_word(line, word))
        if count > most_words:
            best_line = number
            most_words = count
    return best_line


def _has_word(line: str, word: str) -> bool:
    """Whether a word is in a line, and not as a part of another: `fit.diff` of `unfit.diff`."""
    if word not in line:
        return False
    return re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", line) is not None


def line_with(text: str, lines: Sequence[str], otherwise: int) -> int:
    """Return the number of the line that has a text in it.

    Args:
        text: The text; of one with several lines, the longest is looked for.
        lines: The lines of the script.
        otherwise: What is returned where none has it, or several have.
    """
    longest = max(text.splitlines(), key=len, default="").strip()
    numbers = [number for number, line in enumerate(lines, 1) if longest in line]
    if not longest or len(numbers) != 1:
        return otherwise
    return numbers[0]
