"""The cache, in good times and bad."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.upstream.reading import cache as module
from patchkit.upstream.reading.cache import Cache, Page, default_directory


def the_file(place: Path) -> Path:
    [file] = place.glob("*.sqlite")
    return file


def test_what_was_kept_is_there_in_the_next_process(tmp_path: Path) -> None:
    """Listings, files, pages and notes."""
    page = Page("https://final/", "text/html", '"tag"', 12.5, b"<a>")
    for turn in (1, 2):
        cache = Cache(tmp_path)
        shelf = cache.shelf("sha256:1")
        if turn == 1:
            assert (shelf.listing(), shelf.read("a.py"), cache.page("u")) == (None, None, None)
            shelf.keep({"a.py": b"1", "b.py": b""})
            shelf.keep_listing("a.py\t0\n")
            cache.keep_page("u", page)
            cache.keep_notes("topic", {"key": b"worked out"})
        assert shelf.listing() == "a.py\t0\n"
        assert (shelf.read("a.py"), shelf.read("b.py"), shelf.read("c.py")) == (b"1", b"", None)
        assert shelf.held(["a.py", "c.py"]) == {"a.py"}
        assert cache.shelf("sha256:2").read("a.py") is None
        assert cache.page("u") == page
        assert cache.note("topic", "key") == b"worked out"
        assert cache.note("other", "key") is None
        cache.close()


@given(st.dictionaries(st.text(min_size=1, max_size=9), st.binary(max_size=99), max_size=9))
def test_every_content_comes_back(files: dict[str, bytes]) -> None:
    """Whatever the bytes and the names."""
    cache = Cache(None)
    cache.shelf("k").keep(files)
    assert {path: cache.shelf("k").read(path) for path in files} == files
    cache.close()


def test_equal_content_is_kept_once(tmp_path: Path) -> None:
    """Most files do not change from one release to the next."""
    cache = Cache(tmp_path)
    for number in range(50):
        cache.shelf(str(number)).keep({"a.py": os.urandom(8) + b"", "same.py": b"x" * 99})
    assert len(cache.ask("SELECT digest FROM blob")) == 51
    cache.close()


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    """Directory and file: nothing for group and others, whatever the umask."""
    before = os.umask(0)
    try:
        Cache(tmp_path / "a" / "b").close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
    assert stat.S_IMODE(the_file(tmp_path / "a" / "b").stat().st_mode) == 0o600


@pytest.mark.parametrize("what", ["another content", "no deflate"])
def test_damaged_content_is_noticed_and_forgotten(tmp_path: Path, what: str) -> None:
    """The hash does not agree: it is as if it had never been kept, and can be kept again."""
    cache = Cache(tmp_path)
    shelf = cache.shelf("k")
    shelf.keep({"a.py": b"right", "b.py": b"other"})
    wrong = module.zlib.compress(b"wrong") if what == "another content" else b"zzz"
    cache.ask("UPDATE blob SET data = ? WHERE digest = ?", wrong, module._Blob.of(b"right").digest)
    assert shelf.read("a.py") is None
    assert shelf.read("b.py") == b"other"
    assert shelf.held(["a.py", "b.py"]) == {"b.py"}
    shelf.keep({"a.py": b"right"})
    assert shelf.read("a.py") == b"right"
    cache.close()


def test_content_in_anothers_place_is_noticed(tmp_path: Path) -> None:
    """A listing, page or note that a damaged row leads to is another's: it is not believed."""
    cache = Cache(tmp_path)
    for name in "ab":
        cache.shelf(name).keep_listing(f"{name}.py\t1\n")
        cache.keep_page(name, Page(name, "", "", 0.0, name.encode()))
        cache.keep_notes("topic", {name: name.encode()})
    for table, column in (("archive", "listing"), ("page", "digest"), ("note", "digest")):
        key = "url" if table == "page" else "key"
        cache.ask(f"UPDATE {table} SET {column} = (SELECT {column} FROM {table} WHERE {key} = 'b')")
    assert cache.shelf("a").listing() is None
    assert cache.page("a") is None
    assert cache.note("topic", "a") is None
    cache.close()


@pytest.mark.parametrize("damage", ["text", "head", "middle", "empty"])
def test_a_damaged_file_is_begun_anew(tmp_path: Path, damage: str) -> None:
    """Whatever has happened to the file: no exception, and the cache works again."""
    cache = Cache(tmp_path)
    cache.shelf("k").keep({f"{n}.py": os.urandom(3000) for n in range(50)})
    cache.close()
    file = the_file(tmp_path)
    data = bytearray(file.read_bytes())
    if damage == "text":
        data[:] = b"hello " * 999
    elif damage == "head":
        data[:200] = b"\xff" * 200
    elif damage == "middle":
        data[4096:-4096] = b"\xff" * len(data[4096:-4096])
    else:
        data.clear()
    file.write_bytes(data)
    for turn in (1, 2):
        cache = Cache(tmp_path)
        shelf = cache.shelf("new")
        for number in range(50):
            cache.shelf("k").read(f"{number}.py")
        if turn == 1:
            shelf.keep({"a.py": b"1"})
        assert shelf.read("a.py") == b"1"
        cache.close()


