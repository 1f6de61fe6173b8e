"""What `lock` says of bodies that do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.packages import row

from analysis.check.released import broken, edit, subject
from patchkit.analysis.check.body_misfits import body_misfits
from patchkit.analysis.check.packs import read_packs
from patchkit.settings import Settings

if TYPE_CHECKING:
    from support.packages import World

BODY = "def w(wrapped): ...\ndef fits(wrapped, instance, args, kwargs): ...\n"


def test_only_what_a_body_puts_in_place_is_judged(world: World) -> None:
    """An Edit may follow those of other rows, and a target that is missing is told elsewhere."""
    rows = (
        row("edits", "patch_a", edit("gone", "new")),
        row("lost", "patch_a", "Wrap('up.mod:lost', by='fits')"),
        row("out", "patch_a", "Wrap('up.mod:f', by='w')", requires="('up>=9',)"),
        row("sound", "patch_a", "Wrap('up.mod:f', by='fits')"),
        row("wrong", "patch_a", "Wrap('up.mod:f', by='w')"),
    )
    world.pack(*rows, patch_a=BODY)
    read, _ = read_packs(Settings(), ["pack"])
    found = list(body_misfits(list(read), [subject("1.0", mod="def f(a): ...")]))
    assert [(each.patch, each.code.code, each.line) for each in found] == [
        ("wrong", "PK103", 1)
    ]


def test_a_release_that_cannot_be_read_is_left_out(world: World) -> None:
    """The others are judged."""
    world.pack(row("p", "patch_a", "Wrap('up.mod:f', by='w')"), patch_a=BODY)
    read, _ = read_packs(Settings(), ["pack"])
    releases = [broken("1.0"), subject("2.0", mod="def f(a): ...")]
    found = list(body_misfits(list(read), releases))
    assert [each.release for each in found] == ["up 2.0"]
