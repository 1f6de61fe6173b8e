"""The main process stamps its patches on an engine's configuration; the others compare theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchkit.errors import AgreementError
from patchkit.process import patch_set
from patchkit.rows.declaration import Role

if TYPE_CHECKING:
    from patchkit.process.patch_state import PatchStates
    from patchkit.process.relevance import Relevance


def stamp(config: Any, states: PatchStates, relevance: Relevance) -> None:
    """Write into an engine's configuration which patches are for each role."""
    sets = {role: patch_set.patch_set(states.patches.values(), relevance, role) for role in Role}
    if patch_set.stamp(config, sets):
        _tell_digest(Role.MAIN, sets[Role.MAIN], states)
    else:
        states.say("warning", "the engine's additional_config is no dict: not stamped")


def agree(role: Role, config: Any, states: PatchStates, relevance: Relevance) -> None:
    """
    Compare the patches for a role here with those that the main process selected.

    Raises:
        AgreementError: they differ.

    """
    ours = patch_set.patch_set(states.patches.values(), relevance, role)
    _tell_digest(role, ours, states)
    try:
        patch_set.refuse_difference(patch_set.stamped(config, role), ours, role)
    except AgreementError as error:
        states.journal.write("disagreement", role=str(role), reason=str(error))
        if states.settings.on_failure == "stop":
            raise
        states.say("warning", str(error))


def _tell_digest(role: Role, patches: patch_set.PatchSet, states: PatchStates) -> None:
    states.journal.write("digest", role=str(role), digest=patch_set.digest(patches))