@pytest.mark.parametrize("fault", ["directory", "parent", "other tables"])
def test_a_cache_that_cannot_be_used_is_done_without(tmp_path: Path, fault: str) -> None:
    """It is said once, and everything works from memory."""
    place = tmp_path / "cache"
    if fault == "directory":
        (place / module._FILE).mkdir(parents=True)
    elif fault == "parent":
        place.write_text("a file")
    else:
        place.mkdir()
        base = sqlite3.connect(place / module._FILE)
        base.execute("CREATE TABLE blob (something)")
        base.close()
    said: list[str] = []
    cache = Cache(place, said.append)
    cache.shelf("k").keep({"a.py": b"1"})
    assert cache.shelf("k").read("a.py") == b"1"
    cache.close()
    assert len(said) == 1
    assert str(place) in said[0]


def test_a_full_disk_leaves_what_is_needed_now(tmp_path: Path) -> None:
    """What the file does not take is in memory for this process."""
    said: list[str] = []
    cache = Cache(tmp_path, said.append)
    cache.ask("PRAGMA max_page_count = 12")
    shelf = cache.shelf("k")
    shelf.keep({"a.py": os.urandom(100_000)})
    assert len(shelf.read("a.py") or b"") == 100_000
    assert len(said) == 1
    cache.close()


def test_it_does_not_grow_without_end(tmp_path: Path) -> None:
    """Above the limit the half that was not used for longest goes, and the file shrinks."""
    cache = Cache(tmp_path, limit=300_000)
    for number in range(10):
        cache.shelf(str(number)).keep({"a.py": os.urandom(50_000)})
        cache.ask("UPDATE archive SET used = ? WHERE key = ?", float(number), str(number))
    cache.keep_page("u", Page("u", "", "", 0.0, b"page"))
    cache.close()
    assert the_file(tmp_path).stat().st_size < 300_000
    cache = Cache(tmp_path)
    held = [bool(cache.shelf(str(number)).held(["a.py"])) for number in range(10)]
    assert held == [False] * 6 + [True] * 4
    assert cache.page("u")
    cache.close()


def test_using_a_release_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a listing counts as use, written down at most once a day."""
    cache = Cache(tmp_path)
    shelf = cache.shelf("k")
    shelf.keep_listing("a\t1\n")
    cache.ask("UPDATE archive SET used = 1.0")
    for _ in range(2):
        shelf.listing()
        [(used,)] = cache.ask("SELECT used FROM archive")
        assert used > 1e9
        monkeypatch.setattr(module.time, "time", lambda used=used: used + 3600)
    assert cache.ask("SELECT used FROM archive") == [(used,)]
    cache.close()


WRITER = """
import sys
from pathlib import Path
from patchkit.upstream.reading.cache import Cache
said = []
cache = Cache(Path(sys.argv[1]), said.append)
for number in range(60):
    shelf = cache.shelf(str(number))
    shelf.keep({f"{sys.argv[2]}.py": b"%d" % number, "same.py": b"same" * number})
    shelf.keep_listing(f"{number}")
    assert shelf.read(f"{sys.argv[2]}.py") == b"%d" % number
cache.close()
assert not said, said
"""


def test_processes_write_at_once(tmp_path: Path) -> None:
    """Four writers in one file: nothing is lost, nothing fails."""
    children = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "abcd"
    ]
    assert [child.wait(60) for child in children] == [0] * 4
    cache = Cache(tmp_path)
    for number in range(60):
        for name in "abcd":
            assert cache.shelf(str(number)).read(f"{name}.py") == b"%d" % number
    cache.close()


def test_a_writer_that_is_killed_leaves_a_cache(tmp_path: Path) -> None:
    """Killed in the middle of its work: what is there is whole, and the next one writes."""
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), "a"])
    while not list(tmp_path.glob("*.sqlite")):
        assert child.poll() is None
    child.kill()
    child.wait()
    cache = Cache(tmp_path)
    for number in range(60):
        assert cache.shelf(str(number)).read("a.py") in (None, b"%d" % number)
    cache.shelf("new").keep({"a.py": b"1"})
    assert cache.shelf("new").read("a.py") == b"1"
    cache.close()


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`$XDG_CACHE_HOME` where that is absolute, and else `~/.cache`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for home, base in (("/x", Path("/x")), ("x", tmp_path / ".cache"), ("", tmp_path / ".cache")):
        monkeypatch.setenv("XDG_CACHE_HOME", home)
        assert default_directory() == base / "patchkit" / "upstream"
