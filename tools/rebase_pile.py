#!/usr/bin/env python3
"""Carry other people's replacements of vLLM's functions to a later release, and count what merges.

`python tools/rebase_pile.py WHEEL OLD NEW` makes a row of each plain assignment below
`vllm_ascend/patch/` of a wheel whose value is a function of the same file, and rebases those whose
target changed between the releases. It compares each merge with one by `merge3`, where that is
installed: no line that one side wrote is to be lost. Nothing of the wheel is imported.
"""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from typing import TYPE_CHECKING

import ascend_targets as pile

if TYPE_CHECKING:
    from collections.abc import Iterator

LIKE = 0.4
"""A function that shares less with upstream's, 0 to 1, is no copy of it."""


def replacements(content: bytes) -> Iterator[tuple[str, str]]:
    """Name what is assigned, and the function of the same file that it becomes."""
    scope, tree = pile.Scope(), ast.parse(content)
    defined = {one.name for one in tree.body if isinstance(one, pile.FUNCTIONS)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            scope.bind_import(node)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and node.value.id in defined:
                    yield from ((place, node.value.id) for place in scope.dotted(target))


def lines_of(base: str, text: str, mark: str) -> Counter[str]:
    """Count the lines that a side added (`+`) or took away (`-`), blank ones left out."""
    found = difflib.ndiff(base.splitlines(), text.splitlines())
    return Counter(
        one[2:].strip() for one in found if one.startswith(f"{mark} ") and one[2:].strip()
    )
