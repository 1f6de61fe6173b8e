"""Reads patchkit's environment variables into one frozen value."""

import os
import re
from collections.abc import Collection, Mapping

from patchkit.core.record import Record
from patchkit.errors import SettingsError

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
    "PATCHKIT_PROBE",
)
"""Variables to pass to a process that does not inherit the environment (Ray)."""

LEVELS = ("debug", "info", "warning", "error", "critical")


class Settings(Record):
    """The settings of this process; docs/reference.md has more on each variable.

    Args:
        enabled: `PATCHKIT`: whether patchkit does anything.
        packs: `PATCHKIT_PATCHES`: modules of packs beside the installed ones.
        disabled: `PATCHKIT_DISABLE`: names of patches that do not apply.
        only: `PATCHKIT_ONLY`: names of the patches that may apply; None for all.
        on_failure: `PATCHKIT_ON_FAILURE`: `stop` or `warn`.
        on_drift: `PATCHKIT_ON_DRIFT`: `warn`, `stop` or `skip`.
        lock: `PATCHKIT_LOCK`: the file of the one lock for all rows.
        verify: `PATCHKIT_VERIFY`: seconds between two checks that changes are still in place; 0
            for no checks.
        versions: `PATCHKIT_VERSIONS`: distributions and the versions to believe.
        vllm_version: `VLLM_VERSION`: the version of vLLM to believe.
        journal: `PATCHKIT_JOURNAL`: the folder of the journals.
        log: `PATCHKIT_LOG`: the level of messages on stderr.
        probed: `PATCHKIT_PROBE`: targets that are observed, as `patchkit probe` sets them.
    """

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
    probed: tuple[str, ...] = ()

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """Read the settings.

        Args:
            environ: The variables; None for `os.environ`.

        Returns:
            The settings, defaults for variables that are not set.

        Raises:
            SettingsError: A variable is invalid.
        """
        env = os.environ if environ is None else environ
        # Only for the error: the row that needs the value reads it from the environment.
        _choice(env, "PATCHKIT_CPU_RAY", ("0", "1", ""), "")
        return cls(
            enabled=not is_switched_off(env),
            packs=named_packs(env),
            disabled=_names(env, "PATCHKIT_DISABLE"),
            only=_names(env, "PATCHKIT_ONLY") or None,
            on_failure=_choice(env, "PATCHKIT_ON_FAILURE", ("stop", "warn"), "stop"),
            on_drift=_choice(
                env, "PATCHKIT_ON_DRIFT", ("warn", "stop", "skip"), "warn"
            ),
            lock=env.get("PATCHKIT_LOCK") or None,
            verify=_seconds(env, "PATCHKIT_VERIFY", 30.0),
            versions=_pairs(env, "PATCHKIT_VERSIONS"),
            vllm_version=env.get("VLLM_VERSION", "").strip() or None,
            journal=env.get("PATCHKIT_JOURNAL") or None,
            log=_choice(env, "PATCHKIT_LOG", LEVELS, "warning"),
            # One a line: a target may have commas, in the key of an item.
            probed=tuple(env.get("PATCHKIT_PROBE", "").splitlines()),
        )


def is_switched_off(environ: Mapping[str, str]) -> bool:
    """Whether `PATCHKIT=0` says that patchkit does nothing; no other variable counts then.

    Args:
        environ: The variables.

    Raises:
        SettingsError: `PATCHKIT` is invalid.
    """
    return _choice(environ, "PATCHKIT", ("0", "1", ""), "") == "0"


def named_packs(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the packs that `PATCHKIT_PATCHES` names, whatever the other variables are.

    Args:
        environ: The variables.
    """
    return _names(environ, "PATCHKIT_PATCHES")


def _names(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Read names that are separated by commas; blanks and empty parts are left out."""
    parts = env.get(name, "").split(",")
    stripped = [part.strip() for part in parts]
    return tuple([part for part in stripped if part])


def _choice(
    env: Mapping[str, str], name: str, allowed: Collection[str], default: str
) -> str:
    """Read one of the words that a variable may have, in lower case; `default` if it is empty.

    The default must be one of `allowed`, too; '' there stands for "not set".
    """
    value = env.get(name, "").strip().lower() or default
    if value not in allowed:
        expected = ", ".join([repr(word) for word in allowed if word])
        raise SettingsError(f"{name}: found {env[name]!r}, expected one of {expected}")
    return value


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
    """Read seconds such as `30`, `0.5` or `.5`; `default` if the variable is empty."""
    text = env.get(name, "").strip()
    if not re.fullmatch(r"(\d{1,7}(\.\d*)?|\.\d+)?", text):
        raise SettingsError(
            f"{name}: found {env[name]!r}, expected seconds, 0 for never"
        )
    if not text:
        return default
    return float(text)


def _pairs(env: Mapping[str, str], name: str) -> tuple[tuple[str, str], ...]:
    """Read `dist=version,…`; the names of distributions are normalized (PEP 503)."""
    versions: dict[str, str] = {}
    for pair in _names(env, name):
        written_name, _, written_version = pair.partition("=")
        dist = re.sub(r"[-_.]+", "-", written_name.strip()).lower()
        version = written_version.strip()
        if not dist or not version:
            raise SettingsError(f"{name}: found {pair!r}, expected dist=version,…")
        first = versions.setdefault(dist, version)
        if first != version:
            found = f"{dist}={first} and {dist}={version}"
            raise SettingsError(f"{name}: found {found}, expected one version of each")
    return tuple(versions.items())
