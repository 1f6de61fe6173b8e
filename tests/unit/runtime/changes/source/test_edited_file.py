from __future__ import annotations

import linecache
import stat
from pathlib import Path

import pytest

from patchkit.runtime.changes.source.recompile import folder, publish

TEXT = "def f():\n    return 'ü'\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder for one test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def mode(path: Path) -> int:
    """The permissions of a file or folder."""
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_of_the_users_own(cache: Path) -> None:
    """`publish` writes the text to a file of the module's name that only the user may access."""
    file = Path(publish(TEXT, "/site-packages/up/mod.py"))
    assert (file.read_text("utf-8"), file.name) == (TEXT, "mod.py")
    assert file.is_relative_to(cache / "patchkit" / "edited")
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)
    assert [entry.name for entry in file.parent.iterdir()] == ["mod.py"]


def test_the_same_text_is_the_same_file() -> None:
    """`publish` leaves a file that has the text as it is, and writes another text to another."""
    file = Path(publish(TEXT, "mod.py"))
    before = file.stat()
    assert publish(TEXT, "mod.py") == str(file)
    assert file.stat() == before
    assert publish(TEXT + "\n", "mod.py") != str(file)


def test_a_file_that_holds_something_else_is_written_anew() -> None:
    """`publish` restores a file that somebody has changed."""
    file = Path(publish(TEXT, "mod.py"))
    file.write_text("broken")
    publish(TEXT, "mod.py")
    assert file.read_text("utf-8") == TEXT


def test_a_file_that_was_cleaned_away_is_remembered() -> None:
    """`linecache` still has its lines, for tracebacks of a process that lives on."""
    file = publish(TEXT, "mod.py")
    Path(file).unlink()
    linecache.checkcache(file)
    assert linecache.getline(file, 2) == "    return 'ü'\n"


@pytest.mark.parametrize("fault", ["file", "open", "foreign", "link"])
def test_where_nothing_can_be_written_it_is_kept_in_memory(
    cache: Path, fault: str
) -> None:
    """Without a folder of the user's own, `linecache` has the text under a name that is no file."""
    place = cache / "patchkit" / "edited"
    if fault == "file":
        cache.write_text("in the way")
    elif fault == "open":
        place.mkdir(parents=True)
        place.chmod(0o777)
    elif fault == "link":
        (cache / "elsewhere").mkdir(parents=True)
        place.parent.mkdir()
        place.symlink_to(cache / "elsewhere")
    else:
        (cache / "patchkit").mkdir(parents=True)
        place.touch()
    name = publish(TEXT, "/up/mod.py")
    assert name.startswith("<patchkit edit of /up/mod.py ")
    linecache.checkcache(name)
    assert linecache.getlines(name) == TEXT.splitlines(keepends=True)


@pytest.mark.parametrize("value", ["", "relative/cache"])
def test_an_empty_or_relative_cache_home(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an empty or relative XDG_CACHE_HOME, the folder lies in `.cache` of the user's home."""
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder() == tmp_path / ".cache" / "patchkit" / "edited"
