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
    """Write two upstream modules, and a patch of the first one."""
    for name in ("mod", "elsewhere"):
        world.module(f"up.{name}", "def function(): return 'old'\n")
    world.pack(row("p", "patch_a", "Wrap('up.mod:function', by='by')"), patch_a=BY)
    return world


@pytest.mark.parametrize("way", WAYS)
def test_entering_a_role_again_applies_what_the_finder_missed(
    upstream: World, way: str
) -> None:
    """Entering a role again patches a module that came in without the finder."""
    code = """
before = sys.modules["up.mod"].function()
session.enter(Role.MAIN)
print(json.dumps([before, sys.modules["up.mod"].function(), session.states["p"].status]))
"""
    seen = upstream.answer(BEGIN + WAYS[way] + code, PATCHKIT_VERIFY="0")
    assert seen == ["old", ["by", "old"], "applied"]


@pytest.mark.parametrize("way", WAYS)
def test_a_look_applies_what_the_finder_missed(upstream: World, way: str) -> None:
    """A process patches a module that came in without the finder, with no role entered again."""
    code = """
end = time.monotonic() + 20
while (found := sys.modules["up.mod"].function()) == "old" and time.monotonic() < end:
    time.sleep(0.01)
print(json.dumps(found))
"""
    answer = upstream.answer(BEGIN + WAYS[way] + code, PATCHKIT_VERIFY="0.05")
    assert answer == ["by", "old"]


def test_a_before_import_whose_module_the_finder_missed_fails(upstream: World) -> None:
    """A `BeforeImport` fails at the next role entry, as its module was imported first."""
    upstream.pack(
        row("p", "patch_a", "BeforeImport('up.mod', call='before')", required="False"),
        patch_a="def before(): ...\n",
    )
    code = "session.enter(Role.MAIN)\nprint(json.dumps(session.states['p'].reason))\n"
    reason = upstream.answer(BEGIN + WAYS["an alias"] + code, PATCHKIT_VERIFY="0")
    assert (
        reason == "ApplyError: up.mod was imported before patchkit could run before it"
    )


def test_status_of_a_patch_whose_target_the_finder_missed(upstream: World) -> None:
    """Until the process looks again, status says that no import of the target has been seen."""
    upstream.answer(
        BEGIN + WAYS["load_module"] + "print(json.dumps(0))", PATCHKIT_VERIFY="0"
    )
    done = upstream.run(
        "-m", "patchkit", "status", str(upstream.journal), "--format", "json"
    )
    (process,) = json.loads(done.stdout)["processes"]
    patches = {patch["name"]: patch for patch in process["patches"]}
    assert patches["p"]["status"] == "armed"
    assert patches["p"]["reason"] == "no import of its target has been seen"
