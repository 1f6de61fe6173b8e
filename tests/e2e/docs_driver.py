"""Run the Python blocks of a page in order, in one namespace; every target that they name is there.

`python docs_driver.py BLOCKS.json`, which holds what comes before, the blocks, and what follows.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import patchkit
from patchkit import Patch
from patchkit.analysis.check.opening import installed
from patchkit.analysis.check.packages import allows
from patchkit.core.rows.declaration import Add, AddField, Change, Provide
from patchkit.core.versions.installed import Versions
from patchkit.settings import Settings


def values_of(source: str, space: dict[str, Any]) -> list[object]:
    """Run a block; return what its expressions come to, and what it binds."""
    found: list[object] = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.Expr):
            found.append(
                eval(compile(ast.Expression(node.value), "block", "eval"), space)
            )
            continue
        before = dict(space)
        exec(compile(ast.Module([node], []), "block", "exec"), space)
        found += [
            value for name, value in space.items() if before.get(name) is not value
        ]
    return found


def changes_in(value: object) -> list[Change]:
    """Every change that a value is, or holds."""
    if isinstance(value, Change):
        return [value]
    if isinstance(value, Patch):
        return [
            one for one in value.changes if allows(value.requires, "vllm", "0.32.0")
        ]
    return (
        [one for each in value for one in changes_in(each)]
        if isinstance(value, tuple)
        else []
    )


def main() -> None:
    """Run them, and look every target up that is vLLM's and is for this release."""
    sys.path.insert(0, "")  # files that the page has written
    before, blocks, after = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    space = {name: getattr(patchkit, name) for name in patchkit.__all__}
    exec(before, space)
    values = [value for block in blocks for value in values_of(block, space)]
    exec(after, space)
    (vllm,), _ = installed(["vllm"], Versions.of(Settings.read()))
    for change in {
        str(one.place): one for value in values for one in changes_in(value)
    }.values():
        is_due = allows(change.requires, "vllm", "0.32.0")
        if (
            change.place.module.startswith("vllm")
            and is_due
            and not isinstance(change, Provide)
        ):
            is_new = isinstance(change, Add)
            assert vllm.facts(change.place).is_present is not is_new, change
            assert (
                not isinstance(change, AddField)
                or vllm.facts(change.place).kind == "class"
            )


if __name__ == "__main__":
    main()
