"""
Every exception that patchkit raises on purpose.

None derives from ImportError or AttributeError: upstream's `try/except ImportError` around an
import would swallow it, and the process would go on half patched.
"""

from __future__ import annotations


class PatchkitError(Exception):
    """The root of them all; also raised by nobody directly."""


class SettingsError(PatchkitError):
    """An environment variable, or a project's settings, hold what patchkit cannot read."""


class DeclarationError(PatchkitError):
    """
    A row, or the pack that holds it, is malformed.

    Args:
        pack: module name of the pack.
        patch: name of the patch, or None when the fault is the pack's.
        field: the field of the row at fault.
        found: what stands there.
        expected: what should.

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
    """A value that nobody can write down so that it is the same in every process."""


class UnknownPatchError(PatchkitError):
    """A name that no row has."""


class VersionError(PatchkitError):
    """A version that is none, or that says nothing about what runs here."""


class RequirementError(PatchkitError):
    """A requirement string that PEP 508 does not allow."""


class ApplyError(PatchkitError):
    """
    A required patch could not be applied; the process must not go on.

    Args:
        text: what is said.
        patch: name of the patch that is known to have failed, where this tells of it once more.

    """

    def __init__(self, text: str, patch: str | None = None) -> None:
        super().__init__(text)
        self.patch = patch


class AgreementError(PatchkitError):
    """Two processes of one engine have different patches."""


class TargetError(PatchkitError):
    """A target that is not there, or is not of the kind that the change needs."""


class OverwrittenError(PatchkitError):
    """Somebody else has overwritten what a patch had changed."""


class DriftError(PatchkitError):
    """What a patch changes is not what was reviewed."""


class UndoError(PatchkitError):
    """A change could not be taken back; what could be was."""


class UpstreamError(PatchkitError):
    """A release of upstream, or what lists its releases, cannot be read."""


class UnreachableError(UpstreamError):
    """A server that does not answer, or that must not be asked."""


class LockError(PatchkitError):
    """A `patchkit.lock` that cannot be read or written."""


class ScaffoldError(PatchkitError):
    """A patch that cannot be started as it was asked for; nothing was written."""
