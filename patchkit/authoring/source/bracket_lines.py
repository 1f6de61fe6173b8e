r"""Indents the lines that an Edit brings into brackets, where an Edit may indent them at will.

An Edit indents the lines of `new` by as much as its first line is indented in the function. Whoever
copies lines from the file writes the first one without its margin, and the others with theirs:

    new="alpha,\n            beta,"

In brackets that makes no difference to Python, so that nobody notices it; in a file, `beta` would
stand as far to the right again.
"""

import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from tokenize import TokenError, TokenInfo

from patchkit.authoring.source.indents import margin_of

_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
_STEP = "    "
_NO_CODE = frozenset(
    {
        tokenize.ENDMARKER,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
    }
)


@dataclass
class _Bracket:
    """An open bracket.

    Args:
        margin: the margin of the line that it is opened in.
        inner_margin: the margin of the lines in it.
    """

    margin: str
    inner_margin: str


def aligned(text: str, new: str, old_text: str) -> str:
    """Take a second margin off the lines that an Edit has brought into brackets.

    Args:
        text: the function with the Edit made.
        new: the new code of the Edit.
        old_text: the function before the Edit, whose lines stay as they are.

    Returns:
        The same code; the text itself if it cannot be split into tokens.
    """
    _, *further_lines = new.split("\n")
    # By line of `new`, the margin that it was copied with: the one that it should have.
    copied_margins = {line.strip(): margin_of(line) for line in further_lines}
    old_lines = set(old_text.split("\n"))
    lines = text.split("\n")
    brackets: list[_Bracket] = []
    last_row = 0
    try:
        for token in _tokens(text):
            row, _ = token.start
            line = lines[row - 1]
            is_first_of_line = row != last_row
            if brackets and is_first_of_line:
                margin = _margin_at(token, brackets[-1])
                is_copied = copied_margins.get(line.strip()) == margin
                # The margin that was copied is right here: the Edit has put another before it.
                if line not in old_lines and is_copied:
                    lines[row - 1] = f"{margin}{line.strip()}"
                elif token.string not in _CLOSING:
                    brackets[-1].inner_margin = margin_of(line)
            last_row, _ = token.end
            _follow(token, brackets, lines[row - 1])
    except (TokenError, SyntaxError):
        return text
    return "\n".join(lines)


def _tokens(text: str) -> Iterator[TokenInfo]:
    """Split code into tokens, without those that are layout."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            yield token


def _margin_at(token: TokenInfo, bracket: _Bracket) -> str:
    """Return the margin of a line in a bracket that begins with a token."""
    if token.string in _CLOSING:
        return bracket.margin
    return bracket.inner_margin


def _follow(token: TokenInfo, brackets: list[_Bracket], line: str) -> None:
    """Open or close a bracket.

    Args:
        token: the token.
        brackets: the open brackets, the innermost one last.
        line: the line of the token, as it is indented by now.
    """
    if token.type != tokenize.OP:  # such as a bracket in the text of an f-string
        return
    if token.string in _OPENING:
        margin = margin_of(line)
        brackets.append(_Bracket(margin, margin + _STEP))
        _, column = token.end
        code_after = token.line[column:].partition("#")[0]
        # Behind the bracket is code: the other lines are aligned with that.
        if code_after.strip():
            shift = len(margin) - len(margin_of(token.line))
            brackets[-1].inner_margin = " " * (column + shift)
    elif token.string in _CLOSING and brackets:
        brackets.pop()
