"""
Every exception that patchkit raises on purpose.

None derives from ImportError or AttributeError: a `try/except ImportError` around an upstream
import would swallow it, and the process would continue half patched.
"""

from __future__ import annotations


class PatchkitError(Exception):
    """The base class of all; never raised itself."""


class SettingsError(PatchkitError):
    """An environment variable, or a setting in `pyproject.toml`, is invalid."""


class DeclarationError(PatchkitError):
    """
    A row, or the pack that contains it, is malformed.

    Args:
        pack: module name of the pack.
        patch: name of the patch, or None when the fault is the pack's.
        field: the field of the row at fault.
        found: its value.
        expected: what is allowed.

    """

    def __init__(self, pack: str, patch: str | None, field: str, found: str, expected: str) -> None:
        where = f"pack {pack}" + (f", patch {patch!r}" if patch else "")
        super().__init__(f"{where}, {field}: found {found}, expected {expected}{_at(pack, patch)}")
        self.pack, self.patch, self.field = pack, patch, field
        self.found, self.expected = found, expected

    def __reduce__(self) -> tuple[type[DeclarationError], tuple[str, str | None, str, str, str]]:
        """Survive pickling: an error crosses from a worker to its engine."""
        return (type(self), (self.pack, self.patch, self.field, self.found, self.expected))


def _at(pack: str, patch: str | None) -> str:
    """Say at which line of which file, where that is known."""
    from patchkit.text.row_lines import place_of_row  # noqa: PLC0415 - no start pays for it

    file, line = place_of_row(pack, patch) or ("", None)
    place = f"{file}:{line}" if line else file
    return f" ({place})" if place else ""


class CanonicalError(PatchkitError):
    """A value has no text that is the same in every process."""


class UnknownPatchError(PatchkitError):
    """No patch has this name."""


class VersionError(PatchkitError):
    """A version is invalid, or does not name the release that runs here."""


class RequirementError(PatchkitError):
    """A requirement string is not valid by PEP 508."""


class ApplyError(PatchkitError):
    """
    A required patch could not be applied, so the process must stop.

    Args:
        text: the message.
        patch: name of the patch, where its failure was reported before.

    """

    def __init__(self, text: str, patch: str | None = None) -> None:
        super().__init__(text)
        self.patch = patch


class AgreementError(PatchkitError):
    """Two processes of one engine have different patches."""


class TargetError(PatchkitError):
    """A target does not exist, or is not of the kind that the change needs."""


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
