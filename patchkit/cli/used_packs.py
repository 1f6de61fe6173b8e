"""Says which packs a command has, or that it has none but patchkit's own."""

from collections.abc import Sequence

from patchkit.core.rows.project import Project


def packs_line(packs: Sequence[str]) -> str:
    """Return the message that names the packs of a command.

    Args:
        packs: The packs, without patchkit's own. If there are none, the message suggests one.
    """
    if packs:
        return f"packs: {', '.join(packs)}"
    text = "no packs but patchkit's own"
    packs_here = Project.read().packs_here()
    if packs_here:
        return f"{text}; --patches {packs_here[0]} adds the one in this folder"
    return f"{text}; --patches MODULE adds one"
