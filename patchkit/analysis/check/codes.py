"""Every code that a finding can have; docs/findings.md, also in the wheel, explains each."""

import enum
import re
from pathlib import Path
from typing import NamedTuple

from patchkit.errors import SettingsError

_SECTION = re.compile(r"^## (PK\d+) .*\n\n((?:(?!^#).*\n?)*)", re.MULTILINE)
_LINK = re.compile(r"\[((?:[^][]|\[[^][]*])*)]\([^)]*\)")


class Severity(str, enum.Enum):
    """How bad a finding is. `patchkit check` ends with 1 for errors and warnings."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    __str__ = str.__str__


class Code(NamedTuple):
    """One sort of finding: its code, stable for ever, and its section's heading in the docs."""

    code: str
    title: str
    severity: Severity


_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

TARGET_MISSING = Code("PK101", "target missing", _ERROR)
KIND_CHANGED = Code("PK102", "kind changed", _ERROR)
SIGNATURE_CHANGED = Code("PK103", "signature no longer compatible", _ERROR)
UNDECIDABLE = Code("PK104", "not decidable from the source", _WARNING)
NOT_COMPARED = Code("PK105", "signature not compared", _INFO)
ANCHOR_ABSENT = Code("PK111", "Edit anchor absent", _ERROR)
ANCHOR_AMBIGUOUS = Code("PK112", "Edit anchor ambiguous", _ERROR)
EDIT_CHANGES_NOTHING = Code("PK113", "Edit changes nothing", _ERROR)
ALREADY_UPSTREAM = Code("PK121", "already upstream", _ERROR)
MERGED_UPSTREAM = Code("PK122", "merged upstream", _WARNING)
DRIFT = Code("PK201", "drift since review", _WARNING)
UNREVIEWED = Code("PK202", "never reviewed", _INFO)
BASE_CHANGED = Code("PK203", "base class changed", _INFO)
NO_RELEASE = Code("PK301", "matches no release", _ERROR)
GAP = Code("PK302", "gap between ranges", _WARNING)
OVERLAP = Code("PK303", "overlap of ranges", _WARNING)
OPEN_RANGE = Code("PK304", "no upper bound", _INFO)
COULD_BE_WIDER = Code("PK305", "holds outside its range", _WARNING)
NO_ORDER = Code("PK401", "two patches without order", _WARNING)
BY_NAME_IMPORTERS = Code("PK402", "imported by name", _INFO)
BODY_WITHOUT_ROW = Code("PK501", "body without row", _ERROR)
ROW_WITHOUT_BODY = Code("PK502", "row without body", _ERROR)
NAME_NOT_IN_BODY = Code("PK503", "name not in the body", _ERROR)
MISSING_WHY = Code("PK511", "no why", _WARNING)
MISSING_UPSTREAM = Code("PK512", "no upstream", _WARNING)
MISSING_SUNSET = Code("PK513", "no sunset", _WARNING)
USE_GONE_AT_IMPORT = Code("PK601", "import gone", _ERROR)
USE_GONE = Code("PK602", "use gone", _WARNING)
CALL_REFUSED = Code("PK603", "call no longer fits", _WARNING)
OVERRIDE_REFUSED = Code("PK604", "override no longer matches", _WARNING)
GUARDED_GONE = Code("PK605", "guarded use gone", _INFO)
RELEASE_UNREADABLE = Code("PK901", "release cannot be read", _ERROR)

CODES = {one.code: one for one in list(vars().values()) if isinstance(one, Code)}


def explanations() -> dict[str, str]:
    """Read what each code means, as Markdown without links, where this installation has it."""
    file = Path(__file__).with_name("findings.md")
    try:
        page = file.read_text("utf-8")
    except OSError as error:
        raise SettingsError(f"found no {file}, expected it as the wheel brings it") from error
    return {found[1]: _LINK.sub(r"\1", found[2].strip()) for found in _SECTION.finditer(page)}
