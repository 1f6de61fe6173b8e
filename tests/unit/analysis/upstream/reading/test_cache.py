"""The cache on disk: what it keeps, and what it does when something is wrong with it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.analysis.upstream.reading import cache as cache_module
from patchkit.analysis.upstream.reading.cache import Cache, IndexPage, default_directory


def files(place: Path) -> set[Path]:
    """What the cache has written."""
    return {file for file in place.rglob("*") if file.is_file()}


def test_what_was_kept_is_there_in_the_next_process(tmp_path: Path) -> None:
    """Contents and pages that a cache keeps are in the next cache of the same folder."""
    page = IndexPage("https://final/", "text/html", '"tag"', 12.5, b"<a>")

    def check(cache: Cache) -> None:
        contents = [cache.get(name) for name in ("a.py", "b.py", "c.py")]
        assert contents == [b"1", b"", None]
        assert [cache.has(name) for name in ("a.py", "c.py")] == [True, False]
        assert cache.page("u") == page

    first = Cache(tmp_path)
    assert first.get("a.py") is None
    assert first.page("u") is None
    first.put("a.py", b"1")
    first.put("b.py", b"")
    first.keep_page("u", page)
    check(first)
    first.close()
    second = Cache(tmp_path)
    check(second)
    second.close()


@given(
    st.dictionaries(st.text(min_size=1, max_size=9), st.binary(max_size=99), max_size=9)
)
def test_any_content_under_any_name_comes_back(contents: dict[str, bytes]) -> None:
    """A cache in memory gives back the bytes that it was given, whatever they and the names are."""
    cache = Cache(None)
    for name, content in contents.items():
        cache.put(name, content)
    assert {name: cache.get(name) for name in contents} == contents
    cache.close()


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    """Folder and files of the cache give no rights to group and others, whatever the umask."""
    umask = os.umask(0)
    try:
        Cache(tmp_path / "a").put("a.py", b"1")
    finally:
        os.umask(umask)
    (file,) = files(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "a" / cache_module._FOLDER).stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "another's"])
def test_damaged_content_is_noticed_and_forgotten(tmp_path: Path, damage: str) -> None:
    """Content whose hash is wrong counts as never kept, and can be kept again."""
    cache = Cache(tmp_path)
    cache.put("a.py", b"right" * 99)
    (file,) = files(tmp_path)
    cache.put("b.py", b"other")
    (other,) = files(tmp_path) - {file}
    data = file.read_bytes()
    data_by_damage = {
        "cut": data[:-9],
        "text": b"hello " * 99,
        "empty": b"",
        "another's": other.read_bytes(),
    }
    file.write_bytes(data_by_damage[damage])
    assert cache.get("a.py") is None
    assert cache.get("b.py") == b"other"
    assert (cache.has("a.py"), cache.has("b.py")) == (False, True)
    cache.put("a.py", b"right")
    assert cache.get("a.py") == b"right"


@pytest.mark.parametrize("fault", ["a file in its place", "a file above it"])
def test_a_cache_that_cannot_be_used_is_done_without(
    tmp_path: Path, fault: str
) -> None:
    """A folder that cannot be used is reported once, and contents are kept in memory."""
    place = tmp_path / "cache"
    if fault == "a file above it":
        place.write_text("a file")
    else:
        place.mkdir()
        (place / cache_module._FOLDER).write_text("a file")
    notices: list[str] = []
    cache = Cache(place, notices.append)
    for name in ("a.py", "b.py"):
        cache.put(name, b"1")
        assert cache.get(name) == b"1"
        assert cache.has(name)
    cache.close()
    (notice,) = notices
    assert str(place) in notice


def test_a_full_disk_leaves_what_is_needed_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the disk does not take is in memory for this process, and leaves no draft."""
    notices: list[str] = []
    cache = Cache(tmp_path, notices.append)
    cache.put("a.py", b"there")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    cache.put("b.py", b"1")
    cache.put("c.py", b"2")
    contents = [cache.get(name) for name in ("a.py", "b.py", "c.py")]
    assert contents == [b"there", b"1", b"2"]
    assert len(notices) == 1
    assert len(files(tmp_path)) == 1


