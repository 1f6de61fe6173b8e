"""Hooks on the calls with which a process enters a role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchkit.process.lineage import rank_given
from patchkit.process.roles import ENTRIES, RAY_ACTORS, role_of_actor
from patchkit.rows.declaration import Role
from patchkit.rows.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchkit.process.session import Session

_LOAD_ACTOR = Target.parse("ray._private.function_manager:FunctionActorManager.load_actor_class")
_LOAD_TASK = Target.parse("ray._private.function_manager:FunctionActorManager.get_execution_info")


def watch_entries(session: Session) -> None:
    """Enter a role where a function of `roles.ENTRIES` is called, or Ray loads an actor or task."""
    for target, role in ENTRIES.items():
        session.hooks.wrap(target, _entering(session, role))
    _watch_ray(session)


def _entering(session: Session, role: Role) -> Any:
    def configure(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        session.enter(role)
        config = wrapped(*args, **kwargs)
        session.stamp(config)
        return config

    def enter(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        session.enter(role)
        if (rank := rank_given(wrapped, instance, args, kwargs)) is not None:
            session.journal.write("rank", rank=rank)
        if (config := _configuration((*args, *kwargs.values()))) is not None:
            session.agree(role, config)
        return wrapped(*args, **kwargs)

    return configure if role is Role.MAIN else enter


def _configuration(values: Iterable[Any]) -> Any:
    """Find the engine's configuration in arguments; `init_worker` has it in a list of dicts."""
    for value in values:
        if hasattr(value, "additional_config"):
            return value
        inner = value.values() if isinstance(value, dict) else value
        nested = isinstance(value, (dict, list))
        if nested and (config := _configuration(inner)) is not None:
            return config
    return None


def _watch_ray(session: Session) -> None:
    """
    Have a Ray worker process enter the role of its actor's class; a process for tasks is a main.

    The role is entered before Ray unpickles the class, so that the class refers to what is patched.
    The name tells whether a class is vLLM's; a user's class means a main process. A class that
    derives from one of vLLM's is known after unpickling. Methods are looked up later, like tasks.
    """

    def load(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        if session.roles:
            return wrapped(*args, **kwargs)
        expected = _role_of_descriptor((*args, *kwargs.values())) or Role.MAIN
        session.enter(expected)
        cls = wrapped(*args, **kwargs)
        role = role_of_actor(cls)
        if role not in {None, expected} and session.roles == {expected}:
            session.become((role,))
        return cls

    def load_task(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        if not session.roles:
            session.enter(Role.MAIN)
        return wrapped(*args, **kwargs)

    session.hooks.wrap(_LOAD_ACTOR, load)
    session.hooks.wrap(_LOAD_TASK, load_task)


def _role_of_descriptor(values: Iterable[Any]) -> Role | None:
    """Find the descriptor of the actor's class in arguments, and return the role of its name."""
    named = (f"{getattr(v, 'module_name', '')}:{getattr(v, 'class_name', '')}" for v in values)
    return next((RAY_ACTORS[name] for name in named if name in RAY_ACTORS), None)
