"""Arms this process: makes its one session, or returns the one that is there."""

import os
import threading
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from patchkit.core.record import Record, field
from patchkit.core.rows.declaration import Role, Row, roles_named
from patchkit.core.rows.processes import is_own_command
from patchkit.core.rows.selection import Selection
from patchkit.core.versions.installed import Versions
from patchkit.errors import DeclarationError, PatchkitError, SettingsError
from patchkit.registry import Registry
from patchkit.runtime.drift import Drift
from patchkit.runtime.process.journal import Journal
from patchkit.runtime.process.roles import (
    command_line,
    initial_roles,
    is_ray_worker,
    is_resource_tracker,
    tests_decide,
)
from patchkit.runtime.process.session import Session
from patchkit.runtime.reach.hooks import watch_children, watch_compilers, watch_entries
from patchkit.settings import Settings, is_switched_off


class _ProcessState(Record, frozen=False):
    """The one session of this process: armed for good, or lent to blocks of `patchkit.applied`.

    Args:
        session: The session; None if there is none.
        is_armed: Whether it was armed, and not only lent.
        made_by: What made the session, in words; "" if the caller of `arm` has not said.
        borrowers: How many blocks have borrowed it, and not given it back.
        packs: How many of these blocks named each pack.
        guard: A lock for these fields, held for some lines only.
        turn: A lock for `lend` and `give_back`, of which only one runs at a time.
    """

    session: Session | None = None
    is_armed: bool = False
    made_by: str = ""
    borrowers: int = 0
    packs: Counter[str] = field(default_factory=Counter)
    guard: threading.Lock = field(default_factory=threading.Lock)
    turn: threading.RLock = field(default_factory=threading.RLock)


_state = _ProcessState()

_DECISIVE = {
    "PATCHKIT_PATCHES": "packs",
    "PATCHKIT_DISABLE": "disabled",
    "PATCHKIT_ONLY": "only",
    "PATCHKIT_VERSIONS": "versions",
    "VLLM_VERSION": "vllm_version",
    "PATCHKIT_LOCK": "lock",
    "PATCHKIT_ON_DRIFT": "on_drift",
    "PATCHKIT_ON_FAILURE": "on_failure",
}
"""The settings that decide which patches apply, by their variables."""


def current() -> Session | None:
    """Return this process's session, or None where patchkit is not armed."""
    if not _state.is_armed:
        return None
    return _state.session


def arm(roles: frozenset[Role] | None = None, *, by: str = "") -> Session | None:
    """Arm this process, once.

    Args:
        roles: The roles of this process; None for those that patchkit finds out.
        by: What arms it, in words for a message.

    Returns:
        The session; None with `PATCHKIT=0`, or in multiprocessing's resource tracker.

    Raises:
        PatchkitError: A setting or a row is malformed, or a required patch failed.
    """
    armed = current()
    if armed is not None:
        return armed
    # The switch comes first: with PATCHKIT=0, no other variable may stop the program.
    if is_switched_off(os.environ) or is_resource_tracker():
        return None
    settings = Settings.read()
    # If a block has borrowed a session, it is there already, and becomes the armed one.
    session, is_first = _take_to_arm(_state.session or _make(settings), by)
    if is_first:
        watch_entries(session)
        watch_children(session)
        watch_compilers(session)
        _probe(session)
        session.lookout.take_charge()
        if roles is None:
            roles = initial_roles(os.environ, session.processes)
        session.arm(roles)
    return session


def _probe(session: Session) -> None:
    """Begin to observe the targets of `patchkit probe`, if that has started this process."""
    path = session.journal.path
    if session.settings.probed and path is not None:
        from patchkit.runtime.probing.probe import Probe  # noqa: PLC0415 - few processes are probed

        Probe(session.settings.probed, session, path).begin()


def arm_unasked(by: str) -> Session | None:
    """Arm this process for what the user has not asked to arm it, such as vLLM's plugin.

    Nothing is armed in a pytest process whose tests choose the patches themselves.

    Args:
        by: What arms it, in words for a message.

    Returns:
        The session of this process, which tests may have armed; None if there is none.
    """
    if tests_decide(os.environ):
        return current()
    return arm(by=by)


def arm_as_asked() -> Session | None:
    """Arm this process with the present settings, for `import patchkit.auto`.

    Returns:
        What `arm` returns.

    Raises:
        SettingsError: The process was armed before, with settings that select other patches.
        PatchkitError: What `arm` raises.
    """
    try:
        session = arm(by="an import of patchkit.auto")
    except PatchkitError as error:
        from patchkit.runtime.tracebacks import leave_out_own_frames  # noqa: PLC0415 - few fail

        leave_out_own_frames(error)
        raise
    if session is not None:
        _refuse_other_settings(session.settings, Settings.read())
    return session


def _refuse_other_settings(former: Settings, present: Settings) -> None:
    """Raise a SettingsError if a setting that decides which patches apply has changed."""
    changed: list[str] = []
    for variable, field_name in _DECISIVE.items():
        was = getattr(former, field_name)
        now = getattr(present, field_name)
        if was != now:
            changed.append(f"{variable} was {_shown(was)}, and is {_shown(now)} now")
    if changed:
        raise SettingsError(
            f"{_state.made_by or 'something'} has armed patchkit in this process before: "
            f"{'; '.join(changed)}. The process keeps the patches of then. Set the variables "
            "before vLLM is imported, and start anew"
        )


