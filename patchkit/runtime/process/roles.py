"""Tells which role a process has when patchkit arrives in it, and which process asked for it.

How processes are known is in `patchkit.core.rows.processes`.
"""

import functools
import os
import sys
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from patchkit.core.rows.declaration import Role
from patchkit.core.rows.processes import LIBRARIES, ProcessTable
from patchkit.errors import SettingsError

_HELPERS = ("vllm.model_executor.models.registry",)
"""
Modules that vLLM runs with `python -m` only to unpickle a function there and to call it. That
function, and all that it uses, comes from the module under its own name.
"""

ROLE_VARIABLE = "PATCHKIT_ROLE"
"""Tells a Ray worker process its role before it has loaded anything; consumed on arrival."""

PARENT_VARIABLE = "PATCHKIT_PARENT"
"""Tells a Ray worker process who asked for it, `host:pid`; its parent is the raylet."""

TESTS_VARIABLE = "PATCHKIT_TESTS"
"""Set while pytest runs with patchkit's plugin: tests say which patches apply."""

# How processes are started that are part of the one that starts them, beside spawned children.
_PARTS = ("multiprocessing.forkserver", *_HELPERS)
_TRACKER = "from multiprocessing.resource_tracker import main;"


def is_ray_worker() -> bool:
    """Whether Ray's raylet started this process."""
    # `sys.argv` is not there yet while `site` runs.
    return any(argument.endswith("default_worker.py") for argument in sys.orig_argv)


def is_spawned_child() -> bool:
    """Whether `multiprocessing` started this process with a new interpreter."""
    return "--multiprocessing-fork" in sys.orig_argv


def _is_told_by_parent() -> bool:
    """Whether a parent may tell the role; what other libraries start with this flag has nobody."""
    if not is_spawned_child():
        return False
    programs = [
        argument for argument in sys.orig_argv if " import spawn_main" in argument
    ]
    if not programs:
        return True
    starts = [f"from {library}.spawn import" for library in LIBRARIES]
    return any(start in program for program in programs for start in starts)


def role_of_actor(cls: type) -> Role | None:
    """Tell the role of a Ray actor by its class.

    Args:
        cls: The class of the actor, which has been unpickled.

    Returns:
        The role; None where no pack's row knows the class or a base of it.
    """
    row = _known_processes().of_actor(cls)
    if row is None:
        return None
    return row.role


@functools.cache
def _known_processes() -> ProcessTable:
    from patchkit.registry import installed_processes  # noqa: PLC0415 - most processes make none

    return ProcessTable(installed_processes())


def running_here() -> list[Any]:
    """List what this process is to the libraries that start child processes.

    Returns:
        The `current_process()` of each library that has been imported.
    """
    modules = [sys.modules.get(f"{library}.process") for library in LIBRARIES]
    return [module.current_process() for module in modules if module is not None]


def initial_roles(
    environ: MutableMapping[str, str], table: ProcessTable
) -> frozenset[Role]:
    """Tell the roles that a process has when patchkit arrives in it.

    A Ray worker process learns its role from its actor's class, unless whoever asked for the actor
    has told it, and a spawned child from its parent, or when it begins.

    Args:
        environ: The environment; loses `PATCHKIT_ROLE` where that is meant for this process.
        table: The rows of all packs that say how processes are known.

    Returns:
        The role, `main` where nothing tells another; none where it is yet to come.

    Raises:
        SettingsError: `PATCHKIT_ROLE` names no role.
    """
    if is_ray_worker():
        return _take_role(environ)
    processes = running_here()
    role = _role_by_row(processes, table)
    if role is not None:
        return frozenset({role})
    has_begun = any(type(process).__name__ != "_MainProcess" for process in processes)
    if _is_told_by_parent() and not has_begun:
        return frozenset()
    return frozenset({Role.MAIN})


def _take_role(environ: MutableMapping[str, str]) -> frozenset[Role]:
    """Take the role of a Ray worker process out of its environment; none if nobody has told it."""
    name = environ.pop(ROLE_VARIABLE, "")
    if not name:
        return frozenset()
    if name not in map(str, Role):
        roles = ", ".join(repr(str(role)) for role in Role)
        raise SettingsError(f"{ROLE_VARIABLE}: found {name!r}, expected one of {roles}")
    return frozenset({Role(name)})


def _role_by_row(processes: Iterable[Any], table: ProcessTable) -> Role | None:
    """Return the role of the first row that knows this process, by its object or its command."""
    for process in processes:
        row = table.of_process(process)
        if row is not None:
            return row.role
    row = table.of_command(sys.orig_argv)
    if row is None:
        return None
    return row.role


