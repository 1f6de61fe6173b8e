from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support import packages
from support.packages import World, row

from patchkit.core.lock.files import Locks, is_installed
from patchkit.core.lock.format import Lock, Span, united, write_lock
from patchkit.errors import LockError
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.core.rows.declaration import Row

world = packages.world


def lock(file: Path, mark: str, patch: str = "p") -> Path:
    write_lock(file, Lock({patch: {"up.mod:f": [Span(mark * 16, "up", "1.0", "1.0")]}}))
    return file


def marks(locks: Locks, row: Row) -> set[str]:
    found = locks.of(row)
    assert found is not None
    return {one[0] for one in found.fingerprints(row.name, "up.mod:f")}


@pytest.fixture
def one(world: World) -> Row:
    """A row of the pack `outer.pack`."""
    world.module("outer.pack.patch_a")
    world.pack(row("p", "patch_a", "Replace('up.mod:f', by='f')"), name="outer/pack")
    return read_pack("outer.pack")[0]


def test_a_pack_brings_its_own(world: World, one: Row) -> None:
    """The nearest one: in its folder, around it, or at the root of the checkout."""
    assert Locks().of(one) is None
    lock(world.folder / "patchkit.lock", "0")
    assert Locks().of(one) is None  # a folder of packages is nobody's checkout
    (world.folder / "pyproject.toml").touch()
    assert marks(Locks(), one) == {"0"}
    lock(world.folder / "outer" / "patchkit.lock", "1")
    assert marks(Locks(), one) == {"1"}
    lock(world.folder / "outer" / "pack" / "patchkit.lock", "2")
    assert marks(Locks(), one) == {"2"}


def test_one_that_is_named_speaks_for_all(world: World, one: Row) -> None:
    """And must be there."""
    lock(world.folder / "outer" / "patchkit.lock", "1")
    named = lock(world.folder / "my.lock", "3")
    assert marks(Locks(str(named)), one) == {"3"}
    with pytest.raises(LockError, match="found no file"):
        Locks(str(world.folder / "none")).of(one)


def test_reviews_here_are_added_to_those_of_an_installed_pack(
    world: World, one: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of its own is lost, for commands and for processes, which read the one named."""
    own = lock(world.folder / "outer" / "patchkit.lock", "1")
    (here := world.folder / "here").mkdir()
    mine = lock(here / "patchkit.lock", "4")
    assert marks(Locks(folder=here), one) == {"1"}  # what processes read
    monkeypatch.setattr("patchkit.core.lock.files.is_installed", lambda _: True)
    assert Locks.home("outer.pack") is None
    assert marks(Locks(folder=here), one) == marks(Locks(str(mine)), one) == {"1", "4"}
    assert Locks(folder=here).file(one) == mine
    lock(here / "patchkit.lock", "4", patch="other")
    assert marks(Locks(folder=here), one) == marks(Locks(str(mine)), one) == {"1"}
    assert Locks(folder=here).file(one) == own
    own.unlink()
    assert Locks(folder=here).of_all([one]).entries == {"p": {}}
    assert Locks().of_all([one]).entries == {}


def test_what_two_locks_say_of_one_source_is_one() -> None:
    """Spans of the same source that overlap are one, with the wordings of both."""
    one = Span("a" * 16, "up", "1.0", "1.2", ("b" * 16,))
    two = Span("a" * 16, "up", "1.1", "2.0", ("c" * 16,))
    other = Span("d" * 16, "up", "0.9", "0.9")
    locks = [Lock({"p": {"up.mod:f": spans}}) for spans in ([one], [two, other])]
    both = Span("a" * 16, "up", "1.0", "2.0", ("b" * 16, "c" * 16))
    assert united("p", locks).spans("p", "up.mod:f") == [other, both]


def test_a_broken_lock_is_an_error_with_its_line(world: World, one: Row) -> None:
    """Whoever asks is told."""
    (world.folder / "outer" / "patchkit.lock").write_text("format 2\n<<<<<<< ours\n")
    with pytest.raises(LockError, match=r"patchkit\.lock:2"):
        Locks().of(one)


def test_what_an_installer_has_put_there(tmp_path: Path) -> None:
    """A folder of that name is somewhere above."""
    assert is_installed(tmp_path / "site-packages" / "pack" / "patchkit.lock")
    assert not is_installed(tmp_path / "pack" / "patchkit.lock")
