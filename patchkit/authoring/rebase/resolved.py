"""Tells whether a person has resolved a conflict: their side has what upstream changed.

No other sign shows that. A body whose conflict was resolved by hand still differs from upstream's
source in the same lines, so that git sees the same conflict in it at every further merge.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_TOKEN = re.compile(r"\w+|[^\w\s]")
_WORD = re.compile(r"\w")


class _Piece(NamedTuple):
    """Consecutive tokens of a side.

    Args:
        tokens: all tokens of the side.
        start: the index of the first token of the piece.
        end: the index behind its last token.
    """

    tokens: Sequence[str]
    start: int
    end: int

    def is_in(self, tokens: Sequence[str]) -> bool:
        """Whether other tokens have the piece next to one of its two neighbours here.

        The piece is empty where a side has only taken something out: then one of the neighbours has
        to be there.

        Args:
            tokens: the other tokens.
        """
        if not self.tokens:
            return True  # a side that has taken out everything: nothing has to be there
        previous = max(self.start - 1, 0)
        following = self.end + 1
        with_previous = self.tokens[previous : self.end]
        with_following = self.tokens[self.start : following]
        for neighbours in (with_previous, with_following):
            # An empty piece has no token before it, or behind it, at an end of the side.
            if neighbours and _contains(tokens, neighbours):
                return True
        return False

    def is_gone(self, ours: Sequence[str], theirs: Sequence[str]) -> bool:
        """Whether one side has no word of the piece oftener than the side that took it out.

        Args:
            ours: the tokens of the one side.
            theirs: the tokens of the other side, which took the piece out.
        """
        piece = self.tokens[self.start : self.end]
        words = [token for token in piece if _WORD.match(token)]
        # Signs such as `(` are in nearly all code that we put in: they count only without a word.
        telling_tokens = words or piece
        return all(ours.count(token) <= theirs.count(token) for token in telling_tokens)


def has_changes(ours: str, base: str, theirs: str) -> bool:
    """Whether one side has what the other side changed.

    Then all of this holds:

    - Each piece of code that the other side has put in is in this side, next to the same token.
    - What the other side has replaced is no longer in this side next to a token that was beside it.
    - Of what the other side has taken out, without anything in its place, no word is left in this
      side; but what stood next to it is there, unless this side has just taken out more.
    - A whole line that the other side has taken out, or replaced, is not in this side.

    Args:
        ours: the lines of the one side.
        base: the lines that both sides started from.
        theirs: the lines of the other side.

    Returns:
        The answer; False if the other side has changed nothing but the layout.
    """
    if _has_removed_line(ours, base, theirs):
        return False
    our_tokens = _TOKEN.findall(ours)
    old_tokens = _TOKEN.findall(base)
    new_tokens = _TOKEN.findall(theirs)
    matcher = SequenceMatcher(None, old_tokens, new_tokens, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        old_piece = _Piece(old_tokens, old_start, old_end)
        new_piece = _Piece(new_tokens, new_start, new_end)
        if tag == "delete" and not old_piece.is_gone(our_tokens, new_tokens):
            return False
        if tag == "replace" and old_piece.is_in(our_tokens):
            return False
        if tag != "equal" and not new_piece.is_in(our_tokens):
            return False
    return old_tokens != new_tokens


def _has_removed_line(ours: str, base: str, theirs: str) -> bool:
    """Whether one side still has a line of several words that the other side has taken out.

    A shorter line, such as `else:`, may be one that this side has put in itself.
    """
    our_lines = _lines_in_words(ours)
    old_lines = _lines_in_words(base)
    their_lines = _lines_in_words(theirs)
    for line in old_lines:
        count_in_theirs = their_lines.count(line)
        is_removed = count_in_theirs < old_lines.count(line)
        is_still_in_ours = our_lines.count(line) > count_in_theirs
        has_several_words = len(line.split()) > 1
        if is_removed and is_still_in_ours and has_several_words:
            return True
    return False


def _lines_in_words(text: str) -> list[str]:
    """Return the lines of a text, each as its words alone."""
    lines: list[str] = []
    for line in text.splitlines():
        words = filter(_WORD.match, _TOKEN.findall(line))
        lines.append(" ".join(words))
    return lines


def _contains(tokens: Sequence[str], piece: Sequence[str]) -> bool:
    """Whether a piece occurs in tokens."""
    size = len(piece)
    count_of_starts = len(tokens) - size + 1
    for start in range(count_of_starts):
        end = start + size
        if tokens[start:end] == piece:
            return True
    return False
