"""The cache, in good times and bad."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.analysis.upstream.reading import cache as module
from patchkit.analysis.upstream.reading.cache import Cache, IndexPage, default_directory


def files(place: Path) -> set[Path]:
    """What the cache has written."""
    return {file for file in place.rglob("*") if file.is_file()}


def test_what_was_kept_is_there_in_the_next_process(tmp_path: Path) -> None:
    """Whatever was kept by its name, and pages."""
    page = IndexPage("https://final/", "text/html", '"tag"', 12.5, b"<a>")
    for turn in (1, 2):
        cache = Cache(tmp_path)
        if turn == 1:
            assert (cache.get("a.py"), cache.page("u")) == (None, None)
            cache.put("a.py", b"1")
            cache.put("b.py", b"")
            cache.keep_page("u", page)
        assert (cache.get("a.py"), cache.get("b.py"), cache.get("c.py")) == (
            b"1",
            b"",
            None,
        )
        assert (cache.has("a.py"), cache.has("c.py")) == (True, False)
        assert cache.page("u") == page
        cache.close()


@given(
    st.dictionaries(st.text(min_size=1, max_size=9), st.binary(max_size=99), max_size=9)
)
def test_every_content_comes_back(files: dict[str, bytes]) -> None:
    """Whatever the bytes and the names."""
    cache = Cache(None)
    for name, content in files.items():
        cache.put(name, content)
    assert {name: cache.get(name) for name in files} == files
    cache.close()


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    """Folders and files: nothing for group and others, whatever the umask."""
    before = os.umask(0)
    try:
        Cache(tmp_path / "a").put("a.py", b"1")
    finally:
        os.umask(before)
    (file,) = files(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "a" / module._FOLDER).stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "another's"])
def test_damaged_content_is_noticed_and_forgotten(tmp_path: Path, damage: str) -> None:
    """The hash does not agree: it is as if it had never been kept, and can be kept again."""
    cache = Cache(tmp_path)
    cache.put("a.py", b"right" * 99)
    (file,) = files(tmp_path)
    cache.put("b.py", b"other")
    (other,) = files(tmp_path) - {file}
    data = file.read_bytes()
    wrong = {
        "cut": data[:-9],
        "text": b"hello " * 99,
        "empty": b"",
        "another's": other.read_bytes(),
    }
    file.write_bytes(wrong[damage])
    assert cache.get("a.py") is None
    assert cache.get("b.py") == b"other"
    assert (cache.has("a.py"), cache.has("b.py")) == (False, True)
    cache.put("a.py", b"right")
    assert cache.get("a.py") == b"right"


@pytest.mark.parametrize("fault", ["a file in its place", "a file above it"])
def test_a_cache_that_cannot_be_used_is_done_without(
    tmp_path: Path, fault: str
) -> None:
    """It is said once, and everything works from memory."""
    place = tmp_path / "cache"
    if fault == "a file above it":
        place.write_text("a file")
    else:
        place.mkdir()
        (place / module._FOLDER).write_text("a file")
    said: list[str] = []
    cache = Cache(place, said.append)
    for name in ("a.py", "b.py"):
        cache.put(name, b"1")
        assert cache.get(name) == b"1"
        assert cache.has(name)
    cache.close()
    (text,) = said
    assert str(place) in text


def test_a_full_disk_leaves_what_is_needed_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the disk does not take is in memory for this process, and leaves no draft."""
    said: list[str] = []
    cache = Cache(tmp_path, said.append)
    cache.put("a.py", b"there")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    cache.put("b.py", b"1")
    cache.put("c.py", b"2")
    read = [cache.get(name) for name in ("a.py", "b.py", "c.py")]
    assert read == [b"there", b"1", b"2"]
    assert len(said) == len(files(tmp_path)) == 1


def test_it_does_not_grow_without_end(tmp_path: Path) -> None:
    """Above the limit what was not used for longest goes, and drafts that nobody finished."""
    cache = Cache(tmp_path, limit=300_000)
    for number in range(10):
        before = files(tmp_path)
        cache.put(f"{number}", os.urandom(50_000))
        (file,) = files(tmp_path) - before
        os.utime(file, (number, number))
    draft = file.with_name("draft-x")
    draft.write_bytes(b"")
    os.utime(draft, (1, 1))
    cache.close()
    held = [cache.has(f"{number}") for number in range(10)]
    assert held == [False] * 8 + [True] * 2
    assert not draft.exists()


def test_what_is_used_stays(tmp_path: Path) -> None:
    """Reading counts as use, written down at most once a day."""
    cache = Cache(tmp_path)
    cache.put("k", b"1")
    (file,) = files(tmp_path)
    now = file.stat().st_mtime
    for old, is_touched in ((now - 3_600, False), (now - 90_000, True)):
        os.utime(file, (old, old))
        assert cache.get("k")
        assert (file.stat().st_mtime > old) is is_touched


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
def test_processes_write_at_once(tmp_path: Path) -> None:
    """Four writers in one file: nothing is lost, nothing fails."""
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
def test_a_writer_that_is_killed_leaves_a_cache(tmp_path: Path) -> None:
    """Killed in the middle of its work: what is there is whole, and the next one writes."""
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


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`$XDG_CACHE_HOME` where that is absolute, and else `~/.cache`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for home, base in (
        ("/x", Path("/x")),
        ("x", tmp_path / ".cache"),
        ("", tmp_path / ".cache"),
    ):
        monkeypatch.setenv("XDG_CACHE_HOME", home)
        assert default_directory() == base / "patchkit" / "upstream"
