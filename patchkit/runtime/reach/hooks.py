"""Wraps the functions by which a process enters a role, or starts another process.

Children of `multiprocessing`, and of `multiprocess`, get patchkit and their role. A spawned child
unpickles its preparation data first, to which patchkit adds an object that arms the child. A forked
child has inherited the session, and only enters its roles. An engine may start a helper with
`subprocess`, as vLLM's model registry does; the function that it unpickles and calls arms it.

A wrapper is called as `wrapper(wrapped, instance, args, kwargs)`, as that of a `Wrap` is.
"""

import sys
import threading
from collections.abc import Collection, Iterable
from functools import partial
from operator import attrgetter
from types import MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from patchkit.core.rows.declaration import Role, names_of
from patchkit.core.rows.processes import (
    LIBRARIES,
    ProcessRow,
    function_run_by,
    target_of,
)
from patchkit.core.rows.target import Target
from patchkit.errors import PatchkitError, TargetError
from patchkit.runtime.process.roles import is_child, rank_given, running_here
from patchkit.runtime.process.session import Session

if TYPE_CHECKING:
    from patchkit.runtime.changes.sites import Sites

_LOAD_ACTOR = Target.parse(
    "ray._private.function_manager:FunctionActorManager.load_actor_class"
)
_LOAD_TASK = Target.parse(
    "ray._private.function_manager:FunctionActorManager.get_execution_info"
)
_TRACE = Target.parse("torch._guards:TracingContext.__init__")
_LOAD = Target.parse("torch._dynamo.aot_compile:AOTCompiledFunction.deserialize")


def _wrap(session: Session, target: Target, wrapper: Any) -> None:
    """Wrap a target as soon as its module has been imported."""
    session.hooks.setdefault(target.module, []).append(
        partial(_wrap_in, target, wrapper)
    )


def _wrap_in(target: Target, wrapper: Any, module: ModuleType, sites: "Sites") -> None:
    """Wrap a target in its module, which has been imported; do nothing if it is not there."""
    from patchkit.runtime.changes.context import Context  # noqa: PLC0415 - no arming wraps
    from patchkit.runtime.changes.objects.wrap import wrapped_at  # noqa: PLC0415 - brings inspect
    from patchkit.runtime.changes.owners import locate  # noqa: PLC0415 - as above

    try:
        location = locate(module, target.qualname)
        # (A module as the owner has no `__module__`, so that its functions are wrapped.)
        if getattr(location.owner, "__module__", target.module) != target.module:
            return  # the class was imported from another module, where it is wrapped
        # With this rank, the wrappers of patches lie around this one. No body is needed, as the
        # wrapper is given: the module is passed again.
        context = Context(module, module, sites, rank=(-1, 0))
        layers = wrapped_at([location], wrapper, context, str(target))
    except TargetError:
        return
    layers.apply()


def watch_entries(session: Session) -> None:
    """Enter a role when a function of a row `call` is called, or when Ray loads an actor or task.

    Args:
        session: The session of this process.
    """
    for row in session.processes.all("call"):
        # A call without a role starts a process that needs none.
        wrapper = (
            _entering(session, row.roles) if row.roles else _reporting(session, row)
        )
        _wrap(session, Target.parse(row.what), wrapper)
    _watch_ray(session)


