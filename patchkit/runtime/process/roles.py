"""Finds out which role a process has when patchkit starts in it, and which process asked for it.

The rows by which processes are recognized are in `patchkit.core.rows.processes`.
"""

import functools
import os
import sys
from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from patchkit.core.rows.declaration import Role, names_of, roles_named
from patchkit.core.rows.processes import LIBRARIES, ProcessTable, program_of
from patchkit.errors import SettingsError

ROLE_VARIABLE = "PATCHKIT_ROLE"
"""Names the roles of a Ray worker process; patchkit removes it from the environment there."""

PARENT_VARIABLE = "PATCHKIT_PARENT"
"""Names the process that asked for a Ray worker, `host:pid`; its parent is the raylet."""

TESTS_VARIABLE = "PATCHKIT_TESTS"
"""Set while pytest runs with patchkit's plugin: tests choose which patches apply."""

_FORK_SERVER = "multiprocessing.forkserver"
_TRACKER = "from multiprocessing.resource_tracker import main;"


def is_ray_worker() -> bool:
    """Whether Ray's raylet started this process."""
    # `sys.argv` is not there yet while `site` runs.
    return any(argument.endswith("default_worker.py") for argument in sys.orig_argv)


def is_spawned_child() -> bool:
    """Whether `multiprocessing` started this process with a new interpreter."""
    return "--multiprocessing-fork" in sys.orig_argv


def _may_have_role_from_parent() -> bool:
    """Whether a `multiprocessing` library started this process, whose parent may set its role.

    Other libraries use the same flag `--multiprocessing-fork`, and run another program.
    """
    if not is_spawned_child():
        return False
    programs = [
        argument for argument in sys.orig_argv if " import spawn_main" in argument
    ]
    if not programs:  # a frozen executable, whose children have no such argument
        return True
    starts = [f"from {library}.spawn import" for library in LIBRARIES]
    return any(start in program for program in programs for start in starts)


def role_of_actor(cls: type) -> str | None:
    """Return the role of a Ray actor by its class.

    Args:
        cls: The class of the actor.

    Returns:
        The role, or several as `names_of` writes them; None if no row of a pack names the class or
        a base of it, or the row has no role.
    """
    row = _process_table().of_actor(cls)
    if row is None:
        return None
    return names_of(row.roles) or None


@functools.cache
def _process_table() -> ProcessTable:
    from patchkit.core.engines.entry_points import installed_processes  # noqa: PLC0415 - most processes make none

    return ProcessTable(installed_processes())


def running_here() -> list[Any]:
    """Return this process as the libraries that start child processes represent it.

    Returns:
        The `current_process()` of each library that has been imported.
    """
    modules = [sys.modules.get(f"{library}.process") for library in LIBRARIES]
    return [module.current_process() for module in modules if module is not None]


def is_child(process: Any) -> bool:
    """Whether a library that starts child processes has started the process that it represents.

    Args:
        process: What `running_here` returns.
    """
    return type(process).__name__ != "_MainProcess"


def initial_roles(
    environ: MutableMapping[str, str], table: ProcessTable
) -> frozenset[Role]:
    """Return the roles that a process has when patchkit starts in it.

    The role of a Ray worker process is in its environment, or follows later from its actor's class;
    a spawned child gets it from its parent, or when its target function begins.

    Args:
        environ: The environment; `PATCHKIT_ROLE` is removed if it is meant for this process.
        table: The rows of all packs by which processes are recognized.

    Returns:
        The role, `main` if nothing indicates another; an empty set if it is not known yet.

    Raises:
        SettingsError: `PATCHKIT_ROLE` names no role.
    """
    if is_ray_worker():
        return _take_role(environ)
    processes = running_here()
    roles = _roles_by_row(processes, table)
    if roles:
        return roles
    # A spawned child has a `_MainProcess`, too, until its target function begins.
    has_begun = any(map(is_child, processes))
    if _may_have_role_from_parent() and not has_begun:
        return frozenset()
    return frozenset({Role.MAIN})


def _take_role(environ: MutableMapping[str, str]) -> frozenset[Role]:
    """Remove the role of a Ray worker process from its environment; an empty set if it has none.

    Raises:
        SettingsError: The variable names something that is no role.
    """
    names = environ.pop(ROLE_VARIABLE, "")
    try:
        return roles_named(names)
    except ValueError:
        roles = ", ".join(repr(str(role)) for role in Role)
        raise SettingsError(
            f"{ROLE_VARIABLE}: found {names!r}, expected one of {roles}"
        ) from None


def _roles_by_row(processes: Iterable[Any], table: ProcessTable) -> frozenset[Role]:
    """Return the roles of the first row that matches this process, or its command line; or none."""
    for process in processes:
        row = table.of_process(process)
        if row is not None:
            return row.roles
    row = table.of_command(sys.orig_argv)
    if row is None:
        return frozenset()
    return row.roles


