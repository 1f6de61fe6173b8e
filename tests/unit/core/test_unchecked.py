"""Beartype's import hooks beside patchkit."""

from __future__ import annotations

import pytest
from support import packages
from support.packages import World, row

pytestmark = pytest.mark.processes

world = packages.world

# The hooks cannot load this dependency, whoever imports it: its annotations are like ours.
PACKAGING = "import packaging.markers, packaging.requirements, packaging.specifiers\n"
HOOK = f"{PACKAGING}from beartype.claw import beartype_all\nbeartype_all()\n"
USE = """
import json, up.mod
from patchkit import applied
seen = [up.mod.function()]
with applied("q"): seen.append(up.mod.function())
print(json.dumps(seen))
"""


@pytest.mark.parametrize(
    "begin",
    [
        HOOK + "import patchkit.auto\n",
        "import patchkit.auto\n" + HOOK,
        "import beartype.claw, patchkit.auto\n" + HOOK,
    ],
)
def test_all_of_patchkit_runs_under_a_hook_for_everything(
    world: World, begin: str
) -> None:
    """Patches are applied and undone, whether the hook or patchkit was there first."""
    world.module("up.mod", "def function() -> str: return 'old'\n")
    by = "def by(wrapped, instance, args, kwargs): return f'by {wrapped(*args, **kwargs)}'\n"
    rows = [row(name, "patch_a", "Wrap('up.mod:function', by='by')") for name in "pq"]
    world.pack(rows[0], rows[1].replace("Role.MAIN", "Role.WORKER"), patch_a=by)
    assert world.answer(begin + USE) == ["by old", "by by old"]


def test_a_hook_that_was_asked_for_patchkit_is_no_error(world: World) -> None:
    """Patchkit is imported without an error where a hook was asked for one of its modules."""
    code = """
import json
from beartype import BeartypeConf
from beartype.claw import beartype_package
beartype_package("patchkit.core.versions.requirements", conf=BeartypeConf(is_debug=False))
import patchkit
print(json.dumps(patchkit.Role.MAIN))
"""
    assert world.answer(code) == "main"
