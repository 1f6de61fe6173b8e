from __future__ import annotations

from typing import TYPE_CHECKING

from packages import row

from check.released import checked, subject, the

if TYPE_CHECKING:
    from packages import World


def test_what_comes_later_is_not_searched_for(world: World) -> None:
    """A range that begins too early is told the release in which the target appears."""
    world.pack(row("p", "patch_a", "AfterImport('up.mod', call='w')"), patch_a="def w(): ...")
    found = the(checked([subject("1.0"), subject("2.0", mod="")]), "PK101")
    assert found.release == "up 1.0"
    assert found.message.endswith("; it is there from up 2.0 on")
