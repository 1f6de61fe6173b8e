"""The table of docs/processes.md says what real engines have shown."""

from __future__ import annotations

import json
import re

import pytest
from support.packages import REPOSITORY

from patchkit import Role

PAGE = (REPOSITORY / "docs" / "processes.md").read_text("utf-8")
TABLE = REPOSITORY / "patchkit" / "analysis" / "check" / "vllm_roles.json"
MODULES: dict[str, list[str]] = json.loads(TABLE.read_text("utf-8"))["modules"]
ROWS: dict[str, str] = dict(
    re.findall(r"^\| `(vllm[\w.]*)` \| ([\w, -]+) \|", PAGE, re.MULTILINE)
)


def prefix_of(module: str) -> str:
    """The longest prefix of the page that a module has."""
    prefixes = [prefix for prefix in ROWS if f"{module}.".startswith(f"{prefix}.")]
    return max(prefixes, key=len, default="")


@pytest.mark.parametrize("prefix", ROWS)
def test_a_row_has_the_roles_of_its_modules(prefix: str) -> None:
    """They are the roles in which functions of these modules were called."""
    seen = {
        role
        for module, roles in MODULES.items()
        if prefix_of(module) == prefix
        for role in roles
    }
    assert ROWS[prefix] == ", ".join(str(role) for role in Role if str(role) in seen)


def test_most_modules_are_in_the_table() -> None:
    """The page is about those that people patch, and counts all."""
    covered = [module for module in MODULES if prefix_of(module)]
    assert len(covered) > 0.75 * len(MODULES)
    assert f"{len(MODULES)} modules" in PAGE
