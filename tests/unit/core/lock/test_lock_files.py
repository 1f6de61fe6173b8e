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
    """Write a lock with one fingerprint of one target, 16 times the mark; returns the file."""
    write_lock(file, Lock({patch: {"up.mod:f": [Span(mark * 16, "up", "1.0", "1.0")]}}))
    return file


def marks(locks: Locks, row: Row) -> set[str]:
    """The marks of all fingerprints that the locks have for a row's target."""
    lock_of_row = locks.of(row)
    assert lock_of_row is not None
    fingerprints = lock_of_row.fingerprints(row.name, "up.mod:f")
    return {fingerprint[0] for fingerprint in fingerprints}


@pytest.fixture
def pack_row(world: World) -> Row:
    """A row of the pack `outer.pack`."""
    world.module("outer.pack.patch_a")
    world.pack(row("p", "patch_a", "Replace('up.mod:f', by='f')"), name="outer/pack")
    return read_pack("outer.pack")[0]


def test_a_packs_lock_is_the_nearest(world: World, pack_row: Row) -> None:
    """A pack's lock is the nearest: in its folder, around it, or at the root of its checkout."""
    assert Locks().of(pack_row) is None
    lock(world.folder / "patchkit.lock", "0")
    assert Locks().of(pack_row) is None  # a folder of packages is nobody's checkout
    (world.folder / "pyproject.toml").touch()
    assert marks(Locks(), pack_row) == {"0"}
    lock(world.folder / "outer" / "patchkit.lock", "1")
    assert marks(Locks(), pack_row) == {"1"}
    lock(world.folder / "outer" / "pack" / "patchkit.lock", "2")
    assert marks(Locks(), pack_row) == {"2"}


def test_a_lock_that_is_named_replaces_a_packs_own(world: World, pack_row: Row) -> None:
    """A lock that is named is read in place of a pack's own; one that is missing is an error."""
    lock(world.folder / "outer" / "patchkit.lock", "1")
    named = lock(world.folder / "my.lock", "3")
    assert marks(Locks(str(named)), pack_row) == {"3"}
    with pytest.raises(LockError, match="found no file"):
        Locks(str(world.folder / "none")).of(pack_row)


def test_reviews_here_are_added_to_those_of_an_installed_pack(
    world: World, pack_row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock of the current folder, or one that is named, is united with an installed pack's own.

    Commands read that of the current folder, and processes the one that is named.
    """
    own = lock(world.folder / "outer" / "patchkit.lock", "1")
    here = world.folder / "here"
    here.mkdir()
    mine = lock(here / "patchkit.lock", "4")
    assert marks(Locks(folder=here), pack_row) == {"1"}  # what processes read
    monkeypatch.setattr("patchkit.core.lock.files.is_installed", lambda _: True)
    assert Locks.home("outer.pack") is None
    assert marks(Locks(folder=here), pack_row) == {"1", "4"}
    assert marks(Locks(str(mine)), pack_row) == {"1", "4"}
    assert Locks(folder=here).file(pack_row) == mine
    lock(here / "patchkit.lock", "4", patch="other")
    assert marks(Locks(folder=here), pack_row) == {"1"}
    assert marks(Locks(str(mine)), pack_row) == {"1"}
    assert Locks(folder=here).file(pack_row) == own
    own.unlink()
    assert Locks(folder=here).of_all([pack_row]).entries == {"p": {}}
    assert Locks().of_all([pack_row]).entries == {}


def test_spans_of_one_source_in_two_locks_are_united() -> None:
    """Spans of the same source that overlap become one, with the wordings of both."""
    first = Span("a" * 16, "up", "1.0", "1.2", ("b" * 16,))
    second = Span("a" * 16, "up", "1.1", "2.0", ("c" * 16,))
    other = Span("d" * 16, "up", "0.9", "0.9")
    locks = [
        Lock({"p": {"up.mod:f": [first]}}),
        Lock({"p": {"up.mod:f": [second, other]}}),
    ]
    both = Span("a" * 16, "up", "1.0", "2.0", ("b" * 16, "c" * 16))
    assert united("p", locks).spans("p", "up.mod:f") == [other, both]


def test_a_broken_lock_is_an_error_with_its_line(world: World, pack_row: Row) -> None:
    """Asking for a row's lock raises the error of its file, with the line."""
    (world.folder / "outer" / "patchkit.lock").write_text("format 2\n<<<<<<< ours\n")
    with pytest.raises(LockError, match=r"patchkit\.lock:2"):
        Locks().of(pack_row)


@pytest.mark.parametrize("version", ["1x.y", "1.0 - 2z", "9" * 5_000])
def test_a_version_that_is_none_is_refused(
    world: World, pack_row: Row, version: str
) -> None:
    """Where a command compares it, with the file, the patch and the target."""
    file = lock(world.folder / "outer" / "pack" / "patchkit.lock", "0")
    file.write_text(file.read_text().replace("up 1.0", f"up {version}"))
    with pytest.raises(
        LockError, match=r"patchkit\.lock: p, up\.mod:f: found '.*expected"
    ):
        Locks().of_all([pack_row])


def test_a_file_below_site_packages_is_installed(tmp_path: Path) -> None:
    """A file counts as installed if one of the folders above it is `site-packages`."""
    assert is_installed(tmp_path / "site-packages" / "pack" / "patchkit.lock")
    assert not is_installed(tmp_path / "pack" / "patchkit.lock")
