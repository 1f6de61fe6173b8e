from __future__ import annotations

from typing import TYPE_CHECKING

import packages
import pytest
from packages import World, row

from patchkit.errors import LockError
from patchkit.lock import Lock, Span, write_lock
from patchkit.locks import Locks, is_installed
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.registry import Row

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


def test_the_one_here_comes_first_for_installed_packs(
    world: World, one: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For other patches, that of their pack; where there is none, they are not reviewed."""
    own = lock(world.folder / "outer" / "patchkit.lock", "1")
    (here := world.folder / "here").mkdir()
    lock(here / "patchkit.lock", "4")
    assert marks(Locks(here=here), one) == {"1"}  # what processes read
    monkeypatch.setattr("patchkit.locks.is_installed", lambda _: True)
    assert Locks.home("outer.pack") is None
    assert marks(Locks(here=here), one) == {"4"}
    lock(here / "patchkit.lock", "4", patch="other")
    assert marks(Locks(here=here), one) == {"1"}
    own.unlink()
    assert Locks(here=here).of_all([one]).entries == {"p": {}}
    assert Locks().of_all([one]).entries == {}


def test_a_broken_lock_is_an_error_with_its_line(world: World, one: Row) -> None:
    """Whoever asks is told."""
    (world.folder / "outer" / "patchkit.lock").write_text("format 2\n<<<<<<< ours\n")
    with pytest.raises(LockError, match=r"patchkit\.lock:2"):
        Locks().of(one)


def test_what_an_installer_has_put_there(tmp_path: Path) -> None:
    """A folder of that name is somewhere above."""
    assert is_installed(tmp_path / "site-packages" / "pack" / "patchkit.lock")
    assert not is_installed(tmp_path / "pack" / "patchkit.lock")
