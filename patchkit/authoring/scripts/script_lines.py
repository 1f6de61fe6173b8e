"""Finds the line of a script that a command which was run stands in."""

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
        count = sum(len(word) for word in words if word in line)
        if count > most_words:
            best_line = number
            most_words = count
    return best_line
