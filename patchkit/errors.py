"""Every exception that patchkit raises, and what their messages add: a place, a suggestion.

None derives from ImportError or AttributeError: a `try/except ImportError` around an upstream
import would swallow it, and the process would continue half patched.
"""

import os
import re
import sys
from collections.abc import Iterable


class PatchkitError(Exception):
    """The base class of all; never raised itself."""


class SettingsError(PatchkitError):
    """An environment variable, a setting in `pyproject.toml`, or a file of lanes, is invalid."""


class DeclarationError(PatchkitError):
    """A row, or (where `patch` is None) the pack that contains it, is malformed."""

    def __init__(self, pack: str, patch: str | None, field: str, found: str, expected: str) -> None:
        where = f"pack {pack}" + (f", patch {patch!r}" if patch else "")
        file, line = place_of_row(pack, patch) or ("", None)
        place = f"{file}:{line}" if line else file
        at = f" ({place})" if place else ""
        super().__init__(f"{where}, {field}: found {found}, expected {expected}{at}")
        self.pack, self.patch, self.field = pack, patch, field
        self.found, self.expected = found, expected

    def __reduce__(self) -> "tuple[type[DeclarationError], tuple[str, str | None, str, str, str]]":
        """Survive pickling: an error crosses from a worker to its engine."""
        return (type(self), (self.pack, self.patch, self.field, self.found, self.expected))


class ProcessRowError(PatchkitError):
    """What an entry point tells of processes is malformed."""


class CanonicalError(PatchkitError):
    """A value has no text that is the same in every process."""


class UnknownPatchError(PatchkitError):
    """No patch has this name."""


class VersionError(PatchkitError):
    """A version is invalid, or does not name the release that runs here."""


class RequirementError(PatchkitError):
    """A requirement string is not valid by PEP 508."""


class BisectionError(PatchkitError):
    """A command cannot be bisected, or not be resumed; or it ended the search."""


class ApplyError(PatchkitError):
    """A required patch could not be applied: stop. `patch`: whose failure was reported before."""

    def __init__(self, text: str, patch: str | None = None) -> None:
        super().__init__(text)
        self.patch = patch


class AgreementError(PatchkitError):
    """Two processes of one engine have different patches."""


class TargetError(PatchkitError):
    """A target does not exist, or is not of the kind that the change needs."""


class VerifyError(PatchkitError):
    """A patch was applied, and its body's `verify` says that it does not do what it is for."""


class OverwrittenError(PatchkitError):
    """Other code has overwritten what a patch changed."""


class DriftError(PatchkitError):
    """A target differs from the source that was reviewed."""


class UndoError(PatchkitError):
    """A change could not be undone; all others were."""


class UpstreamError(PatchkitError):
    """An upstream release, or the index that lists the releases, cannot be read."""


class UnreachableError(UpstreamError):
    """A server does not answer, or must not be asked."""


class LockError(PatchkitError):
    """A `patchkit.lock` cannot be read or written."""


class ScaffoldError(PatchkitError):
    """`patchkit new` cannot write the patch as asked; nothing was written."""


def place_of_row(pack: str, patch: str | None) -> tuple[str, int | None] | None:
    """Return the file and line of a row (of the pack, if none is named); None if there is none."""
    file = getattr(sys.modules.get(pack), "__file__", None)
    if file is None:
        return None
    return shown(file), _line(file, patch) if patch is not None else None


def _line(file: str, patch: str) -> int | None:
    """Find the line where a row is named; else the first that has its name at all."""
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:  # noqa: PTH123 - no pathlib at a start
            lines = opened.read().splitlines()
    except OSError:
        return None
    name = rf"""["']{re.escape(patch)}["']"""
    forms = (rf"\bname\s*=\s*{name}", name)
    found = (n for form in forms for n, line in enumerate(lines, 1) if re.search(form, line))
    return next(found, None)


def shown(file: str | os.PathLike[str]) -> str:
    """Write a path as people and GitHub want it: relative to here where it lies below."""
    path = os.path.realpath(file)
    try:
        here = os.path.join(os.path.realpath(os.getcwd()), "")  # noqa: PTH109, PTH118 - as above
    except OSError:
        return path
    return path.removeprefix(here)


def near(word: str, words: Iterable[str], most: int = 1) -> str:
    """Ask whether a similar word was meant; '' where there is none."""
    from difflib import get_close_matches  # noqa: PLC0415 - no process that is in order needs it

    words_like_it = get_close_matches(word, list(words), n=most, cutoff=0.5)
    return f"; did you mean {' or '.join(words_like_it)}?" if words_like_it else ""
