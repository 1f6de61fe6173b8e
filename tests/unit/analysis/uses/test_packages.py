"""Packages that need not know patchkit, as their uses are kept."""

from __future__ import annotations

from analysis.check.released import Memory
from patchkit.analysis.uses.packages import content_hash


def test_names_of_files_may_have_any_bytes() -> None:
    """Linux has them, and Python says them as surrogates; two names are told apart."""
    hashes = {
        content_hash(Memory("up 1.0", "1.0", {f"up/m{byte}.py": ""}))
        for byte in ("\udcff", "\udcfe", "a")
    }
    assert len(hashes) == 3
