"""Checks the Edits of one release, each on the source that earlier Edits have changed."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from textwrap import dedent

from patchkit.analysis.check import codes
from patchkit.analysis.check.declarations import can_meet
from patchkit.analysis.check.findings import RETIRE, Fault, undecidable, where
from patchkit.analysis.check.first_difference import first_difference
from patchkit.analysis.upstream.facts import Facts
from patchkit.core.rows.declaration import Edit, Row
from patchkit.core.text.matching import lex
from patchkit.core.text.rewriting import (
    FunctionText,
    MalformedEditError,
    MiscountError,
    TextEdit,
    nearest,
    rewrite,
)
from patchkit.errors import TargetError

_FIT = "indent the lines of new relative to its first line; old and new have to be valid Python"
_NO_CODE = "write code of the function into old: comments and blanks are not compared"
_WORD = re.compile(r"[^\W\d]\w*")
_SLIP = 0.75
"""From here on, a word of `old` is taken for a slip of another."""

_RowEdits = list[tuple[Row, Edit]]
"""Edits of one function in the order in which they are made, each with its row."""


class EditSequence:
    """The Edits that hold in one release, of the rows checked so far."""

    def __init__(self) -> None:
        # By the module and qualname of the function.
        self._edits: dict[tuple[str, str], _RowEdits] = {}

    def faults(
        self, row: Row, change: Edit, facts: Facts, text: str
    ) -> Iterator[Fault]:
        """Find what is wrong with an Edit of a function, after the Edits of earlier rows.

        Earlier Edits may have conditions. So this one is tried twice: after all Edits that a
        process may make before it, and after those alone that every process makes.

        Args:
            row: the row that the Edit is in; rows come in the order in which they apply.
            change: the Edit; later ones are tried after it, unless it breaks.
            facts: what the release says of the function.
            text: the function's source, decorators included.

        Yields:
            The faults of the first try, and those of the second if the first does not break.
        """
        function = (facts.module, facts.qualname)
        edits = self._edits.setdefault(function, [])
        possible: _RowEdits = []
        unconditional: _RowEdits = []
        for earlier_row, edit in edits:
            is_own = earlier_row is row
            if is_own or can_meet(earlier_row, row):
                possible.append((earlier_row, edit))
                if is_own or _is_unconditional(earlier_row, edit):
                    unconditional.append((earlier_row, edit))
        sequences = [possible]
        if unconditional != possible:
            sequences.append(unconditional)
        for sequence in sequences:
            faults = list(_faults(change, facts, text, sequence))
            yield from faults
            if any(fault.breaks for fault in faults):
                return
        edits.append((row, change))


def _is_unconditional(row: Row, edit: Edit) -> bool:
    return row.patch.when is None and row.patch.env is None and edit.when is None


def _faults(
    change: Edit, facts: Facts, text: str, before: _RowEdits
) -> Iterator[Fault]:
    """Find what is wrong with an Edit of a function after other Edits were made."""
    for _, edit in before:
        with suppress(TargetError):  # it is a fault of `edit`, not of this change
            text = edited(edit, text)
    position = facts.path
    names = dict.fromkeys(row.name for row, _ in before)
    if names:
        position += f", as {' and '.join(names)} leaves it"
    try:
        new_text = edited(change, text)
    except MiscountError as error:
        assert facts.lines is not None
        yield _miscounted(change, text, facts.lines[0], error.starts, position)
    except MalformedEditError as error:
        fix = _FIT if _has_code(change.old) else _NO_CODE
        yield Fault(codes.EDIT_MALFORMED, f"in {position}, {error}", fix)
    except TargetError as error:
        yield undecidable(str(error))
    else:
        yield from _faults_of_text(change, text, new_text, facts, position)


def _has_code(old: str) -> bool:
    """Whether there is more than comments and blanks in a text, or what is no Python."""
    try:
        return next(lex(old), None) is not None
    except TargetError:
        return True


def _faults_of_text(
    change: Edit, text: str, new_text: str, facts: Facts, position: str
) -> Iterator[Fault]:
    """Check the source that an Edit results in: it has to differ, and has to compile."""
    if new_text == text:
        message = f"new equals old, so the Edit changes nothing ({where(facts)})"
        fix = "write the replacement into new"
        yield Fault(codes.EDIT_CHANGES_NOTHING, message, fix)
        return
    reason = _why_not_compiled(new_text)
    if not reason or _why_not_compiled(text):
        return  # it compiles, or the Edit is not the reason why it does not
    # An Edit that only adds code to `old` still finds `old` once upstream has the added code.
    is_insertion = change.old.strip() in change.new
    if is_insertion and _occurs_in(text, change.new):
        message = f"new is there already, in {position}: twice, it does not compile"
        yield Fault(codes.MERGED_UPSTREAM, message, RETIRE)
    else:
        message = f"the edited text does not compile: {reason}, in {position}"
        yield Fault(codes.EDIT_MALFORMED, message, _FIT)


def _why_not_compiled(text: str) -> str:
    """Say why Python does not compile the source of a function; '' where it does."""
    if text[:1].isspace():  # a method, which needs a class around it
        text = f"class _:\n{text}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<edited>", "exec", dont_inherit=True)
    except SyntaxError as error:
        lines = text.split("\n")[: error.lineno or 0]
        if not lines:
            return error.msg
        return f"{error.msg}: {lines[-1].strip()!r}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    return ""


def _miscounted(
    change: Edit, text: str, first_line: int, starts: Sequence[int], position: str
) -> Fault:
    """Make the fault of an Edit whose `old` is in a function less or more often than expected.

    Args:
        change: the Edit.
        text: the function's source.
        first_line: the line of the file that the source begins at.
        starts: where in the source `old` begins.
        position: where the source is, for the message.
    """
    # If `new` is a part of `old`, its presence proves nothing: upstream may have changed the rest.
    is_part = "".join(change.new.split()) in "".join(change.old.split())
    meant = _respelled(change.old, text)
    is_slip = meant not in change.new and _occurs_in(text, meant)
    if not starts and not is_part and not is_slip and _occurs_in(text, change.new):
        message = f"new already replaces old in {position}, so the Edit fails"
        return Fault(codes.MERGED_UPSTREAM, message, RETIRE)
    message = f"{_occurs(len(starts), change)} in {position}"
    if len(starts) > change.count:
        lines = [str(first_line + text.count("\n", 0, start)) for start in starts]
        message += f", lines {', '.join(lines)}"
        return Fault(codes.ANCHOR_AMBIGUOUS, message, "make old longer, or set count")
    if not starts:
        message = _absent(change, meant, text, first_line, position)
    fix = "update old and new to upstream's text"
    if starts:
        fix = f"count={len(starts)}, if these are all that you mean"
    return Fault(codes.ANCHOR_ABSENT, message, fix)


def _absent(change: Edit, meant: str, text: str, first_line: int, position: str) -> str:
    """Say which line of an Edit's `old` is not in a function, and what there is most like it.

    Args:
        change: the Edit.
        meant: its `old` with the words of the function for those that are slips.
        text: the function's source.
        first_line: the line of the file that the source begins at.
        position: where the source is.
    """
    difference = first_difference(change.old, text, first_line)
    if difference:
        message = f"{difference.what}, in {position}: {difference.details}"
        return f"{message}; nearest match:\n{difference.excerpt}"
    message = f"{_occurs(0, change)} in {position}"
    near = nearest(text, meant, first_line)
    if near:
        message += f"; nearest match:\n{near}"
    return message


def _respelled(old: str, text: str) -> str:
    """Return `old` of an Edit with the nearest words of a function for those that it lacks."""
    words = {*_WORD.findall(text)}
    meant: dict[str, str] = {}
    for word in {*_WORD.findall(old)} - words:
        for near in get_close_matches(word, words, n=1, cutoff=_SLIP):
            meant[word] = near
    # All at once, as one word may be a part of another.
    return _WORD.sub(lambda match: meant.get(match[0], match[0]), old)


def _occurs(count: int, change: Edit) -> str:
    """Say how often an Edit's `old` was found: `'x = 1' found 2 times, expected once`."""
    anchor = change.old.strip().splitlines()[0]
    if not count:
        return f"{anchor!r} not found"
    return f"{anchor!r} found {_times(count)}, expected {_times(change.count)}"


def _times(count: int) -> str:
    if count == 1:
        return "once"
    return f"{count} times"


def edited(change: Edit, text: str) -> str:
    """Make an Edit in the source of a function.

    Args:
        change: the Edit.
        text: the function's source, decorators included.

    Returns:
        The new source.

    Raises:
        TargetError: The text does not have what the Edit replaces, or cannot be parsed.
    """
    edit = TextEdit(change.old, change.new, change.count)
    return rewrite(FunctionText(text), edit).text


def _occurs_in(text: str, code: str) -> bool:
    """Whether code is in the source of a function, found as an Edit finds its `old`."""
    if not dedent(code).strip():
        return False
    try:
        # An Edit that changes nothing: only its search is of interest.
        rewrite(FunctionText(text), TextEdit(code, code))
    except MiscountError as error:
        return bool(error.starts)  # the code is there more than once, or not at all
    except TargetError:
        return False
    return True
