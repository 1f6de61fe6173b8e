"""Sessions over packs that are generated for a measurement, and patch `sample` 1.0."""

from __future__ import annotations

from patchkit.core.rows.selection import Selection
from patchkit.core.versions.installed import Versions
from patchkit.registry import Registry, read_pack
from patchkit.runtime.process.journal import Journal
from patchkit.runtime.process.session import Session
from patchkit.settings import Settings


def session_of(pack: str, journal: Journal | None = None) -> Session:
    """Make a session of a pack's rows that is not armed; its journal is in memory by default."""
    settings = Settings(versions=(("sample", "1.0"),))
    selection = Selection(settings, Versions.of(settings))
    return Session(Registry(read_pack(pack)), selection, journal or Journal())