def _reporting(session: Session, row: ProcessRow) -> Any:
    """Return a wrapper that writes to the journal which patches lose their targets by the call.

    The call starts the process of the row, which runs in place of the Python code with those
    targets: vLLM's frontend in Rust, in place of the server in Python.
    """

    def report(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        for name in row.leaves_out(session.selected()):
            session.journal.write("left-without", name=name, reason=row.why)
        return wrapped(*args, **kwargs)

    return report


def _entering(session: Session, roles: Collection[Role]) -> Any:
    """Return a wrapper of what begins a process's work: it enters roles, and checks the patches.

    The engine's configuration carries the digest of the process that made it, and every process
    that is given the configuration must have the same patches. For the main process, the wrapped
    function either makes the configuration, or is given it before other processes are started.
    """

    def enter(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        """Enter the roles, compare digests (an AgreementError if they differ), and begin."""
        for role in sorted(roles):
            session.enter(role)
        if Role.WORKER in roles:
            _write_rank(session, rank_given(wrapped, instance, args, kwargs))
        session.exchange_digests(roles, [*args, *kwargs.values()])
        result = wrapped(*args, **kwargs)
        if Role.MAIN in roles:
            session.exchange_digests(roles, [result])
        return result

    return enter


def _write_rank(session: Session, rank: int | None) -> None:
    """Write a worker's rank to the journal, if it is known."""
    if rank is not None:
        session.journal.write("rank", rank=rank)


def _load_class(
    session: Session, load: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Unpickle the class of an actor, in the roles that its name tells."""
    if session.roles:
        return load(*args, **kwargs)
    expected = _expected_roles(session, (*args, *kwargs.values()))
    for role in sorted(expected):
        session.enter(role)
    cls = load(*args, **kwargs)
    roles = _roles(session.processes.of_actor(cls))
    # Unpickling the class may have made the process enter a further role: then it keeps its roles.
    has_entered_more = session.roles != expected
    if roles and roles != expected and not has_entered_more:
        # A class that derives from an engine's: its name did not tell. It is early enough, as Ray
        # looks up the methods of the class later still.
        session.become(roles)
    return cls


def _watch_ray(session: Session) -> None:
    """Have a Ray worker process enter the role of its actor's class; for tasks, the role of main.

    The role is entered before Ray unpickles the class, so that the class refers to patched objects.
    Until then only its name is known: an engine's class is recognized by it, and any other is
    taken for a user's class in a main process.
    """

    def load(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        return _load_class(session, wrapped, args, kwargs)

    def load_task(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        if not session.roles:
            session.enter(Role.MAIN)
        return wrapped(*args, **kwargs)

    _wrap(session, _LOAD_ACTOR, load)
    _wrap(session, _LOAD_TASK, load_task)


def _expected_roles(session: Session, arguments: Iterable[Any]) -> frozenset[Role]:
    """Return the roles of an actor's class by its name, which is in Ray's descriptor of it.

    Args:
        session: The session of this process.
        arguments: The arguments of Ray's function, one of which is the descriptor.

    Returns:
        The roles of the row with that name; main for a class without a row, a user's own.
    """
    for argument in arguments:
        module = getattr(argument, "module_name", "")
        name = getattr(argument, "class_name", "")
        roles = _roles(session.processes.known("actor", f"{module}:{name}"))
        if roles:
            return roles
    return frozenset({Role.MAIN})


def watch_compilers(session: Session) -> None:
    """Find out which code torch.compile inlines, and which compiled artefacts it loads instead.

    A patched function that is inlined is in effect, though it is never called.

    Args:
        session: The session of this process.
    """
    effects = session.lookout.effects

    def trace(wrapped: Any, context: Any, args: Any, kwargs: Any) -> Any:
        wrapped(*args, **kwargs)  # the `__init__` of the context
        effects.compilers.begins(context)

    def load(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        artefact = wrapped(*args, **kwargs)
        effects.compilers.loads(artefact)
        return artefact

    if session.journal.directory is not None:  # else there is nobody to tell
        _wrap(session, _TRACE, trace)
        _wrap(session, _LOAD, load)


def watch_children(session: Session) -> None:
    """Watch the children of `multiprocessing`, in parent and child, and report unrecognized ones.

    Args:
        session: The session of this process.
    """
    _watch_starts(session)
    _watch_beginnings(session)

    def report_unknown(*_: Any) -> None:
        """Report a child that imports an engine; before that, it may have been anybody's."""
        for process in running_here():
            _report_if_unknown(session, process)

    for engine in session.engines:
        session.hooks.setdefault(engine.package, []).append(report_unknown)


def _watch_starts(session: Session) -> None:
    """Have the parent write each child to the journal, and send a spawned one its roles.

    An engine's helper process is sent its role, too; it is a plain subprocess.
    """
    # `start` calls `get_preparation_data`, which makes the data for a spawned child, and gets only
    # the child's name. So the wrapper of `start` passes the roles on in a variable of the thread.
    starting = threading.local()

    def start(wrapped: Any, process: Any, args: Any, kwargs: Any) -> Any:
        """Start a child, and write it to the journal."""
        roles = _roles(session.processes.of_process(process))
        starting.roles = roles
        try:
            result = wrapped(*args, **kwargs)
        finally:
            starting.roles = None
        session.journal.write(
            "child",
            child=process.pid,
            name=process.name,
            role=names_of(roles) or None,
        )
        return result

    def prepare(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        """Add an object that arms the child to what it unpickles first."""
        data = wrapped(*args, **kwargs)
        roles = getattr(starting, "roles", None)
        # Other code may start a child without `start`; then only the name is known.
        if not roles:
            name = str(data.get("name", ""))
            roles = _roles(session.processes.by_prefix("name", name))
        from patchkit.runtime.reach.carrier import Carrier  # noqa: PLC0415 - few spawn a child

        # The child unpickles the Carrier before it has set `sys.path`, so the path comes along.
        data["patchkit"] = Carrier(names_of(roles), data.get("sys_path"))
        return data

    for library in LIBRARIES:
        _wrap(session, Target.parse(f"{library}.process:BaseProcess.start"), start)
        _wrap(session, Target.parse(f"{library}.spawn:get_preparation_data"), prepare)
    for engine in session.engines:
        if engine.helper:
            _wrap(session, Target.parse(engine.helper), _arm_helper)


def _watch_beginnings(session: Session) -> None:
    """Have a child enter its role before its function runs, or exit with an error."""

    def bootstrap(wrapped: Any, process: Any, args: Any, kwargs: Any) -> Any:
        exit_code = _begin(session, process)
        if exit_code:
            return exit_code
        # The child's own exit code, unless a required patch has failed meanwhile.
        return session.lookout.exit_code(wrapped(*args, **kwargs))

    for library in LIBRARIES:
        _wrap(
            session,
            Target.parse(f"{library}.process:BaseProcess._bootstrap"),
            bootstrap,
        )


def _roles(row: ProcessRow | None) -> frozenset[Role]:
    """Return the roles of a row; none if there is no row, or its process has no role."""
    if row is None:
        return frozenset()
    return row.roles


def _report_if_unknown(session: Session, process: Any) -> None:
    """Write it to the journal if no row recognizes a child process that has loaded an engine."""
    if is_child(process) and session.processes.of_process(process) is None:
        loaded = [
            engine.name for engine in session.engines if engine.package in sys.modules
        ]
        session.journal.write(
            "unknown", target=target_of(process), engine=" and ".join(loaded)
        )


def _arm_helper(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    """Wrap an engine's `helper`, so that the process that it starts is armed.

    The helper process unpickles the function that it is to run. It gets a partial in its place: a
    partial is pickled with its attributes, one of which arms the process. vLLM's helper inspects a
    model class for the process that asks, which is one of main.
    """
    from inspect import signature  # noqa: PLC0415 - few start a helper

    from patchkit.runtime.reach.carrier import Carrier  # noqa: PLC0415 - as above

    # The function may be passed by keyword, under the name of the first parameter.
    bound = signature(wrapped).bind(*args, **kwargs)
    first = next(iter(bound.arguments))
    carrying = partial(bound.arguments[first])
    carrying.patchkit = Carrier(str(Role.MAIN), list(sys.path))  # type: ignore[attr-defined]
    bound.arguments[first] = carrying
    return wrapped(*bound.args, **bound.kwargs)


def _begin(session: Session, process: Any) -> int:
    """Enter the role of a child process that has just begun, and patch the function that it runs.

    Args:
        session: The session of this process.
        process: The `multiprocessing` process.

    Returns:
        0, or an exit code if the process must not run.
    """
    roles = _roles(session.processes.of_process(process))
    given = function_run_by(process)
    # Asked before this process puts other patches there. (True also for a process without a
    # function, where both are None.)
    is_under_its_name = _under_its_name(given) == given
    if any(engine.package in sys.modules for engine in session.engines):
        _report_if_unknown(session, process)
    try:
        if roles and session.roles != roles:
            session.become(roles)
        elif not session.roles:
            session.enter(Role.MAIN)
        # A forked child was given the function that its parent found under the name, with patches
        # of the parent. It is to run what its own patches have put under that name. (A function
        # that was not found by its name, such as a nested one, is run as it is.)
        if is_under_its_name:
            function = _under_its_name(given)
            if function is None and given is not None:
                raise TargetError(
                    f"the process is to run {given.__module__}.{given.__qualname__}, which a "
                    "patch for another role had put there"
                )
            process._target = _in_same_partials(process._target, function)  # noqa: SLF001
    except PatchkitError:
        from traceback import print_exc  # noqa: PLC0415 - no start pays for it

        print_exc()
        session.lookout.leave_exit_code()  # since Python 3.13, a forked child has its `atexit` too
        return 1
    return 0


def _in_same_partials(target: Any, function: Any) -> Any:
    """Return partials like those of `target`, around `function`; without any, `function` itself.

    A child may be given its function as `partial(partial(f, 1), 2)`; only `f` is to be replaced.
    """
    if not isinstance(target, partial):
        return function
    inner = _in_same_partials(target.func, function)
    return partial(inner, *target.args, **target.keywords)


def _under_its_name(function: Any) -> Any:
    """Return what a function's module, or a method's object, has under its name; None if none."""
    try:
        if isinstance(function, MethodType):
            return getattr(function.__self__, function.__name__)
        return attrgetter(function.__qualname__)(sys.modules[function.__module__])
    except (AttributeError, KeyError):
        return None
