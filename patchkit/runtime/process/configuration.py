"""Finds an engine's configuration among arguments, and exchanges the digests of patches by it."""

from collections.abc import Collection, Iterable
from typing import Any

from patchkit.core.engines.engine import Engine
from patchkit.core.rows.declaration import Role
from patchkit.core.rows.processes import ProcessTable
from patchkit.runtime.process.agreement import agree, is_stamped, stamp
from patchkit.runtime.process.eligibility import EligibilityTable
from patchkit.runtime.process.patch_state import PatchStates
from patchkit.runtime.process.roles import is_child, running_here


def exchange(
    roles: Collection[Role],
    values: Iterable[Any],
    engines: Iterable[Engine],
    processes: ProcessTable,
    states: PatchStates,
    table: EligibilityTable,
) -> bool:
    """Compare the patches of this process with those that a configuration carries, or put them in.

    Args:
        roles: The roles that this process has just entered.
        values: Arguments or the result of a function; nothing is done if none of them is, or holds,
            a configuration.
        engines: The engines whose configurations are known.
        processes: The rows by which processes of engines are recognized.
        states: The patches of this process, with their journal.
        table: Decides which of them apply here.

    Returns:
        Whether they were put in, as this is the process that starts the others.

    Raises:
        AgreementError: The patches differ; with `PATCHKIT_ON_FAILURE=warn` that is a warning.
    """
    config, attribute = _configuration(values, engines)
    if config is None:
        return False
    # A main process that an engine has started, such as one that turns tokens into text, is given
    # the configuration with the digest. Any other main process puts its own in, also in place of an
    # earlier one: the same configuration may serve for two engines in turn, and a user's own child
    # may make an engine of what its parent has used.
    was_given = is_stamped(config, attribute) and _is_started_by_engine(processes)
    if Role.MAIN in roles and not was_given:
        stamp(config, attribute, states, table)
        return True
    for role in sorted(roles):
        agree(role, config, attribute, states, table)
    return False


def _is_started_by_engine(processes: ProcessTable) -> bool:
    """Whether this is a child process, and one that a row recognizes."""
    for process in running_here():
        if is_child(process) and processes.of_process(process) is not None:
            return True
    return False


def _configuration(values: Iterable[Any], engines: Iterable[Engine]) -> tuple[Any, str]:
    """Find an engine's configuration in the arguments or the result of a call.

    It is known by an attribute that only the configuration has. Lists and dicts are searched, too:
    vLLM's `init_worker` has it in a list of dicts.

    Returns:
        The configuration, and the attribute in which the digest travels; None and '' if there is
        no configuration.
    """
    pending = list(values)
    seen: set[int] = set()  # ids, as a list may hold itself
    while pending:
        value = pending.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        for engine in engines:
            if engine.configuration and _has(value, engine.configuration):
                return value, engine.digest_in
        if isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, (list, tuple)):
            pending += value
    return None, ""


def _has(value: Any, attribute: str) -> bool:
    """Whether an object has an attribute; False where a property of that name fails."""
    try:
        return hasattr(value, attribute)
    except Exception:  # noqa: BLE001 - code of the engine
        return False
