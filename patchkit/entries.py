"""Notice the calls by which a process enters a role without having been started for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchkit.declaration import Role, Target
from patchkit.roles import ENTRIES, role_of_actor

if TYPE_CHECKING:
    from types import ModuleType

    from patchkit.session import Session

_LOAD_ACTOR = Target.parse("ray._private.function_manager:FunctionActorManager.load_actor_class")


def watch_entries(session: Session) -> None:
    """Have `session.enter` called by each function of `roles.ENTRIES`, and by Ray."""
    for target, role in ENTRIES.items():
        session.when_imported(target.module, _entry_hook(session, target, role))
    session.when_imported(_LOAD_ACTOR.module, _actor_hook(session))


def _entry_hook(session: Session, target: Target, role: Role) -> Any:
    def enter(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        session.enter(role)
        return wrapped(*args, **kwargs)

    return lambda module: session.hook_call(module, target, enter)


def _actor_hook(session: Session) -> Any:
    """
    Let a Ray worker process enter the role of its actor's class.

    Ray loads the class before it unpickles the arguments, so this is in time for them.
    """

    def load(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        cls = wrapped(*args, **kwargs)
        if not session.roles:
            session.enter(role_of_actor(cls) or Role.MAIN)
        return cls

    def hook(module: ModuleType) -> None:
        session.hook_call(module, _LOAD_ACTOR, load)

    return hook
