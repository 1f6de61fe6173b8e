"""patchkit's own hooks: the calls with which a process enters a role, or starts another process.

Children of `multiprocessing`, and of `multiprocess`, get patchkit and their role. A spawned child
unpickles its preparation data first; patchkit adds an object that arms the child. A forked child
has inherited the session, and only takes on its role. vLLM's model registry starts a helper with
`subprocess`, which unpickles the function that it is to call.
"""

import sys
import threading
from collections.abc import Iterable
from functools import partial
from types import ModuleType
from typing import Any

from patchkit.core.rows.declaration import Role
from patchkit.core.rows.processes import LIBRARIES, ProcessRow, target_of
from patchkit.core.rows.target import Target
from patchkit.errors import PatchkitError, TargetError
from patchkit.runtime.changes.context import Context
from patchkit.runtime.changes.owners import locate
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.process.roles import rank_given, running_here
from patchkit.runtime.process.session import Session
from patchkit.runtime.reach.carrier import Carrier

_LOAD_ACTOR = Target.parse("ray._private.function_manager:FunctionActorManager.load_actor_class")
_LOAD_TASK = Target.parse("ray._private.function_manager:FunctionActorManager.get_execution_info")
_TRACE = Target.parse("torch._guards:TracingContext.__init__")
_LOAD = Target.parse("torch._dynamo.aot_compile:AOTCompiledFunction.deserialize")
_ASK_HELPER = Target.parse("vllm.model_executor.models.registry:_run_in_subprocess")


def _wrap(session: Session, target: Target, by: Any) -> None:
    session.hooks.setdefault(target.module, []).append(partial(_wrap_in, target, by))


def _wrap_in(target: Target, by: Any, module: ModuleType, sites: Sites) -> None:
    from patchkit.runtime.changes.objects.wrap import wrapped_at  # noqa: PLC0415 - brings inspect

    try:
        location = locate(module, target.qualname)
        if getattr(location.owner, "__module__", target.module) != target.module:
            return  # only a name for another module's class
        context = Context(module, module, sites, rank=(-1, 0))
        ready = wrapped_at([location], by, context, str(target))
    except TargetError:
        return
    ready.apply()


def watch_entries(session: Session) -> None:
    """Enter a role where a call begins it, or Ray loads an actor or task."""
    for row in session.processes.all("call"):
        by = _entering(session, row.role) if row.role else _telling(session, row)
        _wrap(session, Target.parse(row.what), by)
    _watch_ray(session)


def _telling(session: Session, row: ProcessRow) -> Any:
    """Note which patches have no process once something else runs in place of their targets."""

    def tell(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        for name in row.leaves_out(session.selected()):
            session.journal.write("left-without", name=name, reason=row.why)
        return wrapped(*args, **kwargs)

    return tell


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
    """Have a Ray worker process enter the role of its actor's class; a process for tasks is a main.

    The role is entered before Ray unpickles the class, so that the class refers to what is patched.
    The name tells whether a class is vLLM's; a user's class means a main process. A class that
    derives from one of vLLM's is known after unpickling. Methods are looked up later, like tasks.
    """

    def load(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        if session.roles:
            return wrapped(*args, **kwargs)
        given = (*args, *kwargs.values())  # with the descriptor of the actor's class
        named = [f"{getattr(v, 'module_name', '')}:{getattr(v, 'class_name', '')}" for v in given]
        roles = (_role(session.processes.known("actor", name)) for name in named)
        expected = next(filter(None, roles), Role.MAIN)
        session.enter(expected)
        cls = wrapped(*args, **kwargs)
        role = _role(session.processes.of_actor(cls))
        if role not in {None, expected} and session.roles == {expected}:
            session.become((role,))
        return cls

    def load_task(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        if not session.roles:
            session.enter(Role.MAIN)
        return wrapped(*args, **kwargs)

    _wrap(session, _LOAD_ACTOR, load)
    _wrap(session, _LOAD_TASK, load_task)


def watch_compilers(session: Session) -> None:
    """Have torch.compile tell which code it inlines, and which artefacts it loads instead."""
    effects = session.lookout.effects

    def trace(wrapped: Any, context: Any, args: Any, kwargs: Any) -> Any:
        wrapped(*args, **kwargs)
        effects.compilers.begins(context)

    def load(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        artefact = wrapped(*args, **kwargs)
        effects.compilers.loads(artefact)
        return artefact

    if session.journal.directory is not None:
        _wrap(session, _TRACE, trace)
        _wrap(session, _LOAD, load)


def watch_children(session: Session) -> None:
    """Hook the functions that start a child, and the one with which a child begins."""
    starting = threading.local()

    def start(wrapped: Any, process: Any, args: Any, kwargs: Any) -> Any:
        starting.role = role = _role(session.processes.of_process(process))
        try:
            result = wrapped(*args, **kwargs)
        finally:
            starting.role = None
        session.journal.write(
            "child", child=process.pid, name=process.name, role=role and str(role)
        )
        return result

    def prepare(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        data = wrapped(*args, **kwargs)
        named = session.processes.beginning("name", str(data.get("name", "")))
        role = getattr(starting, "role", None) or _role(named)
        data["patchkit"] = Carrier(role, data.get("sys_path"))
        return data

    def bootstrap(wrapped: Any, process: Any, args: Any, kwargs: Any) -> Any:
        return _begin(session, process) or session.lookout.exit_code(wrapped(*args, **kwargs))

    for library in LIBRARIES:
        _wrap(session, Target.parse(f"{library}.process:BaseProcess.start"), start)
        _wrap(session, Target.parse(f"{library}.process:BaseProcess._bootstrap"), bootstrap)
        _wrap(session, Target.parse(f"{library}.spawn:get_preparation_data"), prepare)
    _wrap(session, _ASK_HELPER, _ask)

    def loaded(*_: Any) -> None:
        for process in running_here():
            _tell_unknown(session, process)

    session.hooks.setdefault("vllm", []).append(loaded)


def _role(row: ProcessRow | None) -> Role | None:
    return row.role if row is not None else None


def _tell_unknown(session: Session, process: Any) -> None:
    """Note that a child, which has vLLM loaded, is in no row of those that are known."""
    is_child = type(process).__name__ != "_MainProcess"
    if is_child and session.processes.of_process(process) is None:
        session.journal.write("unknown", target=target_of(process))


def _ask(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    function, *rest = args
    carrying = partial(function)
    carrying.patchkit = Carrier(Role.MAIN, list(sys.path))  # type: ignore[attr-defined]
    return wrapped(carrying, *rest, **kwargs)


def _begin(session: Session, process: Any) -> int:
    """Take on the role of a child process; return exit code 1 where a required patch failed."""
    role = _role(session.processes.of_process(process))
    if "vllm" in sys.modules:
        _tell_unknown(session, process)
    try:
        if role is not None and session.roles != {role}:
            session.become((role,))
        elif not session.roles:
            session.enter(Role.MAIN)
    except PatchkitError:
        from traceback import print_exc  # noqa: PLC0415 - no start pays for it

        print_exc()
        session.lookout.end_as_told()  # from Python 3.13 on, a forked child has its `atexit` too
        return 1
    return 0
