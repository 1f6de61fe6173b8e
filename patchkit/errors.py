"""Defines every exception that patchkit raises, and the parts that their messages share.

Such a part is the file and line of a row, or the question whether a similar name was meant.

None derives from ImportError or AttributeError: a `try/except ImportError` around an upstream
import would swallow it, and the process would continue half patched.
"""

from __future__ import annotations  # also read by a Python that is too old for the rest

import os
import re
import sys
from collections.abc import Iterable


class PatchkitError(Exception):
    """The base class of all exceptions of patchkit; never raised itself."""


class SettingsError(PatchkitError):
    """An environment variable, a setting in `pyproject.toml`, or a file of lanes, is invalid."""


class PatchNameError(SettingsError):
    """A variable names a patch that does not exist, so that no patch can be applied."""


class DeclarationError(PatchkitError):
    """A row, or the pack that contains it, is malformed.

    Args:
        pack: The dotted name of the pack.
        patch: The name of the row's patch; None if the pack itself is malformed.
        field: The field that is at fault.
        found: What is there, in words.
        expected: What should be there, in words.
    """

    def __init__(
        self, pack: str, patch: str | None, field: str, found: str, expected: str
    ) -> None:
        subject = f"pack {pack or repr(pack)}"
        if patch:
            subject += f", patch {patch!r}"
        message = f"{subject}, {field}: found {found}, expected {expected}"
        super().__init__(message + _in_brackets(place_of_row(pack, patch)))
        self.pack = pack
        self.patch = patch
        self.field = field
        self.found = found
        self.expected = expected

    def __reduce__(
        self,
    ) -> tuple[type[DeclarationError], tuple[str, str | None, str, str, str]]:
        """Pickle the arguments, as a worker sends its error to the engine.

        By default, pickle would call `__init__` with the message alone.
        """
        return (
            type(self),
            (self.pack, self.patch, self.field, self.found, self.expected),
        )


class ProcessRowError(PatchkitError):
    """A row of a process that an entry point leads to is malformed."""


class EngineError(PatchkitError):
    """An engine that an entry point leads to is malformed."""


class CanonicalError(PatchkitError):
    """A value has no text that is the same in every process."""


class UnknownPatchError(PatchkitError):
    """No patch has this name."""


class VersionError(PatchkitError):
    """A version is invalid, or does not name the release that runs here."""


class DependencyError(VersionError):
    """A package that patchkit itself needs, or its Python, is missing: no patch is to blame."""


class RequirementError(PatchkitError):
    """A requirement string is not valid by PEP 508."""


class BisectionError(PatchkitError):
    """A bisection cannot start, resume or continue."""


class ApplyError(PatchkitError):
    """A required patch could not be applied, and the process has to stop.

    Args:
        text: The message.
        patch: The name of the patch if its failure was already reported, else None.
    """

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
    """Find where a row is declared.

    Args:
        pack: The dotted name of the pack.
        patch: The name of the row's patch; None for the pack itself.

    Returns:
        The file, and the line if the row was found in it; None if the pack has no file, or was not
        imported.
    """
    file = getattr(sys.modules.get(pack), "__file__", None)
    if not isinstance(file, str) or "\0" in file:  # no file, or the pack has set it
        return None
    line = None if patch is None else _line(file, patch)
    return shown(file), line


def _in_brackets(place: tuple[str, int | None] | None) -> str:
    """Write a file and a line for the end of a message; '' for None."""
    if place is None:
        return ""
    file, line = place
    if line is None:
        return f" ({file})"
    return f" ({file}:{line})"


def _line(file: str, patch: str) -> int | None:
    """Find the line of a row by its text: `name="PATCH"`, or else the first with `"PATCH"`.

    Returns:
        The number of the line; None if there is none, or the file cannot be read.
    """
    try:
        if not os.path.isfile(file):  # noqa: PTH113 - no pathlib at a start
            return None  # it is not there, or a pipe, which would be waited for
        with open(file, encoding="utf-8", errors="replace") as opened:  # noqa: PTH123 - as above
            text = opened.read()
    except (OSError, ValueError, TypeError):
        return None
    name = rf"""["']{re.escape(patch)}["']"""
    for pattern in (rf"\bname\s*=\s*{name}", name):
        match = re.search(pattern, text)
        if match is not None:
            return text.count("\n", 0, match.start()) + 1
    return None


def shown(file: str | os.PathLike[str]) -> str:
    """Write a path for people and GitHub.

    Args:
        file: The path.

    Returns:
        The path relative to the working directory if it lies below that, else the absolute path.
    """
    path = os.path.realpath(file)
    try:
        working_folder = os.path.realpath(os.getcwd())  # noqa: PTH109 - as above
    except OSError:
        return path
    # With '' joined to it, the folder ends with a slash.
    return path.removeprefix(os.path.join(working_folder, ""))  # noqa: PTH118 - as above


def some_of(candidates: Iterable[str], word: str = "", most: int = 5) -> str:
    """Name some words of many: those like a word first, and how many more there are.

    Args:
        candidates: The words.
        word: What they are to be like; '' prefers none.
        most: How many of them may be named.

    Returns:
        The words for a message; `none` if there are no candidates.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - no process that is in order needs it

    every = list(candidates)
    similar = get_close_matches(word, every, n=most, cutoff=0.5)
    named = list(dict.fromkeys([*similar, *every]))[:most]
    text = ", ".join(named) or "none"
    further = len(every) - len(named)
    if further:
        text += f" and {further} more"
    return text


def near(
    word: str, candidates: Iterable[str], most: int = 1, likeness: float = 0.5
) -> str:
    """Ask whether a similar word was meant.

    Args:
        word: The word that is unknown.
        candidates: The words that are known.
        most: How many of them may be named.
        likeness: How similar a word has to be: from 0 to 1, which is the same word.

    Returns:
        The question, for the end of a message; '' if no word is similar.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - no process that is in order needs it

    matches = get_close_matches(word, list(candidates), n=most, cutoff=likeness)
    if not matches:
        return ""
    return f"; did you mean {' or '.join(matches)}?"
