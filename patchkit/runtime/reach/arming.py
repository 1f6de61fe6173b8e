"""The session of this process, made once by the first way in."""

import os
import threading
from collections import Counter
from collections.abc import Collection

from patchkit.core.record import Record, field
from patchkit.core.rows.declaration import Role
from patchkit.core.rows.selection import Selection
from patchkit.core.versions.installed import Versions
from patchkit.errors import SettingsError
from patchkit.registry import Registry
from patchkit.runtime.drift import Drift
from patchkit.runtime.process.journal import Journal
from patchkit.runtime.process.roles import (
    initial_roles,
    is_ray_worker,
    is_resource_tracker,
    tests_decide,
)
from patchkit.runtime.process.session import Session
from patchkit.runtime.reach.hooks import watch_children, watch_compilers, watch_entries
from patchkit.settings import Settings


class _Here(Record, frozen=False):
    """The one session of this process, armed, or lent to borrowers."""

    session: Session | None = None
    is_armed: bool = False
    borrowers: int = 0
    packs: Counter[str] = field(default_factory=Counter)  # how many borrowers named each
    guard: threading.Lock = field(default_factory=threading.Lock)  # around these fields only
    turn: threading.RLock = field(default_factory=threading.RLock)  # a borrower's that comes, goes


_here = _Here()


def current() -> Session | None:
    """Return this process's session, or None where patchkit is not armed."""
    return _here.session if _here.is_armed else None


def arm(roles: frozenset[Role] | None = None) -> Session | None:
    """Arm this process once, for these roles or those that patchkit finds out.

    Returns None with `PATCHKIT=0`, or where only Python's own code runs. Raises PatchkitError where
    a setting or a row is malformed, or a required patch failed.
    """
    if (session := current()) is not None:
        return session
    settings = Settings.read()
    if not settings.enabled or is_resource_tracker():
        return None
    session, is_first = _take(_here.session or _make(settings), arming=True)
    if is_first:
        watch_entries(session)
        watch_children(session)
        watch_compilers(session)
        session.lookout.take_charge()
        here = initial_roles(os.environ, session.processes) if roles is None else roles
        session.arm(here)
    return session


def arm_unasked() -> Session | None:
    """Return the session of this process, armed now unless tests decide which patches apply."""
    return current() if tests_decide(os.environ) else arm()


def lend(names: Collection[str] = (), packs: Collection[str] = ()) -> Session:
    """Return the session of this process; where it is not armed, one without a role.

    It is to know the patches of these names, by default all, and the rows of `packs`, for no role.
    Raises PatchkitError where a setting or a row is malformed, or `PATCHKIT=0` says to do nothing.
    """
    settings = Settings.read()
    if not settings.enabled:
        raise SettingsError("PATCHKIT is '0': patchkit does nothing here; expected it unset, or 1")
    with _here.turn:
        present = _here.session
        session, is_first = _take(present or _make(settings), arming=False)
        _here.packs.update(packs)
        try:
            if is_first:
                session.arm(frozenset(), lent=True)
            if packs or (present and not (names and session.states.keys() >= set(names))):
                session.blocks.meet(Registry.collect(settings, packs))
        except BaseException:
            give_back(session, packs)
            raise
        return session


def give_back(session: Session, packs: Collection[str] = ()) -> None:
    """Give a lent session and packs back; the last borrower ends it, unless it was armed since."""
    with _here.turn:
        _here.packs.subtract(packs)
        with _here.guard:
            _here.borrowers -= 1
            is_over = not (_here.borrowers or _here.is_armed)
            if is_over:
                _here.session = None
        unnamed = {pack for pack, times in _here.packs.items() if times == 0}
        session.blocks.forget(unnamed if _here.borrowers else None)
        if is_over:
            session.stand_down()


def _take(session: Session, *, arming: bool) -> tuple[Session, bool]:
    """Return the one session, this one if there is none, and whether to arm it now."""
    with _here.guard:
        session = _here.session = _here.session or session
        if arming:
            is_first, _here.is_armed = not _here.is_armed, True
        else:
            is_first = not (_here.is_armed or _here.borrowers)
            _here.borrowers += 1
    return session, is_first


def _make(settings: Settings) -> Session:
    selection = Selection(settings, Versions.of(settings), Drift(settings.lock), os.environ)
    return Session(Registry.collect(settings), selection, Journal(settings.journal))


def arrive(role: str | None) -> None:
    """Arm a spawned child; a role that its parent names wins over a guess."""
    roles = frozenset({Role(role or Role.MAIN)})
    session = arm(roles)
    if session is not None and session.roles != roles and (role or not session.roles):
        session.become(roles)


def arrive_in_actor(role: str) -> None:
    """Arm a Ray worker process that loads its actor's class; do nothing in any other process."""
    if is_ray_worker():
        session = arm()
        if session is not None and not session.roles:
            session.enter(Role(role))


def _before_fork() -> None:
    if _here.session is not None:
        _here.session.lookout.verifier.before_fork()


def _after_fork_here() -> None:
    if _here.session is not None:
        _here.session.lookout.verifier.after_fork(in_child=False)


def _after_fork() -> None:
    _here.guard, _here.turn = threading.Lock(), threading.RLock()
    if _here.session is not None:
        _here.session.after_fork()
        _here.session.lookout.verifier.after_fork(in_child=True)


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_fork_here, after_in_child=_after_fork
)