def module_run_as_main(
    targets: Iterable[str], helpers: Collection[str], reason: str
) -> tuple[str, str] | None:
    """Find the module that runs as `__main__`, which patches of its own name do not reach.

    `python -m vllm.entrypoints.cli` executes that module under the name `__main__`.

    Args:
        targets: The modules that patches change; of `python FILE`, only these are recognized.
        helpers: Modules that an engine runs with `python -m` only to unpickle and call a function
            there. The function itself comes from the module under its own name.
        reason: Why patches do not reach a module that was run with `python -m`.

    Returns:
        The module's own name, and why patches do not reach it; None if this process runs no such
        module, or a helper.
    """
    module = sys.modules.get("__main__")
    # `supplied_modules.run` has put the module under its own name there, where patches reach it.
    if getattr(module, "__name__", "") != "__main__":
        return None
    spec = getattr(module, "__spec__", None)
    name = getattr(spec, "name", None)
    if name is None:
        name = _run_by_its_file(targets, getattr(module, "__file__", None))
        reason = "it was started by its file"
    if name is None or name in helpers:
        return None
    return name, reason


def _run_by_its_file(targets: Iterable[str], file: str | None) -> str | None:
    """Return the target whose file this process runs, as with `python FILE`; None for no target."""
    script = file or _script(sys.orig_argv)
    if not script.endswith(".py"):
        return None
    path = os.path.realpath(script)
    for target in targets:
        inner_path = f"/{target.replace('.', '/')}.py"
        if not path.endswith(inner_path):
            continue
        root = path.removesuffix(inner_path)
        if any(os.path.realpath(folder) == root for folder in sys.path):
            return target
    return None


def command_line() -> list[str]:
    """Return the arguments of this process; after `python -m M`, they begin with `-m` and `M`."""
    program = program_of(sys.orig_argv)
    # Python sets `sys.argv` only after `site`, which may arm the process.
    argv = list(getattr(sys, "argv", None) or program)
    runs_module = program[:1] == ["-m"]
    # `sys.argv` has the file of the module in place of `-m M`; other code may have changed it.
    if runs_module and argv[1:] == program[2:]:
        return program
    return argv


def _script(argv: Sequence[str]) -> str:
    """Return the file that a command line of Python runs; '' with `-m` or `-c`, or without one.

    Needed while `site` arms the process: only later, Python sets the file of `__main__`.
    """
    program = program_of(argv)
    if not program or program[0].startswith("-"):
        return ""
    return program[0]


def tests_decide(environ: Mapping[str, str]) -> bool:
    """Whether only tests choose the patches of this process, so that it is not armed by itself.

    That holds for the process that runs pytest, its forks, and children that carry on its work:
    those of multiprocessing and Ray. It does not hold for another program that a test starts, nor
    with `PATCHKIT=1`.

    Args:
        environ: The environment of this process.
    """
    if TESTS_VARIABLE not in environ or environ.get("PATCHKIT", "").strip() == "1":
        return False
    from patchkit.core.engines.entry_points import installed_engines  # noqa: PLC0415 - for tests only

    # In the command lines of children that only carry on the work of the process that starts them.
    helpers = [engine.helper_module for engine in installed_engines()]
    parts_of_parent = [_FORK_SERVER, *filter(None, helpers)]
    return (
        "patchkit.pytest_plugin" in sys.modules
        or is_spawned_child()
        or is_ray_worker()
        or any(
            part in argument for argument in sys.orig_argv for part in parts_of_parent
        )
    )


def is_resource_tracker() -> bool:
    """Whether this process is the resource tracker of `multiprocessing`: it runs no other code."""
    return any(argument.startswith(_TRACKER) for argument in sys.orig_argv)


def this_process() -> str:
    """Return the name of this process for `PATCHKIT_PARENT`.

    Returns:
        Its node and its pid, as `host:pid`.
    """
    return f"{os.uname().nodename}:{os.getpid()}"


def asked_by(environ: Mapping[str, str]) -> str | None:
    """Return the process that asked Ray for this one.

    Args:
        environ: The environment of this process.

    Returns:
        The process as `host:pid`; None if Ray did not start this one, or the variable is not set.
    """
    # Children of a Ray worker inherit the variable, but the worker itself started them.
    if not is_ray_worker():
        return None
    return environ.get(PARENT_VARIABLE)


def rank_given(call: Any, instance: Any, args: Any, kwargs: Any) -> int | None:
    """Find a worker's rank in the arguments of its constructor, or of `init_worker`.

    Args:
        call: The constructor, or `init_worker`, bound to the worker.
        instance: The worker; `rpc_rank` is its index in the `all_kwargs` of `init_worker`.
        args: The positional arguments of the call.
        kwargs: The keyword arguments of the call.

    Returns:
        The rank; None if the arguments have none, as in another release.
    """
    import inspect  # noqa: PLC0415 - 10 ms of a start, and vLLM imports it anyway

    try:
        arguments = inspect.signature(call).bind_partial(*args, **kwargs).arguments
        if "all_kwargs" in arguments:
            arguments = arguments["all_kwargs"][instance.rpc_rank]
        global_rank = arguments.get("global_rank")  # of a weight-cache daemon
        rank = arguments.get("rank", global_rank)
    except (TypeError, ValueError, LookupError, AttributeError):
        # Another release's signature: the call itself will say what is wrong.
        return None
    if not isinstance(rank, int):
        return None
    return rank
