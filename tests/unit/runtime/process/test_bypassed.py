"""Modules that come into the process without an import that the finder sees."""

from __future__ import annotations

import json

import pytest
from support import packages
from support.packages import World, row

pytestmark = pytest.mark.processes

world = packages.world

WAYS = {
    "a finder in front": """
class Loader(SourceFileLoader): "As typeguard's and jaxtyping's, which rewrite what they load."
class Hook:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] != "up": return None
        spec = PathFinder.find_spec(name, path, target)
        spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec
sys.meta_path.insert(0, Hook())
import up.mod
""",
    "an alias": """
import up.elsewhere
sys.modules["up.mod"] = up.mod = up.elsewhere
""",
    "load_module": """
import warnings
import up
warnings.simplefilter("ignore")
SourceFileLoader("up.mod", up.__path__[0] + "/mod.py").load_module()
""",
    "pkgutil": """
import pkgutil, up
for found in pkgutil.iter_modules(up.__path__, "up."):
    if found.name == "up.mod":
        spec = found.module_finder.find_spec(found.name, None)
        sys.modules[found.name] = up.mod = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(up.mod)
""",
}
BEGIN = """
import importlib.util, json, os, sys, time
import up
import patchkit.auto
from importlib.machinery import PathFinder, SourceFileLoader
from patchkit import Role
session = patchkit.auto.session
"""
BY = (
    "def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))\n"
)


@pytest.fixture
def upstream(world: World) -> World:
    for name in ("mod", "elsewhere"):
        world.module(f"up.{name}", "def function(): return 'old'\n")
    world.pack(row("p", "patch_a", "Wrap('up.mod:function', by='by')"), patch_a=BY)
    return world


@pytest.mark.parametrize("way", WAYS)
def test_a_role_that_was_entered_looks_again(upstream: World, way: str) -> None:
    """At its next entry what nobody told of is applied; status never says that it is not there."""
    code = """
before = sys.modules["up.mod"].function()
session.enter(Role.MAIN)
print(json.dumps([before, sys.modules["up.mod"].function(), session.states["p"].status]))
"""
    found = upstream.answer(BEGIN + WAYS[way] + code, PATCHKIT_VERIFY="0")
    assert found == ["old", ["by", "old"], "applied"]


@pytest.mark.parametrize("way", WAYS)
def test_a_process_that_looks_again_by_itself(upstream: World, way: str) -> None:
    """Also where nothing is applied yet, and no role is entered again."""
    code = """
end = time.monotonic() + 20
while (found := sys.modules["up.mod"].function()) == "old" and time.monotonic() < end:
    time.sleep(0.01)
print(json.dumps(found))
"""
    assert upstream.answer(BEGIN + WAYS[way] + code, PATCHKIT_VERIFY="0.05") == [
        "by",
        "old",
    ]


def test_what_cannot_be_applied_late_says_so(upstream: World) -> None:
    """A change that had to come before the module fails, in words, at the next entry."""
    upstream.pack(
        row("p", "patch_a", "BeforeImport('up.mod', call='before')", required="False"),
        patch_a="def before(): ...\n",
    )
    code = "session.enter(Role.MAIN)\nprint(json.dumps(session.states['p'].reason))\n"
    reason = upstream.answer(BEGIN + WAYS["an alias"] + code, PATCHKIT_VERIFY="0")
    assert (
        reason == "ApplyError: up.mod was imported before patchkit could run before it"
    )


def test_status_claims_nothing_that_nobody_knows(upstream: World) -> None:
    """Before the process looks again, an import that went by is one that was not seen."""
    upstream.answer(
        BEGIN + WAYS["load_module"] + "print(json.dumps(0))", PATCHKIT_VERIFY="0"
    )
    done = upstream.run(
        "-m", "patchkit", "status", str(upstream.journal), "--format", "json"
    )
    (process,) = json.loads(done.stdout)["processes"]
    states = {one["name"]: (one["status"], one["reason"]) for one in process["patches"]}
    assert states["p"] == ("armed", "no import of its target has been seen")
