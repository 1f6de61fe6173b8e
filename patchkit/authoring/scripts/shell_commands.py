"""Splits a line of a shell into its commands, at `&&`, `;` and line ends."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from patchkit.authoring.scripts.script_lines import line_of

_SEPARATORS = ("&&", ";", "\n")
_PIPES = ("||", "|", "&")
"""What stands between commands that belong together: the text stays in one piece there."""
_REDIRECTION = re.compile(r"[<>]&|.&>")
"""A `&` that stands between no commands, as in `2>&1`, with the letter before it."""
_WORD = re.compile(r"[^\s;&|()<>\"'`\\$#]+")
_DOCUMENT = re.compile(r"<<-?\s*([\"']?)(\w+)\1")
_OPENERS = frozenset({"if", "for", "while", "until", "case", "select", "{"})
_CLOSERS = frozenset({"fi", "done", "esac", "}"})
_BEFORE_COMMANDS = frozenset(
    {"if", "while", "until", "then", "else", "elif", "do", "{", "!"}
)
_ASSIGNMENT = re.compile(r"\w+=")
_PREFIXES = frozenset({"sudo", "env", "exec", "time", "command", "!", "nohup"})


class ShellCommand(NamedTuple):
    """A command of a line, with those that are joined to it by `|` or `||`.

    Args:
        separator: What stands before it: `&&`, `;`, a line end, or '' for the first one.
        text: The command.
    """

    separator: str
    text: str

    @property
    def program(self) -> str:
        """The first word that names what is run, without a folder; '' for an assignment."""
        text = self.text
        while True:
            assignment = _ASSIGNMENT.match(text)
            if assignment:  # `NAME=value program …`
                text = _after_word(text, assignment.end())
                continue
            if text.startswith("("):
                return "("
            words = text.split(maxsplit=1)
            word = words[0] if words else ""
            if word in _PREFIXES or word.startswith("-"):  # `sudo -E program …`
                text = words[1] if len(words) > 1 else ""
                continue
            return word.strip("\"'").rpartition("/")[2]

    @property
    def arguments(self) -> str:
        """What follows the name of the program."""
        _, _, further = self.text.partition(self.program)
        return further.strip()


def split_commands(text: str) -> list[ShellCommand]:
    """Split a text of a shell into commands.

    Args:
        text: The text, which may have several lines, and documents (`<<EOF`) in it.

    Returns:
        The commands; one such as `if … fi` stays in one piece.
    """
    commands: list[ShellCommand] = []
    separator = ""
    start = 0
    for position, next_separator in _Scanner(text).separators():
        command = text[start:position].strip()
        if command:
            commands.append(ShellCommand(separator, command))
            separator = next_separator
        start = position + len(next_separator)
    command = text[start:].strip()
    if command:
        commands.append(ShellCommand(separator, command))
    return commands


def is_answered(text: str, failed: str, succeeded: Iterable[str]) -> bool:
    """Whether a text of a shell runs one command for the case that another one fails.

    Args:
        text: The text.
        failed: A command that has failed, as it was run: its words behind one another.
        succeeded: Commands that were run after it, and have not failed.

    Returns:
        Whether one of them stands behind the failed one after `||`, or in the rest of its `if`.
    """
    commands = _simple_commands(text)
    texts = [command.text for command in commands]
    # The number of a command is the index of the one that stands behind it.
    index = line_of(failed, texts, 1)
    if index >= len(commands):
        return False
    following = commands[index]
    block = ""
    if following.text.split()[0] == "then":
        block = "if :; "  # with the words before it, the block is a command
    elif following.separator != "||":
        return False
    rest = text[following.start :].lstrip()
    answer = split_commands(block + rest)[0].text.removeprefix(block)
    end = text.find(answer, following.start) + len(answer)
    for command in succeeded:
        start = commands[line_of(command, texts, 1) - 1].start
        if following.start <= start < end:
            return True
    return False


class _SimpleCommand(NamedTuple):
    """A command of a text, also of one in a block.

    Args:
        separator: What stands before it.
        start: Its position in the text.
        text: The command, with words such as `if` before it.
    """

    separator: str
    start: int
    text: str


def _simple_commands(text: str) -> list[_SimpleCommand]:
    """Split a text of a shell at each separator and pipe, also in blocks."""
    commands: list[_SimpleCommand] = []
    separator = ""
    start = 0
    boundaries = [*_Scanner(text).boundaries(), (len(text), "")]
    for position, next_separator in boundaries:
        command = text[start:position]
        if command.strip():
            commands.append(_SimpleCommand(separator, start, command.strip()))
            separator = next_separator
        start = position + len(next_separator)
    return commands


class _Scanner:
    """Finds the separators of a text that are in no block (`if … fi`), quoted text or document.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0  # how many blocks the position is in
        # Whether a command may begin here. Elsewhere `if` and `done` are words like any other.
        self._is_command_next = True
        # The words that end the documents below the present line.
        self._documents: list[str] = []

    def separators(self) -> Iterator[tuple[int, str]]:
        """Yield the position of each separator that is in no block, and the separator."""
        for position, symbol in self.boundaries():
            is_in_block = self._depth > 0
            if symbol in _SEPARATORS and not is_in_block:
                yield position, symbol

    def boundaries(self) -> Iterator[tuple[int, str]]:
        """Yield the position of each separator and pipe, also in blocks, and which it is."""
        position = 0
        while position < len(self._text):
            separator = self._symbol_at(position, _SEPARATORS)
            if separator:
                self._is_command_next = True
                is_document_next = separator == "\n" and bool(self._documents)
                if is_document_next:
                    position = self._end_of_documents(position)
                yield position, separator
                position += len(separator)
                continue
            pipe = self._symbol_at(position, _PIPES)
            if pipe and not _REDIRECTION.match(self._text, position - 1):
                self._is_command_next = True
                yield position, pipe
                position += len(pipe)
                continue
            position = self._position_after_token(position)

    def _symbol_at(self, position: int, symbols: tuple[str, ...]) -> str:
        """Return which of some symbols is at a position; '' if there is none of them."""
        for symbol in symbols:
            if self._text.startswith(symbol, position):
                return symbol
        return ""

    def _position_after_token(self, position: int) -> int:
        """Return where the text goes on after a word, a quoted text, or a letter.

        What it passes is noted: a word of the shell's grammar, the start of a document.
        """
        document = _DOCUMENT.match(self._text, position)
        # `<<<` gives a command one text, and is followed by no document.
        if document and not self._text.startswith("<<<", position):
            self._documents.append(document[2])
            return document.end()
        word = _WORD.match(self._text, position)
        if word:
            self._note_word(word[0])
            return word.end()
        # Any other letter begins a word of a command, too: a quoted text, or a variable.
        if not self._text[position].isspace():
            self._is_command_next = False
        return end_of(self._text, position)

    def _note_word(self, word: str) -> None:
        """Count a word that begins or ends a block, unless it is an argument, as in `echo done`."""
        if not self._is_command_next:
            return
        if word in _OPENERS:
            self._depth += 1
        if word in _CLOSERS and self._depth:
            self._depth -= 1
        self._is_command_next = word in _BEFORE_COMMANDS

    def _end_of_documents(self, position: int) -> int:
        """Return where the line of the word that ends the last document ends."""
        for name in self._documents:
            is_at_end = False
            while not is_at_end:
                line_start = position + 1
                line_end = self._text.find("\n", line_start)
                if line_end < 0:
                    line_end = len(self._text)
                line = self._text[line_start:line_end]
                position = line_end
                is_at_end = line.strip() == name or line_end == len(self._text)
        self._documents.clear()
        return position


