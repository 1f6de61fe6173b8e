"""
The same patches in every process of an engine, or none starts.

The main process writes what it selects for each role into the engine's configuration. vLLM hashes
that part of the configuration for its compile cache, and hands it to every engine core and worker;
each compares it with its own before it does anything else.
"""

from __future__ import annotations

import hashlib
import os
import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from patchkit.errors import AgreementError
from patchkit.plan import FAILED, SKIPPED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from patchkit.declaration import Change, Role
    from patchkit.plan import State
    from patchkit.registry import Row
    from patchkit.selection import Selection

    PatchSet = Mapping[str, str]

KEY = "patchkit"
"""Where in `VllmConfig.additional_config` the patch sets are."""

_OPEN = "?"
"""Ends a fingerprint while nobody has asked the row's `when` in this process."""


def patch_set(states: Iterable[State], selection: Selection, role: Role) -> dict[str, str]:
    """
    Name the patches that are for a role here, with a fingerprint of row and body.

    Args:
        states: of all rows.
        selection: says which rows are for here.
        role: need not be one of this process's.

    """
    mine = [state for state in states if role in state.row.roles]
    chosen = [state for state in mine if _is_selected(state, selection)]
    return {state.row.name: fingerprint(state.row) + _open_mark(state) for state in chosen}


def digest(patches: PatchSet) -> str:
    """Hash a patch set: equal digests mean equal patch sets."""
    lines = sorted(f"{name} {mark.rstrip(_OPEN)}" for name, mark in patches.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def fingerprint(row: Row) -> str:
    """Hash what a row does: its changes, and the bytes of its body."""
    changes = [_words(change) for change in row.patch.changes]
    return hashlib.sha256("\n".join(changes).encode() + _body_bytes(row)).hexdigest()[:12]


def _words(change: Change) -> str:
    fields = ((name, value) for name, value in vars(change).items() if name != "rebind")
    kept = [f"{name}={sorted(v) if name == 'requires' else v!r}" for name, v in fields]
    return f"{change.kind} {' '.join(kept)}"


def stamp(config: Any, sets: Mapping[Role, PatchSet]) -> bool:
    """
    Write the patch sets into an engine's configuration.

    Returns:
        Whether the configuration has a place for them.

    """
    extra = getattr(config, "additional_config", None)
    if extra is None and hasattr(config, "additional_config"):
        extra = config.additional_config = {}
    if not isinstance(extra, dict):
        return False
    extra[KEY] = {str(role): dict(patches) for role, patches in sets.items()}
    return True


def stamped(config: Any, role: Role) -> PatchSet | None:
    """Read the patch set for a role back; None where no patchkit wrote one."""
    extra = getattr(config, "additional_config", None)
    sets = extra.get(KEY) if isinstance(extra, dict) else None
    return sets.get(str(role), {}) if isinstance(sets, dict) else None


def refuse_difference(theirs: PatchSet, ours: PatchSet, role: Role) -> None:
    """
    Compare the set that the main process selected with the one of this process.

    Raises:
        AgreementError: they differ; the message names both and this node.

    """
    differences = [
        *(f"{name} only in the main process" for name in theirs if _lacks(theirs, ours, name)),
        *(f"{name} only here" for name in ours if _lacks(ours, theirs, name)),
        *(f"{name} has other code here" for name in ours if _differs(theirs, ours, name)),
    ]
    if differences:
        raise AgreementError(
            f"the {role} process {os.getpid()} on node {os.uname().nodename} has other patches "
            f"than the engine: {'; '.join(differences)}. The main process selects "
            f"{_show(theirs)} for {role}; here it is {_show(ours)}. Install the same packs and "
            "versions on every node, and set the same PATCHKIT_* variables."
        )


def _lacks(one: PatchSet, other: PatchSet, name: str) -> bool:
    return name not in other and not one[name].endswith(_OPEN)


def _differs(theirs: PatchSet, ours: PatchSet, name: str) -> bool:
    return name in theirs and theirs[name].rstrip(_OPEN) != ours[name].rstrip(_OPEN)


def _show(patches: PatchSet) -> str:
    return ", ".join(sorted(patches)) or "nothing"


def _is_selected(state: State, selection: Selection) -> bool:
    if state.settled or state.status in {SKIPPED, FAILED}:
        return state.status not in {SKIPPED, FAILED}
    return selection.reason_to_skip(state.row) is None


def _open_mark(state: State) -> str:
    asked = state.row.patch.when is None or any(group.done for group in state.groups)
    return "" if asked else _OPEN


def _body_bytes(row: Row) -> bytes:
    pack = sys.modules.get(row.pack)
    spec = PathFinder.find_spec(row.body, list(getattr(pack, "__path__", ())))
    if spec is None or spec.origin is None:
        return b""
    try:
        return bytes(spec.loader.get_data(spec.origin))  # type: ignore[union-attr]
    except (OSError, AttributeError):
        return b""