def beside_its_name(targets: Iterable[str], reason: str) -> tuple[str, str] | None:
    """Find the module that runs as `__main__`, and that others can import under its own name.

    Args:
        targets: The modules that patches change; only one of them is known by its file.
        reason: Why patches do not reach one that runs by `python -m`.

    Returns:
        Its own name, and why patches do not reach it; None where the process runs none, or one of
        vLLM's helpers.
    """
    module = sys.modules.get("__main__")
    if getattr(module, "__name__", "") != "__main__":
        return None
    spec = getattr(module, "__spec__", None)
    name = getattr(spec, "name", None)
    if name is None:
        name = _run_by_its_file(targets, getattr(module, "__file__", None))
        reason = "it was started by its file"
    if name is None or name in _HELPERS:
        return None
    return name, reason


def _run_by_its_file(targets: Iterable[str], file: str | None) -> str | None:
    """Return the target module whose file this process runs, as `python FILE` does."""
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
    """Return the arguments of this process; of `python -m`, `-m` and the module come first."""
    program = _program(sys.orig_argv)
    # Python sets `sys.argv` only after `site`, which may arm the process.
    argv = list(getattr(sys, "argv", None) or program)
    runs_module = program[:1] == ["-m"]
    if runs_module and argv[1:] == program[2:]:
        return program
    return argv


def _script(argv: Sequence[str]) -> str:
    """Return the file that a command line of Python runs; '' for `-m`, `-c` and none.

    Python sets `sys.argv` and the file of `__main__` only after `site`, which may arm the process.
    """
    program = _program(argv)
    if not program or program[0].startswith("-"):
        return ""
    return program[0]


def _program(argv: Sequence[str]) -> list[str]:
    """Return what a command line of Python runs, with its arguments, behind Python's own options.

    It begins with a file, or with `-m` or `-c` and what that is told to run.
    """
    words = list(argv[1:])
    while words and words[0].startswith("-") and words[0] != "-":
        option = words.pop(0)
        kind, value = _option(option)
        if kind in ("c", "m"):
            if not value and words:
                value = words.pop(0)
            return [f"-{kind}", value, *words]
        if kind and not value:
            del words[:1]
    return words


def _option(word: str) -> tuple[str, str]:
    """Return the option of Python that takes a value, and the value if it is in the same word."""
    if word.startswith("--"):
        if word == "--check-hash-based-pycs":
            return word, ""
        return "", ""
    for position, letter in enumerate(word):
        if letter in "cmWX":
            return letter, word[position + 1 :]
    return "", ""


def tests_decide(environ: Mapping[str, str]) -> bool:
    """Whether tests say which patches apply here, and nothing arms the process that nobody asks to.

    So it is in the process that runs them, in its forks, and in children that carry on its work:
    those of multiprocessing and Ray. A program that a test starts is on its own, and `PATCHKIT=1`
    asks to be armed.

    Args:
        environ: The environment of this process.
    """
    if TESTS_VARIABLE not in environ or environ.get("PATCHKIT", "").strip() == "1":
        return False
    return (
        "patchkit.pytest_plugin" in sys.modules
        or is_spawned_child()
        or is_ray_worker()
        or any(part in argument for argument in sys.orig_argv for part in _PARTS)
    )


def is_resource_tracker() -> bool:
    """Whether this process is what `multiprocessing` tidies up with; it runs no code of others."""
    return any(argument.startswith(_TRACKER) for argument in sys.orig_argv)


def this_process() -> str:
    """Name this process as `PATCHKIT_PARENT` does.

    Returns:
        Its node and its pid, as `host:pid`.
    """
    return f"{os.uname().nodename}:{os.getpid()}"


def asked_by(environ: Mapping[str, str]) -> str | None:
    """Name the process that asked Ray for this one.

    Args:
        environ: The environment of this process.

    Returns:
        The process as `host:pid`; None where Ray did not start this one, or nobody has told.
    """
    # The children of one inherit the variable, and have ordinary parents.
    if not is_ray_worker():
        return None
    return environ.get(PARENT_VARIABLE)


def rank_given(call: Any, instance: Any, args: Any, kwargs: Any) -> int | None:
    """Find a worker's rank among the arguments of its constructor, or those of `init_worker`.

    Args:
        call: The constructor, or `init_worker`, bound to the worker.
        instance: The worker; it has the index of its own arguments among those of all workers.
        args: The positional arguments of the call.
        kwargs: The keyword arguments of the call.

    Returns:
        The rank; None where the call has none, as its signature is that of another release.
    """
    import inspect  # noqa: PLC0415 - 10 ms of a start, and vLLM imports it anyway

    try:
        arguments = inspect.signature(call).bind_partial(*args, **kwargs).arguments
        if "all_kwargs" in arguments:
            arguments = arguments["all_kwargs"][instance.rpc_rank]
        global_rank = arguments.get("global_rank")  # of a weight-cache daemon
        rank = arguments.get("rank", global_rank)
    except (TypeError, ValueError, LookupError, AttributeError):
        return (
            None  # another release's signature: the call itself will say what is wrong
        )
    if not isinstance(rank, int):
        return None
    return rank
