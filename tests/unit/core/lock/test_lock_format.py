from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.odd_places import hole

from patchkit.core.lock.format import Lock, Span, parse_lock, read_lock, write_lock
from patchkit.errors import LockError

SPAN = Span("0123456789abcdef", "vllm", "0.11.1", "0.13.0")
WRITTEN = SPAN._replace(wordings=("0" * 16, "1" * 16))
LOCK = Lock(
    {
        "b": {"m:g": [WRITTEN], "m:f": [SPAN._replace(last="0.11.1")]},
        "a": {"m:T['x y']": []},
    }
)

TEXT = """\
# What has been reviewed of upstream. `patchkit lock` writes this file; review its diff.
format 2

a
  m:T['x y']

b
  m:f
    0123456789abcdef  vllm 0.11.1
  m:g
    0123456789abcdef  vllm 0.11.1 - 0.13.0
      written 0000000000000000 1111111111111111
"""

MARKS = st.integers(0, (1 << 64) - 1).map(lambda number: f"{number:016x}")
VERSIONS = st.sampled_from(["0.1", "0.10.1", "0.10.2.post1", "2.60.0", "7"])
PROJECTS = st.sampled_from(["vllm", "ray", "torch-npu"])
WORDINGS = st.lists(MARKS, max_size=12).map(tuple)
SPANS = st.builds(Span, MARKS, PROJECTS, VERSIONS, VERSIONS, WORDINGS)
TARGETS = st.dictionaries(
    st.sampled_from(["a.b:c", "a:T['k']", "a:C.f"]), st.lists(SPANS)
)
LOCKS = st.builds(
    Lock, st.dictionaries(st.sampled_from(["a", "a-b", "ray-worker", "z9"]), TARGETS)
)


def test_the_file_is_sorted_and_small() -> None:
    """Patches and targets in order, one line for each run of releases."""
    assert LOCK.text() == TEXT


@given(LOCKS)
def test_what_is_written_is_read(lock: Lock) -> None:
    """Writing and reading give the same lock."""
    assert parse_lock(lock.text()) == lock


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("", 1, "''"),
        ("format 3\n", 1, "install the patchkit that wrote it"),
        ("format 10\n", 1, "install the patchkit that wrote it"),
        ("format 1\n", 1, "delete it and run `patchkit lock`"),
        ("format 2\na b\n", 2, "'a b'"),
        ("format 2\na\na\n", 3, "'a'"),
        ("format 2\n  m:f\n", 2, "'m:f'"),
        ("format 2\na\n  m:f\n  m:f\n", 4, "'m:f'"),
        ("format 2\na\n    0123456789abcdef  vllm 1\n", 3, "vllm 1"),
        ("format 2\na\n  m:f\n    0123  vllm 1\n", 4, "0123"),
        ("format 2\na\n<<<<<<< ours\n", 3, "<<<<<<< ours"),
        ("format 2\n\n# said\na\n   m:f\n", 5, "m:f"),
    ],
)
def test_a_malformed_lock_is_one_error_with_its_line(
    text: str, line: int, found: str
) -> None:
    """A malformed lock is a LockError with the file, the line and what was found there."""
    with pytest.raises(LockError) as caught:
        parse_lock(text, "my.lock")
    assert str(caught.value).startswith(f"my.lock:{line}: found ")
    assert found in str(caught.value)


def test_a_lock_is_written_without_a_temporary_file_left(tmp_path: Path) -> None:
    """Writing leaves the lock alone in its folder; one that cannot be written is a LockError."""
    file = tmp_path / "patchkit.lock"
    assert not read_lock(file)
    write_lock(file, LOCK)
    assert read_lock(file) == LOCK
    assert [path.name for path in tmp_path.iterdir()] == ["patchkit.lock"]
    with pytest.raises(LockError, match="cannot be written"):
        write_lock(tmp_path / "none" / "patchkit.lock", LOCK)


def test_fingerprints_of_a_target() -> None:
    """`fingerprints` returns those of a patch's target, and none for an unknown patch or target."""
    assert LOCK.fingerprints("b", "m:g") == {"0123456789abcdef"}
    assert LOCK.fingerprints("b", "m:other") == frozenset()
    assert LOCK.fingerprints("c", "m:g") == frozenset()


def test_what_a_line_holds_is_not_repeated_whole() -> None:
    """A lock that is one line of megabytes is one short error."""
    with pytest.raises(LockError) as caught:
        parse_lock("x" * 3_000_000)
    assert len(str(caught.value)) < 300


def test_a_file_without_an_end_is_refused(tmp_path: Path) -> None:
    """Nothing of it is read."""
    hole(tmp_path / "patchkit.lock")
    with pytest.raises(LockError, match="has more than 64 MB"):
        read_lock(tmp_path / "patchkit.lock")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Nor is a device read for ever."""
    os.mkfifo(tmp_path / "patchkit.lock")
    for file in (tmp_path / "patchkit.lock", Path("/dev/zero")):
        with pytest.raises(LockError, match="no regular file"):
            read_lock(file)
