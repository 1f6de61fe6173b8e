from __future__ import annotations

from patchkit.upstream.reading.files import Files
from upstream.memory import Memory


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
