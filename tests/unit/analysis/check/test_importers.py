from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.changes_of_f import BODY, REPLACE, WRAP
from analysis.check.released import Memory, checked, edit, only_finding, subject
from patchkit.analysis.check.releases import CheckedRelease

if TYPE_CHECKING:
    from support.packages import World


@pytest.mark.parametrize(
    "change", [WRAP, "AfterImport('up.mod', call='g', sets=('up.mod:f',))"]
)
def test_importers_by_name_are_listed(world: World, change: str) -> None:
    """Modules that import a target by name at import are listed, not those that do in functions."""
    world.pack(row("p", "patch_a", change), patch_a=BODY)
    release = subject(
        "1.0",
        mod="def f(a): ...",
        one="from .mod import f",
        two="from up.mod import f as g",
        late="def run():\n    from up.mod import f",
        other="from up import mod",
    )
    release.is_local = True
    finding = only_finding(checked([release]), "PK402")
    assert finding.details == ["up.one", "up.two"]


@pytest.mark.parametrize(
    ("value", "is_repointed"),
    [("160", False), ("'a'", False), ("{'a': 1}", True)],
)
def test_copies_of_constants_need_changes_of_their_own(
    world: World, value: str, is_repointed: bool
) -> None:
    """One number cannot be told from another, so that no copy of it is repointed."""
    world.pack(row("p", "patch_a", "Replace('up.mod:N', by='N')"), patch_a=BODY)
    release = subject("1.0", mod=f"N = {value}", one="from .mod import N")
    release.is_local = True
    fix = only_finding(checked([release]), "PK402").fix
    assert fix.startswith("no action needed") is is_repointed
    if not is_repointed:
        assert fix == "Replace it there, too: copies of a constant are not repointed"


def test_importers_within_the_package_are_listed(world: World) -> None:
    """`from . import f` in a module of the package that has the target is an import by name."""
    world.pack(row("p", "patch_a", "Wrap('up.a:f', by='w')"), patch_a=BODY)
    files = {
        "up/__init__.py": "",
        "up/a/__init__.py": "def f(): ...",
        "up/a/b.py": "f = 1",
    }
    for text, importers in (("from . import f", ["up.a.b"]), ("from . import g", [])):
        source = Memory("up 1.0", "1.0", {**files, "up/a/b.py": text})
        release = CheckedRelease("up 1.0", "up", "1.0", lambda source=source: source)
        report = checked([release])
        details = [
            finding.details
            for finding in report.findings
            if finding.code.code == "PK402"
        ]
        expected = [importers] if importers else []
        assert details == expected


@pytest.mark.parametrize(
    ("change", "is_listed"),
    [
        (REPLACE, True),
        ("Replace('up.mod:f', by='g', rebind=False)", False),
        (edit("return a", "return 2"), False),
    ],
)
def test_importers_of_what_stays_the_same_object_are_not_listed(
    world: World, change: str, is_listed: bool
) -> None:
    """An Edit, which keeps the object, and a change with `rebind=False` have no PK402."""
    world.pack(row("p", "patch_a", change), patch_a=BODY)
    release = subject("1.0", mod="def f(a): return a", one="from .mod import f")
    release.is_local = True
    found = [finding.code.code for finding in checked([release]).findings]
    assert ("PK402" in found) is is_listed
