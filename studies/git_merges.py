"""Merges with git alone, and says which lines a merge has lost; for `rebased_rows.py`."""

from __future__ import annotations

import ast
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import DEFS


class Merge(NamedTuple):
    """What git makes of three versions.

    Args:
        is_clean: Whether there is no conflict.
        text: The merge, with upstream's lines of each conflict.
    """

    is_clean: bool
    text: str


def git_merge(ours: str, base: str, theirs: str) -> Merge:
    """Merge with git alone."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {"ours": ours, "base": base, "theirs": theirs}.items():
            Path(folder, name).write_text(f"{text.rstrip()}\n")
        plain, resolved = (
            subprocess.run(
                ["git", "merge-file", "-p", *words, "ours", "base", "theirs"],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            for words in ([], ["--theirs"])
        )
    assert 0 <= plain.returncode <= 127, plain.stderr
    return Merge(plain.returncode == 0, resolved.stdout.rstrip("\n"))


def code_lines(text: str) -> list[str]:
    """The lines of code as `ast` writes them, without docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (*DEFS, ast.ClassDef)) and ast.get_docstring(node):
            node.body[0] = ast.Pass()
    return [line.strip() for line in ast.unparse(tree).splitlines()]


def lines_lost(ours: str, base: str, theirs: str, merged: str) -> list[str]:
    """List the lines that a merge has more or less often than both sides together make it."""
    texts = (ours, base, theirs, merged)
    counts = [Counter(code_lines(text)) for text in texts]
    wrong: list[str] = []
    for line in set[str]().union(*counts):
        in_ours, in_base, in_theirs, in_merged = (count[line] for count in counts)
        expected = {in_ours + in_theirs - in_base}
        if in_ours == in_theirs:  # both have made the same change
            expected.add(in_ours)
        if in_merged not in expected:
            wrong.append(line)
    return wrong
