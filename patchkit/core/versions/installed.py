"""Finds the versions that run here when they are first needed, without importing anything."""

from collections.abc import Mapping, Sequence

from patchkit.core.versions.requirements import (
    FoundVersion,
    applies_here,
    canonical,
    is_within,
    parse_requirement,
    plain_name,
    written_bounds,
)
from patchkit.settings import Settings


class Versions:
    """The versions here, each found when it is first needed.

    A version that the user has set, by a variable or an option, counts in place of what is found.

    Args:
        overrides: The versions of `PATCHKIT_VERSIONS`, by distribution.
        vllm_version: The version of `VLLM_VERSION`.
        path: The folders to search; None for `sys.path` at the time of the call.
    """

    def __init__(
        self,
        overrides: Mapping[str, str] | None = None,
        vllm_version: str | None = None,
        path: Sequence[str] | None = None,
    ) -> None:
        self._believed: dict[str, FoundVersion] = {}
        for written, version in (overrides or {}).items():
            name = canonical(written)
            self._believed[name] = FoundVersion(name, version, "PATCHKIT_VERSIONS")
        if vllm_version:
            self._believed["vllm"] = FoundVersion("vllm", vllm_version, "VLLM_VERSION")
        self._path = None if path is None else list(path)
        # What was asked before: versions by distribution, and why a requirement is not met.
        self._found: dict[str, FoundVersion | None] = {}
        self._reason_by_requirement: dict[str, str | None] = {}
        self._absent: dict[str, bool] = {}

    @classmethod
    def of(cls, settings: Settings) -> "Versions":
        """Return the versions that settings name, otherwise those that are installed.

        Args:
            settings: The settings of this process.
        """
        return cls(dict(settings.versions), settings.vllm_version)

    def find(self, name: str) -> FoundVersion | None:
        """Find the version of a distribution.

        Args:
            name: The name of the distribution.

        Returns:
            The version, or None if none is installed.

        Raises:
            VersionError: A variable sets the version, and the text is no version.
        """
        name = canonical(name)
        if name not in self._found:
            self._found[name] = self._set_by_user(name) or self._search(name)
        return self._found[name]

    def believed(self, name: str) -> FoundVersion | None:
        """Return the version that the user has set for a distribution.

        Args:
            name: The name of the distribution.

        Returns:
            The version, or None if the user has set none.

        Raises:
            VersionError: The text is no version.
        """
        return self._set_by_user(canonical(name))

    def _set_by_user(self, name: str) -> FoundVersion | None:
        """Do what `believed` does, for a name in its normalized form."""
        version = self._believed.get(name)
        if version:
            _ = version.counts_as  # raises, naming the variable and the text
        return version

    def believe(self, version: FoundVersion) -> None:
        """Use a version that a command-line option names.

        Args:
            version: The version.

        Raises:
            VersionError: The text is no version.
        """
        self._believed[version.name] = version
        self.believed(version.name)  # raises if the text is no version

    def check(self) -> None:
        """Check every version that the user has set.

        Raises:
            VersionError: One of them is no version.
        """
        for name in self._believed:
            self.believed(name)  # raises if its text is no version

    def unmet(self, requirement: str) -> str | None:
        """Say why a requirement does not hold here.

        Args:
            requirement: The requirement (PEP 508).

        Returns:
            The reason, or None if it holds.

        Raises:
            RequirementError: It is no requirement.
            VersionError: The version here does not say which release it is.
        """
        if requirement not in self._reason_by_requirement:
            self._reason_by_requirement[requirement] = self._reason(requirement)
        return self._reason_by_requirement[requirement]

    def is_absent(self, requirement: str) -> bool:
        """Whether it is certain that what a requirement names is not installed.

        Args:
            requirement: The requirement (PEP 508); if it has a marker, the answer is False.
        """
        name = plain_name(requirement)
        # A distribution whose version the user sets counts as installed.
        if name is None or canonical(name) in self._believed:
            return False
        name = canonical(name)
        from patchkit.core.versions.absent import is_absent  # noqa: PLC0415 - as a process ends

        # Many rows require the same distribution, and a search reads every folder of the path.
        if name not in self._absent:
            self._absent[name] = is_absent(name, self._path)
        return self._absent[name]

    def _search(self, name: str) -> FoundVersion | None:
        """Find the installed version; None if there is none."""
        from patchkit.core.versions.distributions import ProviderSearch  # noqa: PLC0415 - arming never looks, and it costs

        return ProviderSearch(name, self._path).found()

    def _reason(self, text: str) -> str | None:
        """Say why a requirement does not hold here, None if it does; `unmet` keeps the answer."""
        requirement = parse_requirement(text)
        if not applies_here(requirement):
            return None
        version = self.find(requirement.name)
        if version is None:
            return f"{requirement.name} is not installed"
        if is_within(version, requirement.specifier):
            return None
        return f"{requirement.name} {version.version} is outside {written_bounds(text)}"
