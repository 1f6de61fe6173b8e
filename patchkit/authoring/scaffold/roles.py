"""Proposes the roles of a new row, from the last probe or from a table of the engines' modules."""

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from patchkit.analysis.check.role_table import read_role_table, roles_named
from patchkit.core.rows.declaration import Role
from patchkit.core.rows.target import Target

_RAN = ("called", "traced")
_IMPORTED = ("imported",)
"""What a probe may have seen of a target: that it ran, or only that its module was imported.

The latter counts only where the table does not know the module.
"""


class ProposedRoles(NamedTuple):
    """Roles that a new row may have.

    Args:
        roles: The roles.
        source: Where they are known from, in words.
        is_called: Whether the targets were seen to be called there, not only to be imported.
    """

    roles: frozenset[Role]
    source: str
    is_called: bool = True


def propose_roles(
    targets: Sequence[Target], answer: Path | None
) -> ProposedRoles | None:
    """Propose the roles of the processes in which targets are called.

    Args:
        targets: The targets of the row.
        answer: The file with the answer of the last probe; None if there was none.

    Returns:
        The roles; None if neither the probe nor the table knows one of the targets.
    """
    probe = _read(answer)
    table = read_role_table()
    roles: set[Role] = set()
    sources: dict[str, None] = {}  # each once, in order
    is_called = True
    for target in targets:
        of_module = table.roles(target)
        called_in = _probed_roles(probe, target, _RAN)
        imported_in = _probed_roles(probe, target, _IMPORTED)
        if called_in:
            roles |= called_in
            sources[_words_of_probe(probe)] = None
        elif of_module:
            roles |= of_module
            sources[table.source(target)] = None
        elif imported_in:
            roles |= imported_in
            is_called = False
            sources[_words_of_probe(probe)] = None
        else:
            return None
    return ProposedRoles(frozenset(roles), " and ".join(sources), is_called)


def _words_of_probe(probe: dict[str, Any]) -> str:
    """Say which probe it was, for `ProposedRoles.source`: when, and of which command."""
    words = f"the probe of {probe.get('began')}"
    command = probe.get("command")
    if isinstance(command, list) and command:
        words += f" ({' '.join(map(str, command))})"
    return words


def _probed_roles(
    probe: dict[str, Any], target: Target, evidence: Collection[str]
) -> set[Role]:
    """Return the roles that a probe found for a target by some evidence; an empty set for none."""
    roles: set[Role] = set()
    entries = probe.get("targets")
    if isinstance(entries, list):
        for entry in entries:
            if not isinstance(entry, dict) or entry.get("target") != str(target):
                continue
            if entry.get("evidence") in evidence:
                roles |= roles_named(entry.get("roles"))
    return roles


def _read(answer: Path | None) -> dict[str, Any]:
    """Read the answer of a probe; {} where there is none, or it cannot be read."""
    if answer is None:
        return {}
    try:
        probe = json.loads(answer.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if isinstance(probe, dict):
        return probe
    return {}