def _shown(setting: Any) -> str:
    """Write a setting as the text of its variable; a tuple of pairs as 'name=value,…'."""
    if not setting:
        return "not set"
    if isinstance(setting, str):
        return repr(setting)
    parts = ["=".join(part) if isinstance(part, tuple) else part for part in setting]
    return repr(",".join(parts))


def lend(names: Collection[str] = (), packs: Collection[str] = ()) -> Session:
    """Lend the session of this process to a block of `patchkit.applied`.

    If the process is not armed, the session has no role, so it applies nothing by itself.

    Args:
        names: The patches that it is to know; none for all.
        packs: Further packs whose rows it is to know. These have no role here: they apply only in
            blocks.

    Returns:
        The session; the block must pass it to `give_back`.

    Raises:
        SettingsError: `PATCHKIT=0` says to do nothing, or a setting is malformed.
        PatchkitError: A row is malformed.
    """
    settings = Settings.read()
    if not settings.enabled:
        raise SettingsError(
            "PATCHKIT is '0': patchkit does nothing here; expected it unset, or 1"
        )
    with _state.turn:
        earlier = _state.session
        session, is_first = _take_to_lend(earlier or _make(settings))
        _state.packs.update(packs)
        try:
            if is_first:
                session.arm(frozenset(), lent=True)
            # Without `names` any row may be meant, also one that the session does not know.
            knows_all_names = bool(names) and session.states.keys() >= set(names)
            # An earlier session lacks the rows of packs that have been named since it was made.
            if packs or (earlier and not knows_all_names):
                session.blocks.meet(Registry.collect(settings, packs))
        except BaseException:
            give_back(session, packs)
            raise
        return session


def give_back(session: Session, packs: Collection[str] = ()) -> None:
    """Give a lent session back; the last block ends it, unless the process was armed meanwhile.

    Args:
        session: The session.
        packs: The packs that it was lent with.
    """
    with _state.turn:
        _state.packs.subtract(packs)
        with _state.guard:
            _state.borrowers -= 1
            is_over = not (_state.borrowers or _state.is_armed)
            if is_over:
                _state.session = None
        # Rows of packs that no block names any more are dropped; with the last block, all of them.
        if _state.borrowers:
            session.blocks.forget(
                {pack for pack, count in _state.packs.items() if count == 0}
            )
        else:
            session.blocks.forget(None)
        if is_over:
            session.stand_down()


def _take_to_arm(session: Session, by: str) -> tuple[Session, bool]:
    """Mark the process as armed.

    Returns:
        The one session, which becomes the given one if there is none; and whether the caller is the
        first, who has to arm it.
    """
    with _state.guard:
        if _state.session is None:
            _state.session = session
            _state.made_by = by
        is_first = not _state.is_armed
        _state.is_armed = True
        return _state.session, is_first


def _take_to_lend(session: Session) -> tuple[Session, bool]:
    """Count a borrower; return what `_take_to_arm` does: the session, and whether to arm it."""
    with _state.guard:
        if _state.session is None:
            _state.session = session
            _state.made_by = "a block of patchkit.applied"
        is_first = not (_state.is_armed or _state.borrowers)
        _state.borrowers += 1
        return _state.session, is_first


def _make(settings: Settings) -> Session:
    """Make a session of all rows of this process, not armed yet."""
    selection = Selection(
        settings, Versions.of(settings), Drift(settings.lock), os.environ
    )
    # A probe may run `patchkit status` every few seconds: its journals would fill the folder.
    is_kept = not is_own_command(command_line())
    journal = Journal(settings.journal if is_kept else None)
    if journal.directory not in (None, settings.journal):
        # The path was relative, and a child may be started from another folder.
        os.environ["PATCHKIT_JOURNAL"] = str(journal.directory)
    return Session(Registry.collect(settings, stand_ins=_stand_ins), selection, journal)


def _stand_ins(pack: str, error: DeclarationError) -> Iterable[Row]:
    """Return the rows that `patchkit run` has passed on for a pack that cannot be imported here."""
    from patchkit.runtime.reach.told_rows import stand_ins  # noqa: PLC0415 - few processes need it

    return stand_ins(pack, error)


def arrive(role: str | None) -> None:
    """Arm a spawned child; the roles that its parent names replace those that were guessed here.

    Args:
        role: The role, or several as `names_of` writes them; None if the parent does not know it:
            then a child without a role becomes a main process.
    """
    roles = roles_named(role or str(Role.MAIN))
    session = arm(roles, by="the parent process")
    if session is None or session.roles == roles:
        return
    if role or not session.roles:
        session.become(roles)


def arrive_in_actor(role: str) -> None:
    """Arm a Ray worker process that loads its actor's class; do nothing in any other process.

    Args:
        role: The role of the actor, or several as `names_of` writes them.
    """
    if is_ray_worker():
        session = arm(by="the class of a Ray actor")
        if session is not None and not session.roles:
            for each in sorted(roles_named(role)):
                session.enter(each)


def _before_fork() -> None:
    """Stop the verifier, which has a thread, before this process forks."""
    if _state.session is not None:
        _state.session.lookout.verifier.before_fork()


def _after_fork_in_parent() -> None:
    if _state.session is not None:
        _state.session.lookout.verifier.after_fork(in_child=False)


def _after_fork_in_child() -> None:
    """Renew the locks, which another thread may have held, and tell the session of the fork."""
    _state.guard = threading.Lock()
    _state.turn = threading.RLock()
    if _state.session is not None:
        _state.session.after_fork()
        _state.session.lookout.verifier.after_fork(in_child=True)


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
