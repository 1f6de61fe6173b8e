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
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_of_the_users_own(cache: Path) -> None:
    """It has the text and the module's last name, and nobody else can read or write it."""
    file = Path(publish(TEXT, "/site-packages/up/mod.py"))
    assert (file.read_text("utf-8"), file.name) == (TEXT, "mod.py")
    assert file.is_relative_to(cache / "patchkit" / "edited")
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)
    assert [entry.name for entry in file.parent.iterdir()] == ["mod.py"]


def test_the_same_text_is_the_same_file() -> None:
    """Processes share it, and write it once."""
    file = Path(publish(TEXT, "mod.py"))
    before = file.stat()
    assert publish(TEXT, "mod.py") == str(file)
    assert file.stat() == before
    assert publish(TEXT + "\n", "mod.py") != str(file)


def test_a_file_that_holds_something_else_is_written_anew() -> None:
    """What a process shows is what it runs."""
    file = Path(publish(TEXT, "mod.py"))
    file.write_text("broken")
    publish(TEXT, "mod.py")
    assert file.read_text("utf-8") == TEXT


def test_a_file_that_was_cleaned_away_is_remembered() -> None:
    """Tracebacks of a process that lives on still have their lines."""
    file = publish(TEXT, "mod.py")
    Path(file).unlink()
    linecache.checkcache(file)
    assert linecache.getline(file, 2) == "    return 'ü'\n"


@pytest.mark.parametrize("fault", ["file", "open", "foreign", "link"])
def test_where_nothing_can_be_written_it_is_kept_in_memory(
    cache: Path, fault: str
) -> None:
    """A home that cannot be written, or a folder in which others could write: the text is known."""
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
def test_a_cache_folder_that_is_none(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one, or with a relative one, it is that in the user's home."""
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder() == tmp_path / ".cache" / "patchkit" / "edited"
