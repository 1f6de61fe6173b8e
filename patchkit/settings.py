"""patchkit's environment variables, read once into one frozen value."""

import os
import re
from collections.abc import Collection, Mapping

from patchkit.core.record import Record
from patchkit.errors import SettingsError, near

VARIABLES = (
    "VLLM_VERSION",
    "PATCHKIT",
    "PATCHKIT_VERSIONS",
    "PATCHKIT_PATCHES",
    "PATCHKIT_DISABLE",
    "PATCHKIT_ONLY",
    "PATCHKIT_ON_FAILURE",
    "PATCHKIT_ON_DRIFT",
    "PATCHKIT_LOCK",
    "PATCHKIT_VERIFY",
    "PATCHKIT_JOURNAL",
    "PATCHKIT_LOG",
    "PATCHKIT_DEVICE_BACKEND",
    "PATCHKIT_CPU_RAY",
    "PATCHKIT_TESTS",
)
"""Variables to pass to a process that does not inherit the environment (Ray)."""

LEVELS = ("debug", "info", "warning", "error", "critical")


class Settings(Record):
    """The settings of this process; each is named like its variable (docs/reference.md)."""

    enabled: bool = True
    packs: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    on_failure: str = "stop"
    on_drift: str = "warn"
    lock: str | None = None
    verify: float = 30.0
    versions: tuple[tuple[str, str], ...] = ()
    vllm_version: str | None = None
    journal: str | None = None
    log: str = "warning"

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """Read `os.environ` or another mapping; raise SettingsError for an invalid value."""
        env = os.environ if environ is None else environ
        _choice(env, "PATCHKIT_CPU_RAY", ("0", "1", ""), "")  # a row reads it
        return cls(
            enabled=_choice(env, "PATCHKIT", ("0", "1", ""), "") != "0",
            packs=_names(env, "PATCHKIT_PATCHES"),
            disabled=_names(env, "PATCHKIT_DISABLE"),
            only=_names(env, "PATCHKIT_ONLY") or None,
            on_failure=_choice(env, "PATCHKIT_ON_FAILURE", ("stop", "warn"), "stop"),
            on_drift=_choice(env, "PATCHKIT_ON_DRIFT", ("warn", "stop", "skip"), "warn"),
            lock=env.get("PATCHKIT_LOCK") or None,
            verify=_seconds(env, "PATCHKIT_VERIFY", 30.0),
            versions=_pairs(env, "PATCHKIT_VERSIONS"),
            vllm_version=env.get("VLLM_VERSION") or None,
            journal=env.get("PATCHKIT_JOURNAL") or None,
            log=_choice(env, "PATCHKIT_LOG", LEVELS, "warning"),
        )

    def check_names(self, known: Collection[str]) -> None:
        """Refuse unknown names in `PATCHKIT_ONLY` and `PATCHKIT_DISABLE` with SettingsError."""
        for variable, names in (("ONLY", self.only or ()), ("DISABLE", self.disabled)):
            for name in names:
                if name not in known:
                    hint = near(name, known) or f": {', '.join(sorted(known)) or 'there is none'}"
                    expected = f"found {name!r}, expected a patch's name{hint}"
                    raise SettingsError(f"PATCHKIT_{variable}: {expected}")


def _names(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in env.get(name, "").split(",") if part.strip())


def _choice(env: Mapping[str, str], name: str, allowed: Collection[str], default: str) -> str:
    value = env.get(name, "").strip().lower() or default
    if value not in allowed:
        expected = ", ".join(repr(word) for word in allowed if word)
        raise SettingsError(f"{name}: found {env[name]!r}, expected one of {expected}")
    return value


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
    text = env.get(name, "").strip()
    if not re.fullmatch(r"(\d{1,7}(\.\d*)?|\.\d+)?", text):
        raise SettingsError(f"{name}: found {env[name]!r}, expected seconds, 0 for never")
    return float(text) if text else default


def _pairs(env: Mapping[str, str], name: str) -> tuple[tuple[str, str], ...]:
    versions: dict[str, str] = {}
    for pair in _names(env, name):
        written, _, version = (part.strip() for part in pair.partition("="))
        if not (written and version):
            raise SettingsError(f"{name}: found {pair!r}, expected dist=version,…")
        dist = re.sub(r"[-_.]+", "-", written).lower()
        if versions.setdefault(dist, version) != version:
            found = f"{dist}={versions[dist]} and {dist}={version}"
            raise SettingsError(f"{name}: found {found}, expected one version of each")
    return tuple(versions.items())
