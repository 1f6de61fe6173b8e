from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.upstream.memory import Memory
from patchkit.analysis.upstream.reading.files import Files, ParsedFiles

if TYPE_CHECKING:
    import pytest


def test_the_files_that_were_used_last_stay_parsed() -> None:
    """Above the limit, the file that was unused longest is dropped, and read again if needed."""
    source = Memory(dict.fromkeys(("a", "b", "c"), "#" * 300))
    files = Files(source, shared=ParsedFiles(limit=800))
    for path in ("a.py", "b.py", "a.py", "c.py", "a.py", "b.py"):
        files.parsed(path)
    assert source.read_paths == ["a.py", "b.py", "c.py", "b.py"]


def test_a_file_above_the_limit_is_parsed_too() -> None:
    """A file that is larger than the limit of what stays is parsed all the same."""
    source = Memory({"a": "x = 1\n" + "#" * 2_000_000})
    parsed = Files(source).parsed("a.py")
    assert parsed is not None
    assert len(parsed.tree.body) == 1


def test_prefetches_what_differs_from_what_other_releases_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Named files that are not parsed, and files of other releases that differ, are fetched."""
    shared = ParsedFiles()
    fetched: list[str] = []
    old = Memory({"same": "a = 1", "other": "a = 1", "gone": "a = 1", "kept": "a = 1"})
    new = Memory({"same": "a = 1", "other": "a = 22", "kept": "a = 1", "more": "a = 1"})
    for path in old.paths():
        Files(old, shared=shared).parsed(path)
    monkeypatch.setattr(new, "prefetch", fetched.extend)
    Files(new, shared=shared).prefetch_unparsed(["more.py", "kept.py"])
    assert {path for path in fetched if new.has(path)} == {"more.py", "other.py"}
    shared.forget()
    Files(new, shared=shared).prefetch_unparsed(["kept.py"])
    with_kept = {"more.py", "other.py", "kept.py"}
    assert {path for path in fetched if new.has(path)} == with_kept
