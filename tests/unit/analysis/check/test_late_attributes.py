"""Attributes that other modules of a release set on a class."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import (
    Memory,
    checked,
    codes,
    files_of,
    only_finding,
    subject,
)
from patchkit.analysis.check.fact_store import FactStore
from patchkit.analysis.check.late_attributes import (
    find_late_attributes,
    set_by_another_module,
)
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

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


LOST = [Target.parse(f"up.mod:C.{name}") for name in "xyz"]
MODULES = {
    "mod": "class C: ...",
    "other": SETTERS[0],
    "third": "import up.mod\nX = 'y'",
}


class _Counted(Memory):
    """Files that count how often they are read."""

    def __init__(
        self, name: str, reads: Counter[str], modules: Mapping[str, str] = MODULES
    ) -> None:
        super().__init__(name, "1.0", files_of(modules))
        self._reads = reads

    def read(self, path: str) -> bytes | None:
        self._reads[path] += 1
        return super().read(path)


def _release(number: int, reads: Counter[str], cache: Path) -> CheckedRelease:
    """A release with the same files as all others, whose facts go to a cache."""
    name = f"up {number}"
    return CheckedRelease(
        name,
        "up",
        str(number),
        lambda: _Counted(name, reads),
        FactStore(Cache(cache)),
        name,
        is_local=False,
    )


def test_equal_files_of_releases_are_read_once(tmp_path: Path) -> None:
    """Ten releases with equal files cost one read of what is searched for settings."""
    reads: Counter[str] = Counter()
    releases = [_release(number, reads, tmp_path) for number in range(10)]
    for release in releases:
        release.learn([*LOST, LOST[0].holder])
    reads.clear()
    find_late_attributes(releases, lambda _: set(LOST))
    assert reads["up/third.py"] == 1
    for release in releases:
        words = [set_by_another_module(target, release) for target in LOST]
        assert words == ["up.other sets x on up.mod:C at line 2", "", ""]


def test_what_was_found_is_kept(tmp_path: Path) -> None:
    """The next run reads no file again, also where nothing was found."""
    reads: Counter[str] = Counter()
    for _ in range(2):
        reads.clear()
        release = _release(1, reads, tmp_path)
        release.learn(LOST)
        find_late_attributes([release], lambda _: set(LOST))
        words = [set_by_another_module(target, release) for target in LOST]
        assert words == ["up.other sets x on up.mod:C at line 2", "", ""]
    assert not reads


def test_a_search_begins_where_the_neighbour_has_the_attribute() -> None:
    """What the releases next to one that has it do not set is not searched for in all others."""
    reads: Counter[str] = Counter()
    releases = []
    for number in range(9):
        has_it = "class C:\n    z = 1" if number == 5 else "class C: ..."
        modules = {"mod": has_it, "own": f"X{number} = 'z'"}
        source = _Counted(f"up {number}", reads, modules)
        release = CheckedRelease(
            source.name, "up", str(number), lambda source=source: source, is_local=False
        )
        release.learn(LOST)
        releases.append(release)
    reads.clear()
    find_late_attributes(releases, lambda _: {LOST[2]})
    assert reads["up/own.py"] == 2
    for release in releases[:5]:
        assert set_by_another_module(LOST[2], release) == ""
    assert reads["up/own.py"] == 2
