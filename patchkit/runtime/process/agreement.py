"""Stops an engine whose processes have different patches.

The main process writes the patches that it selects for each role into the engine's configuration,
which is passed to every engine core and worker. Each of them compares it with its own patches
before it does anything else. vLLM hashes that part of its configuration for its compile cache.
"""

import os
from collections.abc import Iterator
from typing import Any

from patchkit.core.rows.declaration import Role
from patchkit.errors import AgreementError
from patchkit.runtime.process.eligibility import EligibilityTable
from patchkit.runtime.process.patch_set import (
    PatchDigest,
    PatchSet,
    digest,
    in_order,
    own_version,
    patch_set,
)
from patchkit.runtime.process.patch_state import PatchStates

KEY = "patchkit"
"""The key of the configuration's dict for the patch sets and patchkit's version."""

_VERSION = "version"


def stamp(
    config: Any, attribute: str, states: PatchStates, table: EligibilityTable
) -> None:
    """Write into an engine's configuration which patches are for each role.

    Args:
        config: The engine's configuration, such as a `VllmConfig`.
        attribute: The attribute of it that holds a dict for that, which is made if it is missing.
        states: The patches of this process, with their journal.
        table: Decides which of them apply here.
    """
    extra = getattr(config, attribute, None)
    of_class = getattr(type(config), attribute, None)
    is_shared = isinstance(extra, dict) and extra is of_class  # by all configurations
    if extra is None or is_shared:
        extra = dict(extra or {})
        try:
            setattr(config, attribute, extra)
        except Exception as error:  # noqa: BLE001 - each library refuses in its own way
            # It is frozen, or it takes no more attributes.
            states.say("warning", f"the engine's configuration is not stamped: {error}")
            return
    if not isinstance(extra, dict):
        states.say("warning", f"the engine's {attribute} is no dict: not stamped")
        return
    patches = states.patches.values()
    sets = {role: patch_set(patches, table, role) for role in Role}
    stamped: dict[str, Any] = {_VERSION: own_version()}
    for role, digests in sets.items():
        stamped[str(role)] = {name: dict(vars(each)) for name, each in digests.items()}
    extra[KEY] = stamped
    of_main = digest(sets[Role.MAIN])
    states.journal.write("digest", role=str(Role.MAIN), digest=of_main)


def is_stamped(config: Any, attribute: str) -> bool:
    """Whether a main process has written its patch sets into an engine's configuration.

    Args:
        config: The engine's configuration.
        attribute: The attribute of it that holds them.
    """
    extra = getattr(config, attribute, None)
    return isinstance(extra, dict) and KEY in extra


def agree(
    role: Role,
    config: Any,
    attribute: str,
    states: PatchStates,
    table: EligibilityTable,
) -> None:
    """Compare the patches for a role with those that the main process selects.

    Args:
        role: The role that this process enters.
        config: The engine's configuration, which the main process has stamped.
        attribute: The attribute of it that holds the stamp.
        states: The patches of this process, with their journal.
        table: Decides which of them apply here.

    Raises:
        AgreementError: The patches differ; with `PATCHKIT_ON_FAILURE=warn` that is a warning.
    """
    ours = patch_set(states.patches.values(), table, role)
    states.journal.write("digest", role=str(role), digest=digest(ours))
    try:
        theirs = _read_stamp(config, attribute, role)
        _refuse_differences(role, theirs, ours, states)
    except AgreementError as error:
        reason = str(error)
        states.journal.write("disagreement", role=str(role), reason=reason)
        if states.settings.on_failure == "stop":
            raise
        states.say("warning", reason)


def _refuse_differences(
    role: Role, theirs: PatchSet | None, ours: PatchSet, states: PatchStates
) -> None:
    """Raise AgreementError if the main process has other patches for a role than this one."""
    if theirs is None:
        return  # the main process has no patchkit, and stamps nothing
    differences = list(_differences(theirs, ours))
    if differences:
        told = "; ".join(differences)
        raise AgreementError(
            f"the {role} process {_process_name()} has other patches "
            f"than the engine: {told}. The main process selects "
            f"{_listed(theirs)} for {role}; here it is {_listed(ours)}. Install the same packs and "
            "versions on every node, and set the same PATCHKIT_* variables."
            f"{_last_change(theirs, ours, states)}"
        )


def _last_change(theirs: PatchSet, ours: PatchSet, states: PatchStates) -> str:
    """Say which file here was changed last, of the packs whose code differs; "" if none does."""
    from patchkit.runtime.process.last_change import last_change  # noqa: PLC0415 - for an error

    names = {*_unlike("code", theirs, ours), *_unlike("pack", theirs, ours)}
    return last_change({states.patches[name].row.pack for name in names})


def _process_name() -> str:
    pid = os.getpid()
    node = os.uname().nodename
    return f"{pid} on node {node}"


def _read_stamp(config: Any, attribute: str, role: Role) -> PatchSet | None:
    """Return the patch set that `stamp` wrote for a role; None if there is none.

    Raises:
        AgreementError: Another version of patchkit wrote it.
    """
    extra = getattr(config, attribute, None)
    if not isinstance(extra, dict):
        return None
    sets = extra.get(KEY)
    if not isinstance(sets, dict):
        return None
    version = sets.get(_VERSION)
    here = own_version()
    if version != here:
        theirs = version or "an earlier one"
        raise AgreementError(
            f"the {role} process {_process_name()} runs patchkit "
            f"{here}, and the main process {theirs}. Install the same "
            "patchkit on every node."
        )
    patches = sets.get(str(role), {})
    return {name: PatchDigest(**fields) for name, fields in patches.items()}


def _differences(theirs: PatchSet, ours: PatchSet) -> Iterator[str]:
    """Yield how two patch sets differ: in their patches, the code of these, and their order."""
    for name in _only_in(theirs, ours):
        yield f"{name} only in the main process"
    for name in _only_in(ours, theirs):
        yield f"{name} only here"
    common = [name for name in in_order(theirs) if name in ours]
    other_code = _unlike("code", theirs, ours)
    for name in other_code:
        yield f"{name} has other code here"
    if not other_code:  # else that explains why the packs differ
        for name in _unlike("pack", theirs, ours):
            yield f"{name} has another module in its pack here"
    common_here = [name for name in in_order(ours) if name in theirs]
    if common != common_here:
        order_here = ", ".join(common_here)
        order_there = ", ".join(common)
        yield f"they apply in the order {order_here} here, not {order_there}"


def _unlike(field: str, theirs: PatchSet, ours: PatchSet) -> list[str]:
    """Name the patches of both sets that differ in a field."""
    return [
        name
        for name in in_order(theirs)
        if name in ours and getattr(theirs[name], field) != getattr(ours[name], field)
    ]


def _only_in(patches: PatchSet, others: PatchSet) -> list[str]:
    """Name the patches that another set lacks, except those that their `when` may yet skip."""
    missing = [name for name in in_order(patches) if name not in others]
    return [name for name in missing if not patches[name].is_open]


def _listed(patches: PatchSet) -> str:
    return ", ".join(in_order(patches)) or "nothing"
