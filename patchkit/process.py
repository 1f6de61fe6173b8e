"""The session of this process: made once, by whichever way in comes first."""

from __future__ import annotations

import os

from patchkit.bodies import stop_watching_bodies
from patchkit.children import watch_children
from patchkit.declaration import Role
from patchkit.entries import watch_entries
from patchkit.environment import Settings
from patchkit.journal import Journal
from patchkit.registry import Registry
from patchkit.roles import initial_roles, is_ray_worker
from patchkit.selection import Selection
from patchkit.session import Session
from patchkit.versions import Versions

_here: dict[str, Session] = {}
"""Holds the one session; `setdefault` says which of two threads has made it."""


def current() -> Session | None:
    """Return this process's session, or None where patchkit is not armed."""
    return _here.get("session")


def arm(roles: frozenset[Role] | None = None) -> Session | None:
    """
    Arm this process, once; None where `PATCHKIT=0` says not to.

    Args:
        roles: those it has, where that is known; otherwise patchkit finds out.

    Raises:
        PatchkitError: a setting or a row is malformed, or a required patch failed.

    """
    if (session := current()) is not None:
        return session
    settings = Settings.read()
    if not settings.enabled:
        return None
    made = _make(settings)
    session = _here.setdefault("session", made)
    if session is made:
        os.register_at_fork(after_in_child=_after_fork)
        stop_watching_bodies()
        session.arm(initial_roles(os.environ) if roles is None else roles)
    return session


def _make(settings: Settings) -> Session:
    selection = Selection(settings, Versions.of(settings))
    session = Session(Registry.collect(settings), selection, Journal(settings.journal))
    watch_entries(session)
    watch_children(session)
    return session


def arrive(role: str | None) -> None:
    """Arm a spawned child; what its parent knows of its role is worth more than a guess."""
    roles = frozenset({Role(role or Role.MAIN)})
    session = arm(roles)
    if session is not None and session.roles != roles and (role or not session.roles):
        session.become(roles)


def arrive_in_actor(role: str) -> None:
    """Arm a Ray worker process that loads its actor's class; do nothing anywhere else."""
    if is_ray_worker():
        session = arm()
        if session is not None and not session.roles:
            session.enter(Role(role))


def _after_fork() -> None:
    if (session := current()) is not None:
        session.after_fork()