def end_of(text: str, position: int) -> int:
    """Return where what begins at a position ends: a quoted text, `$(…)`, a comment, or a letter.

    Args:
        text: The text of a shell.
        position: The position in it.
    """
    letter = text[position]
    if letter == "\\":
        return position + 2
    if letter == "'":
        return _end_of_quoted(text, "'", position + 1)
    if letter == '"':
        return _end_of_group(text, position + 1, '"')
    if letter == "`":
        return _end_of_quoted(text, "`", position + 1)
    if text.startswith("$(", position):
        return _end_of_group(text, position + 2, ")")
    if letter == "(":
        return _end_of_group(text, position + 1, ")")
    # Behind a letter, as in `$#` or `a#b`, it begins no comment.
    is_comment = letter == "#" and text[position - 1 : position].strip() == ""
    if is_comment:
        line_end = text.find("\n", position)
        return len(text) if line_end < 0 else line_end
    return position + 1


def _after_word(text: str, position: int) -> str:
    """Return what follows a word that goes on at a position, without blanks before it."""
    while position < len(text) and not text[position].isspace():
        position = end_of(text, position)
    return text[position:].lstrip()


def _end_of_quoted(text: str, closing: str, position: int) -> int:
    """Return the position after the letter that closes a quoted text; the end without one."""
    end = text.find(closing, position)
    return len(text) if end < 0 else end + 1


def _end_of_group(text: str, position: int, closing: str) -> int:
    """Return the position after the letter that closes a group, which may hold groups itself."""
    while position < len(text) and text[position] != closing:
        is_quoted = closing == '"'
        opens_group = text[position] in "\\`" or text.startswith("$(", position)
        if is_quoted and not opens_group:
            position += 1  # between double quotes, `'`, `#` and `(` are mere letters
        else:
            position = end_of(text, position)
    return position + 1