def test_a_cache_above_its_limit_is_trimmed(tmp_path: Path) -> None:
    """The contents that were unused longest are deleted, and drafts that nobody finished."""
    cache = Cache(tmp_path, limit=300_000)
    for number in range(10):
        earlier_files = files(tmp_path)
        cache.put(f"{number}", os.urandom(50_000))
        (file,) = files(tmp_path) - earlier_files
        os.utime(file, (number, number))
    draft = file.with_name("draft-x")
    draft.write_bytes(b"")
    os.utime(draft, (1, 1))
    cache.close()
    is_kept = [cache.has(f"{number}") for number in range(10)]
    assert is_kept == [False] * 8 + [True] * 2
    assert not draft.exists()


def test_reading_counts_as_use(tmp_path: Path) -> None:
    """Reading sets the time of a file, at most once a day."""
    cache = Cache(tmp_path)
    cache.put("k", b"1")
    (file,) = files(tmp_path)
    now = file.stat().st_mtime
    an_hour_ago, yesterday = now - 3_600, now - 90_000
    for time, is_touched in ((an_hour_ago, False), (yesterday, True)):
        os.utime(file, (time, time))
        assert cache.get("k")
        assert (file.stat().st_mtime > time) is is_touched


WRITER = """
import sys
from pathlib import Path
from patchkit.analysis.upstream.reading.cache import Cache
said = []
cache = Cache(Path(sys.argv[1]), said.append)
for number in range(60):
    cache.put(f"{number} {sys.argv[2]}", b"%d" % number)
    cache.put(f"{number} same", b"same" * number)
    assert cache.get(f"{number} {sys.argv[2]}") == b"%d" % number
cache.close()
assert not said, said
"""


@pytest.mark.processes
def test_processes_may_write_at_once(tmp_path: Path) -> None:
    """Four processes write to one cache: no content is lost, and none of them fails."""
    children = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name])
        for name in "abcd"
    ]
    assert [child.wait(60) for child in children] == [0] * 4
    cache = Cache(tmp_path)
    for number in range(60):
        for name in "abcd":
            assert cache.get(f"{number} {name}") == b"%d" % number
    cache.close()


@pytest.mark.processes
def test_a_writer_that_is_killed_leaves_a_usable_cache(tmp_path: Path) -> None:
    """What a killed writer kept is whole or absent, and the next process can write."""
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), "a"])
    while not files(tmp_path):
        assert child.poll() is None
    child.kill()
    child.wait()
    cache = Cache(tmp_path)
    for number in range(60):
        assert cache.get(f"{number} a") in (None, b"%d" % number)
    cache.put("new", b"1")
    assert cache.get("new") == b"1"
    cache.close()


def test_the_default_folder_follows_xdg_cache_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The cache lies below `$XDG_CACHE_HOME` if that is absolute, and else below `~/.cache`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for home, base in (
        ("/x", Path("/x")),
        ("x", tmp_path / ".cache"),
        ("", tmp_path / ".cache"),
    ):
        monkeypatch.setenv("XDG_CACHE_HOME", home)
        assert default_directory() == base / "patchkit" / "upstream"


def test_a_user_without_a_home_has_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user of a container who is in no `/etc/passwd` has what is read in memory alone."""
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("os.getuid", lambda: 4_000_000)
    assert default_directory() is None
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert default_directory() == Path("/x/patchkit/upstream")


def test_a_folder_that_cannot_be_is_no_error(tmp_path: Path) -> None:
    """Its name is too long: nothing is there, and entries stay in memory."""
    cache = Cache(tmp_path / ("a" * 300))
    assert not cache.has("x")
    cache.put("x", b"1")
    assert cache.get("x") == b"1"


def test_a_file_that_may_not_be_touched_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user's cache may be read, also when the time of last use is not to be written."""
    cache = Cache(tmp_path)
    cache.put("x", b"1")
    monkeypatch.setattr(cache_module, "_DAY", -1.0)

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "utime", refuse)
    assert cache.get("x") == b"1"
