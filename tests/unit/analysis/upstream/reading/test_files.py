from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.upstream.memory import Memory
from patchkit.analysis.upstream.reading.files import Files, ParsedFiles

if TYPE_CHECKING:
    import pytest


def test_the_files_that_were_asked_for_last_stay_parsed() -> None:
    """As many as a limit allows: a look at a thousand files does not hold a thousand trees."""
    source = Memory(dict.fromkeys(("a", "b", "c"), "#" * 300_000))
    files = Files(source)
    for path in ("a.py", "b.py", "a.py", "c.py", "a.py", "b.py"):
        files.parsed(path)
    assert source.read_paths == ["a.py", "b.py", "c.py", "b.py"]


def test_a_file_that_is_larger_than_that_is_parsed_all_the_same() -> None:
    """It is the only one that stays."""
    source = Memory({"a": "x = 1\n" + "#" * 2_000_000})
    found = Files(source).parsed("a.py")
    assert found is not None
    assert len(found.tree.body) == 1


def test_what_other_releases_parsed_is_fetched_at_once_where_it_is_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It will be asked for again; what is the same there need not be, and what is absent cannot."""
    shared, fetched = ParsedFiles(), list[str]()
    old = Memory({"same": "a = 1", "other": "a = 1", "gone": "a = 1", "kept": "a = 1"})
    new = Memory({"same": "a = 1", "other": "a = 22", "kept": "a = 1", "more": "a = 1"})
    for path in old.paths():
        Files(old, shared=shared).parsed(path)
    monkeypatch.setattr(new, "prefetch", fetched.extend)
    Files(new, shared=shared).prefetch_unparsed(["more.py", "kept.py"])
    assert {one for one in fetched if new.has(one)} == {"more.py", "other.py"}
    shared.forget()
    Files(new, shared=shared).prefetch_unparsed(["kept.py"])
    assert {one for one in fetched if new.has(one)} == {
        "more.py",
        "other.py",
        "kept.py",
    }
