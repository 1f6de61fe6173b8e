"""How the memory of a server's processes is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.load_servers import (
    anonymous_in,
    memory_of_session,
    session_in,
    sizes_in,
)

ROLLUP = """55b91f944000-7ffc2fc0e000 ---p 00000000 00:00 0                          [rollup]
Rss:              617756 kB
Pss:              300285 kB
Pss_Anon:         250112 kB
Pss_File:          50173 kB
Anonymous:        400112 kB
"""
CHILDREN = """
import os, sys
held = bytearray(50_000_000)  # written to, so that it is there
for number in range(0, len(held), 4096):
    held[number] = 1
if os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
print("ready", flush=True)
sys.stdin.read()
os.wait()
"""


def test_memory_of_a_file_does_not_count() -> None:
    """What two servers map of one library is there once, whoever runs."""
    assert anonymous_in(ROLLUP) == 250112 * 1024
    assert anonymous_in("") == 0


def test_the_name_of_a_program_may_hold_anything() -> None:
    """The session is the fourth field after the name."""
    assert session_in("12 (VLLM::Worker) 3) S 1 12 11 0 -1 4194560") == 11


def test_a_folder_is_as_large_as_its_files(tmp_path: Path) -> None:
    """Each journal is a file."""
    (tmp_path / "a.jsonl").write_bytes(b"12345")
    (tmp_path / "b.jsonl").write_bytes(b"123")
    assert sorted(sizes_in(tmp_path)) == [3, 5]


@pytest.mark.processes
@pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="a kernel without smaps_rollup"
)
def test_what_a_fork_shares_counts_once() -> None:
    """The memory of a session is that of all its processes, and of no other."""
    with subprocess.Popen(
        [sys.executable, "-c", CHILDREN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as leader:
        assert leader.stdout is not None
        leader.stdout.readline()
        found = memory_of_session(leader.pid)
        leader.communicate(timeout=30)
    assert 50_000_000 < found < 85_000_000
    assert memory_of_session(leader.pid) == 0
