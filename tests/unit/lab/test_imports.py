"""How the modules of the lab import one another."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from folders import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LAB = REPOSITORY / "lab"


def name_of(file: Path) -> str:
    """The name by which a module of the lab is imported."""
    parts = file.relative_to(LAB).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imported_names(file: Path) -> Iterator[str]:
    """What a module imports, wherever in the module the statement is."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_module_of_the_lab_imports_itself_by_way_of_others() -> None:
    """Imports in functions count, too, and so do those for types alone."""
    names = {name_of(file): file for file in LAB.rglob("*.py")}
    graph = {
        name: {*imported_names(file)} & names.keys() for name, file in names.items()
    }
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("folders") < order.index("builds.vllm_0_7_3")
    assert order.index("builds.vllm_0_7_3") < order.index("environments")
