"""The session of this process: made once, by whichever way in comes first."""

from __future__ import annotations

import os
import threading
from collections import Counter
from typing import TYPE_CHECKING

from patchkit.errors import SettingsError
from patchkit.process.journal import Journal
from patchkit.process.lineage import is_resource_tracker
from patchkit.process.roles import initial_roles, is_ray_worker
from patchkit.process.session import Session
from patchkit.reach.child_processes import watch_children
from patchkit.reach.role_entries import watch_entries
from patchkit.record import Record, field
from patchkit.registry import Registry
from patchkit.review.drift import Drift
from patchkit.rows.declaration import Role
from patchkit.rows.selection import Selection
from patchkit.settings import Settings
from patchkit.versions.installed import Versions

if TYPE_CHECKING:
    from collections.abc import Collection


class _Here(Record, frozen=False):
    """
    The one session of this process.

    Args:
        session: it, armed or lent.
        is_armed: it is there for the process, not only for those who borrow it.
        borrowers: how many do.
        packs: how many of them have named each pack, those that are named no more with 0.
        guard: held while these are read and written together, and never longer.
        turn: of a borrower that comes or goes; rows are read meanwhile, but no body is loaded.

    """

    session: Session | None = None
    is_armed: bool = False
    borrowers: int = 0
    packs: Counter[str] = field(default_factory=Counter)
    guard: threading.Lock = field(default_factory=threading.Lock)
    turn: threading.RLock = field(default_factory=threading.RLock)


_here = _Here()


def current() -> Session | None:
    """Return this process's session, or None where patchkit is not armed."""
    return _here.session if _here.is_armed else None


def arm(roles: frozenset[Role] | None = None) -> Session | None:
    """
    Arm this process, once; None where `PATCHKIT=0` says not to, or only Python's own code runs.

    Args:
        roles: those it has, where that is known; otherwise patchkit finds out.

    Raises:
        PatchkitError: a setting or a row is malformed, or a required patch failed.

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
        session.lookout.take_charge()
        session.arm(initial_roles(os.environ) if roles is None else roles)
    return session


def lend(names: Collection[str] = (), packs: Collection[str] = ()) -> Session:
    """
    Return this process's session; one that is in no role where the process is not armed.

    Args:
        names: of patches that it should know; none means all.
        packs: modules with further rows, which are for no role.

    Raises:
        PatchkitError: a setting or a row is malformed, or `PATCHKIT=0` says to do nothing.

    """
    settings = Settings.read()
    if not settings.enabled:
        raise SettingsError("PATCHKIT is '0': patchkit does nothing here; expected it unset, or 1")
    with _here.turn:
        return _lend(settings, names, packs)


def _lend(settings: Settings, names: Collection[str], packs: Collection[str]) -> Session:
    present = _here.session
    session, is_first = _take(present or _make(settings), arming=False)
    _here.packs.update(packs)
    try:
        if is_first:
            session.arm(frozenset(), lent=True)
        if packs or (present and not (names and session.states.keys() >= set(names))):
            session.meet(Registry.collect(settings, packs))
    except BaseException:
        give_back(session, packs)
        raise
    return session


def give_back(session: Session, packs: Collection[str] = ()) -> None:
    """
    Return a session that was lent; the last one does away with it, unless it was armed since.

    Args:
        session: it.
        packs: those that it was lent with, whose rows are forgotten once nobody names them.

    """
    with _here.turn:
        _here.packs.subtract(packs)
        with _here.guard:
            _here.borrowers -= 1
            is_over = not (_here.borrowers or _here.is_armed)
            if is_over:
                _here.session = None
        unnamed = {pack for pack, times in _here.packs.items() if times == 0}
        session.forget_guests(unnamed if _here.borrowers else None)
        if is_over:
            session.stand_down()


def _take(session: Session, *, arming: bool) -> tuple[Session, bool]:
    """The one session, this one if there is none, and whether it is yet to be armed, or lent."""
    with _here.guard:
        session = _here.session = _here.session or session
        if arming:
            is_first, _here.is_armed = not _here.is_armed, True
        else:
            is_first = not (_here.is_armed or _here.borrowers)
            _here.borrowers += 1
    return session, is_first


def _make(settings: Settings) -> Session:
    selection = Selection(settings, Versions.of(settings), Drift(settings.lock))
    return Session(Registry.collect(settings), selection, Journal(settings.journal))


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
