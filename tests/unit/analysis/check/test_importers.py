from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import Memory, checked, edit, subject, the
from patchkit.analysis.check.releases import CheckedRelease

if TYPE_CHECKING:
    from support.packages import World

REPLACE = "Replace('up.mod:f', by='g')"
WRAP = "Wrap('up.mod:f', by='w')"
BODY = "def g(a, b=1): return a\ndef w(wrapped, instance, args, kwargs): ...\nN = 3\n"


def test_importers_by_name_are_listed(world: World) -> None:
    """Modules that import a target by name when they run; not those that do so in functions."""
    world.pack(row("p", "patch_a", WRAP), patch_a=BODY)
    release = subject(
        "1.0",
        mod="def f(a): ...",
        one="from .mod import f",
        two="from up.mod import f as g",
        late="def run():\n    from up.mod import f",
        other="from up import mod",
    )
    release.is_local = True
    found = the(checked([release]), "PK402")
    assert found.details == ["up.one", "up.two"]


def test_a_package_is_imported_from_without_its_name(world: World) -> None:
    """`from . import f` in a module of the package that has the target is an import by name."""
    world.pack(row("p", "patch_a", "Wrap('up.a:f', by='w')"), patch_a=BODY)
    files = {
        "up/__init__.py": "",
        "up/a/__init__.py": "def f(): ...",
        "up/a/b.py": "f = 1",
    }
    for text, found in (("from . import f", ["up.a.b"]), ("from . import g", [])):
        source = Memory("up 1.0", "1.0", {**files, "up/a/b.py": text})
        report = checked(
            [CheckedRelease("up 1.0", "up", "1.0", lambda source=source: source)]
        )
        details = [one.details for one in report.findings if one.code.code == "PK402"]
        assert details == ([found] if found else [])


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (REPLACE, True),
        ("Replace('up.mod:f', by='g', rebind=False)", False),
        (edit("return a", "return 2"), False),
    ],
)
def test_importers_of_what_stays_the_same_object_are_not(
    world: World, change: str, found: bool
) -> None:
    """An Edit changes the function that they all hold; with rebind=False nothing is promised."""
    world.pack(row("p", "patch_a", change), patch_a=BODY)
    release = subject("1.0", mod="def f(a): return a", one="from .mod import f")
    release.is_local = True
    assert ("PK402" in [one.code.code for one in checked([release]).findings]) is found
