"""The codes that findings have; findings.md, which is docs/findings.md too, explains each."""

import enum
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from patchkit.errors import SettingsError, near

_SECTION = re.compile(r"^## (PK\d+) .*\n\n((?:(?!^#).*\n?)*)", re.MULTILINE)
"""A section of findings.md: its code, and its text up to the next heading."""
_LINK = re.compile(r"\[((?:[^][]|\[[^][]*])*)]\([^)]*\)")
"""A link in Markdown, `[text](address)`; the text may have one level of brackets itself."""


class Severity(str, enum.Enum):
    """How bad a finding is. `patchkit check` ends with 1 for errors and warnings."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    __str__ = str.__str__  # `error`, not `Severity.ERROR`


class Code(NamedTuple):
    """One sort of finding, as the heading and the first line of its section in the docs have it.

    Args:
        code: `PK` and three digits, which never get another meaning.
        title: What messages call it.
        severity: How bad such a finding is.
    """

    code: str
    title: str
    severity: Severity


TARGET_MISSING = Code("PK101", "target missing", Severity.ERROR)
KIND_CHANGED = Code("PK102", "kind changed", Severity.ERROR)
SIGNATURE_CHANGED = Code("PK103", "signature no longer compatible", Severity.ERROR)
UNDECIDABLE = Code("PK104", "not decidable from the source", Severity.WARNING)
NOT_COMPARED = Code("PK105", "signature not compared", Severity.INFO)
TYPE_CHANGED = Code("PK106", "type changed", Severity.WARNING)
ANCHOR_ABSENT = Code("PK111", "Edit anchor absent", Severity.ERROR)
ANCHOR_AMBIGUOUS = Code("PK112", "Edit anchor ambiguous", Severity.ERROR)
EDIT_CHANGES_NOTHING = Code("PK113", "Edit changes nothing", Severity.ERROR)
EDIT_MALFORMED = Code("PK114", "Edit malformed", Severity.ERROR)
UNKNOWN_NAME = Code("PK115", "unknown name", Severity.ERROR)
ALREADY_UPSTREAM = Code("PK121", "already upstream", Severity.ERROR)
MERGED_UPSTREAM = Code("PK122", "merged upstream", Severity.WARNING)
DRIFT = Code("PK201", "drift since review", Severity.WARNING)
UNREVIEWED = Code("PK202", "never reviewed", Severity.INFO)
BASE_CHANGED = Code("PK203", "base class changed", Severity.INFO)
NO_RELEASE = Code("PK301", "matches no release", Severity.ERROR)
GAP = Code("PK302", "gap between ranges", Severity.WARNING)
OVERLAP = Code("PK303", "overlap of ranges", Severity.WARNING)
OPEN_RANGE = Code("PK304", "no upper bound", Severity.INFO)
COULD_BE_WIDER = Code("PK305", "holds outside its range", Severity.WARNING)
NOT_REQUIRED = Code("PK306", "distribution not required", Severity.WARNING)
OTHER_ROLE = Code("PK307", "called in other roles", Severity.WARNING)
NO_ORDER = Code("PK401", "two patches without order", Severity.WARNING)
BY_NAME_IMPORTERS = Code("PK402", "imported by name", Severity.INFO)
EXCLUDED = Code("PK403", "patches exclude each other", Severity.ERROR)
UNKNOWN_CONFLICT = Code("PK404", "unknown name in conflicts", Severity.WARNING)
BODY_WITHOUT_ROW = Code("PK501", "body without row", Severity.ERROR)
ROW_WITHOUT_BODY = Code("PK502", "row without body", Severity.ERROR)
NAME_NOT_IN_BODY = Code("PK503", "name not in the body", Severity.ERROR)
BODY_BROKEN = Code("PK504", "body cannot be loaded", Severity.ERROR)
MISSING_WHY = Code("PK511", "no why", Severity.WARNING)
MISSING_UPSTREAM = Code("PK512", "no upstream", Severity.WARNING)
MISSING_SUNSET = Code("PK513", "no sunset", Severity.WARNING)
USE_GONE_AT_IMPORT = Code("PK601", "import gone", Severity.ERROR)
USE_GONE = Code("PK602", "use gone", Severity.WARNING)
CALL_REFUSED = Code("PK603", "call no longer fits", Severity.WARNING)
OVERRIDE_REFUSED = Code("PK604", "override no longer matches", Severity.WARNING)
GUARDED_GONE = Code("PK605", "guarded use gone", Severity.INFO)
WITHOUT_EFFECT = Code("PK606", "replaces what is gone", Severity.WARNING)
NOT_DECIDED = Code("PK607", "name not decided", Severity.INFO)
RELEASE_UNREADABLE = Code("PK901", "release cannot be read", Severity.ERROR)

CODES = {code.code: code for code in list(vars().values()) if isinstance(code, Code)}
"""Every code above by its text, such as `PK101`, in the order of the docs."""

_SHORTEST = len("PK")
"""The length of the shortest selector."""


class CodeSelection(NamedTuple):
    """The codes whose findings are reported, as `--select` and `--ignore` say.

    A selector is a code, or a prefix such as `PK1`. The longest selector that matches a code
    decides: `--select PK104 --ignore PK1` reports PK104. Between equals, ignoring wins.

    Args:
        select: The selectors of codes to report; if there are none, all codes are.
        ignore: The selectors of codes to leave out.
    """

    select: Sequence[str] = ()
    ignore: Sequence[str] = ()

    def includes(self, code: Code) -> bool:
        """Whether findings with a code are reported.

        RELEASE_UNREADABLE is reported also if it is not selected, unless it is ignored: in such a
        release, the selected codes could not be checked.

        Args:
            code: The code.
        """
        selected_length = _longest_match(code, self.select)
        ignored_length = _longest_match(code, self.ignore)
        if selected_length:
            return selected_length > ignored_length
        is_reported_unselected = not self.select or code is RELEASE_UNREADABLE
        return is_reported_unselected and not ignored_length


def _longest_match(code: Code, selectors: Iterable[str]) -> int:
    """Return the length of the longest selector that matches a code; 0 if none does."""
    lengths = [len(text) for text in selectors if code.code.startswith(text)]
    return max(lengths, default=0)


def is_selector(text: str) -> bool:
    """Whether a text is a code, or a prefix of one.

    Args:
        text: The text.
    """
    if len(text) < _SHORTEST:
        return False
    return any(name.startswith(text) for name in CODES)


def near_selectors(text: str, *, whole: bool = False) -> str:
    """Ask whether another code or prefix was meant, as in `; did you mean PK10 or PK101?`.

    Args:
        text: A text that is no selector.
        whole: Whether a prefix is none of the answers, as where only codes are allowed.

    Returns:
        The question, for the end of a message; '' if nothing is similar.
    """
    longest = len(RELEASE_UNREADABLE.code)  # all codes are equally long
    selectors: list[str] = []
    # `PK` itself is a selector, too, but of all codes: nobody means that.
    shortest = longest if whole else _SHORTEST + 1
    for length in range(shortest, longest + 1):
        selectors += [name[:length] for name in CODES]
    return near(text, dict.fromkeys(selectors), most=3)


def explanations() -> dict[str, str]:
    """Read what each code means from findings.md, which is installed beside this module.

    Returns:
        For each code its section, as Markdown without links: the severity, what is checked, why it
        matters, an example, and what to do instead.

    Raises:
        SettingsError: The page is missing, so patchkit is not installed as its wheel has it.
    """
    file = Path(__file__).with_name("findings.md")
    try:
        page = file.read_text("utf-8")
    except OSError as error:
        raise SettingsError(
            f"found no {file}, expected it as the wheel brings it"
        ) from error
    sections = {}
    for section in _SECTION.finditer(page):
        code, text = section.groups()
        explanation = text.strip()
        sections[code] = _LINK.sub(r"\1", explanation)
    return sections
