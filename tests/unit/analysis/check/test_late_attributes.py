"""Attributes that other modules of a release set on a class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, codes, only_finding, subject

if TYPE_CHECKING:
    from support.packages import World

WRAP = "Wrap('up.mod:C.x', by='w')"
ADD = "Add('up.mod:C.x', by='w')"
BODY = "def w(wrapped, instance, args, kwargs): ...\n"
SETTERS = (
    "from up.mod import C\nC.x = print",
    "from up.mod import C as D\nif D:\n    setattr(D, 'x', print)",
    "import up.mod\nup.mod.C.x: object = print",
    "from up import mod\nmod.C.x = print",
)


@pytest.mark.parametrize("change", [WRAP, ADD])
@pytest.mark.parametrize("setter", SETTERS)
def test_what_another_module_sets_is_not_gone(
    world: World, change: str, setter: str
) -> None:
    """A target that a module sets on an imported class is there once that was imported."""
    world.pack(row("p", "patch_a", change), patch_a=BODY)
    report = checked([subject("1.0", mod="class C: ...", other=setter)])
    assert codes(report) == ["PK104"]
    message = only_finding(report, "PK104").message
    assert "up.other sets x on up.mod:C at line" in message


@pytest.mark.parametrize(
    "other",
    [
        "class C: ...\nC.x = print",
        "from up.mod import C\nC.y = print",
        "from up.mod import C\ndef later():\n    C.x = print",
        "from up.mod import C\nprint(C.x == 1)",
    ],
)
def test_other_settings_do_not_count(world: World, other: str) -> None:
    """Another class, another name, a function that is not called, and a mere use set nothing."""
    world.pack(row("p", "patch_a", WRAP), patch_a=BODY)
    report = checked([subject("1.0", mod="class C: ...", other=other)])
    assert codes(report) == ["PK101"]


@pytest.mark.parametrize(
    ("other", "expected"), [("", ["PK602"]), (SETTERS[0], []), (SETTERS[1], [])]
)
def test_a_use_of_what_another_module_sets_is_not_gone(
    world: World, other: str, expected: list[str]
) -> None:
    """A body may use such an attribute."""
    body = "from up.mod import C\n" + BODY.replace("...", "return C.x")
    world.pack(row("p", "patch_a", "Wrap('up.mod:g', by='w')"), patch_a=body)
    mod = "class C: ...\ndef g(): ..."
    assert codes(checked([subject("1.0", mod=mod, other=other)])) == expected
