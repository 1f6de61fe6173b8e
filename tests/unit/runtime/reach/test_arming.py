from __future__ import annotations

import json

import pytest
from support import packages
from support.packages import World, row
from support.programs import program

pytestmark = pytest.mark.processes

world = packages.world

WRAP = "Wrap('up.mod:function', by='by')"
BY = (
    "def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))\n"
)


@pytest.fixture
def upstream(world: World) -> World:
    """An upstream with one function, and a pack that wraps it."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(row("p", "patch_a", WRAP), patch_a=BY)
    return world


def test_arming_costs_no_heavy_import(upstream: World) -> None:
    """Arming imports neither vLLM, torch, Ray, wrapt nor a body, nor what takes long to import."""
    upstream.module("vllm", "raise AssertionError")
    upstream.module("torch", "raise AssertionError")
    upstream.module("ray", "raise AssertionError")
    code = """
import json, sys, patchkit.runtime.reach.arming
before = set(sys.modules)
patchkit.runtime.reach.arming.arm()
print(json.dumps(sorted(name for name in sys.modules if name.partition(".")[0] in
    {"vllm", "torch", "ray", "wrapt", "up", "multiprocessing", "click", "rich", "asyncio"}
    or name.startswith("pack.patch_"))))
"""
    assert upstream.answer(code) == []


def test_a_process_is_armed_once(upstream: World) -> None:
    """Whichever way of arming comes second finds the session of the first."""
    code = """
import json, sys
from patchkit.runtime.reach.arming import arm, current
before = current()
first = arm()
finders = list(sys.meta_path)
import patchkit.auto, patchkit.runtime.reach.vllm_plugin
patchkit.runtime.reach.vllm_plugin.platform(), patchkit.runtime.reach.vllm_plugin.general()
names = [type(finder).__name__ for finder in finders]
print(json.dumps([before, arm() is first is current() is patchkit.auto.session,
                  finders == sys.meta_path, names.count("Finder")]))
"""
    assert upstream.answer(code) == [None, True, True, 1]
    assert sum(entry["event"] == "armed" for entry in upstream.entries()) == 1


@pytest.mark.parametrize(
    ("variable", "was", "now"),
    [
        ("PATCHKIT_PATCHES", "not set", "'pack'"),
        ("PATCHKIT_DISABLE", "not set", "'p,q'"),
        ("PATCHKIT_VERSIONS", "not set", "'up=1.0'"),
        ("VLLM_VERSION", "not set", "'0.32.0'"),
        ("PATCHKIT_ON_FAILURE", "'stop'", "'warn'"),
    ],
)
def test_auto_after_the_plugin_with_other_settings_is_refused(
    upstream: World, variable: str, was: str, now: str
) -> None:
    """The error says what armed the process first, and which setting has changed since."""
    code = f"""
import os
from patchkit.runtime.reach import vllm_plugin
os.environ.pop({variable!r}, None)
vllm_plugin.platform()
os.environ[{variable!r}] = {now}
import patchkit.auto
"""
    done = upstream.run("-c", code)
    assert done.returncode == 1
    error = done.stderr.splitlines()[-1]
    assert error.startswith(
        "patchkit.errors.SettingsError: vLLM's plugin has armed patchkit"
    )
    assert f"{variable} was {was}, and is {now} now" in error


def test_auto_within_a_block_with_other_settings_is_refused(upstream: World) -> None:
    """A block's session does not become the process's if a setting has changed since it began."""
    code = """
import os, patchkit
with patchkit.applied():
    os.environ["PATCHKIT_ONLY"] = "p"
    import patchkit.auto
"""
    done = upstream.run("-c", code)
    assert "a block of patchkit.applied has armed patchkit" in done.stderr


def test_settings_that_decide_nothing_may_change(upstream: World) -> None:
    """A log, verify or journal setting that changes after arming is no error."""
    code = """
import os
from patchkit.runtime.reach import vllm_plugin
vllm_plugin.platform()
os.environ.update(PATCHKIT_LOG="info", PATCHKIT_VERIFY="0", PATCHKIT_JOURNAL="elsewhere")
import json, patchkit.auto, up.mod
print(json.dumps(up.mod.function()))
"""
    assert upstream.answer(code) == ["by", "old"]


def test_threads_arm_one_session(upstream: World) -> None:
    """Threads that arm at the same time make one session, and apply each patch once."""
    code = """
import json, sys, threading
sys.setswitchinterval(1e-6)
from patchkit.runtime.reach.arming import arm
barrier, sessions = threading.Barrier(6), []
def work():
    barrier.wait(10)
    sessions.append(id(arm()))
    import up.mod
threads = [threading.Thread(target=work, daemon=True) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join(20)
import up.mod
print(json.dumps([len(sessions), len(set(sessions)), up.mod.function()]))
"""
    assert upstream.answer(code) == [6, 1, ["by", "old"]]
    assert sum(entry["event"] == "armed" for entry in upstream.entries()) == 1


def test_an_import_that_began_before_the_finder_was_there(upstream: World) -> None:
    """Another thread is about to load a target when this one arms: it is patched all the same."""
    code = program(__file__, "import_before_the_finder")
    assert upstream.answer(code) == ["by", "old"]


@pytest.mark.parametrize("way", ["auto", "plugin"])
def test_patchkit_0_arms_nothing(upstream: World, way: str) -> None:
    """PATCHKIT=0: no session, no finder, no hook, no file, however it comes in."""
    code = f"""
import json, multiprocessing.process, sys
from patchkit.runtime.imports.finder import BodyFinder
start = multiprocessing.process.BaseProcess.start
if {way!r} == "auto":
    import patchkit.auto
else:
    import patchkit.runtime.reach.vllm_plugin
    patchkit.runtime.reach.vllm_plugin.platform(), patchkit.runtime.reach.vllm_plugin.general()
from patchkit.runtime.reach.arming import current
import up.mod
ours = [f for f in sys.meta_path if type(f).__module__.startswith("patchkit")]
print(json.dumps([current(), up.mod.function(), start is multiprocessing.process.BaseProcess.start,
                  [type(f).__name__ for f in ours if not isinstance(f, BodyFinder)]]))
"""
    assert upstream.answer(code, PATCHKIT="0") == [None, "old", True, []]
    assert upstream.entries() == []


@pytest.mark.parametrize("way", ["auto", "vllm_plugin", "sglang_plugin"])
def test_patchkit_0_minds_no_other_variable(upstream: World, way: str) -> None:
    """With PATCHKIT=0 a malformed setting or a missing pack stops nothing, whatever the way in."""
    code = "import patchkit.auto"
    if way != "auto":
        code = f"from patchkit.runtime.reach import {way}\n{way}.general()"
    malformed = {
        "PATCHKIT_ON_FAILURE": "sotp",
        "PATCHKIT_VERIFY": "abc",
        "PATCHKIT_VERSIONS": "vllm",
        "PATCHKIT_PATCHES": "no_such_pack",
    }
    done = upstream.run("-c", f"{code}\nprint('ran')", PATCHKIT="0", **malformed)
    assert (done.stdout, done.stderr) == ("ran\n", "")


def test_a_malformed_setting_is_an_error_every_time(upstream: World) -> None:
    """`arm` raises the error again after somebody swallowed it: the process is not armed."""
    code = """
from patchkit.errors import SettingsError
from patchkit.runtime.reach.arming import arm
for _ in range(2):
    try:
        arm()
    except SettingsError as error:
        print(error)
"""
    done = upstream.run("-c", code, PATCHKIT_ON_FAILURE="perhaps")
    assert done.stdout.count("PATCHKIT_ON_FAILURE: found 'perhaps'") == 2


def test_a_missing_pack_is_an_error_every_time(upstream: World) -> None:
    """`arm` raises the error of a pack that cannot be read at each call."""
    code = """
from patchkit.errors import DeclarationError
from patchkit.runtime.reach.arming import arm
for _ in range(2):
    try:
        arm()
    except DeclarationError as error:
        print("told", error.pack)
"""
    done = upstream.run("-c", code, PATCHKIT_PATCHES="no_such_pack")
    assert done.stdout == "told no_such_pack\n" * 2


def test_every_process_writes_a_journal(upstream: World) -> None:
    """The journal has the arming of the process, its role, and what was applied, in this order."""
    upstream.run("-c", "import patchkit.auto, up.mod")
    armed, *later = upstream.entries()
    assert armed["event"] == "armed"
    assert "p" in armed["patches"]
    steps = [
        entry.get("role") or entry["status"]
        for entry in later
        if entry["event"] == "role" or entry.get("name") == "p"
    ]
    assert steps == ["main", "applied"]


def test_arriving_twice_changes_nothing(upstream: World) -> None:
    """A role that arrives again, or no role, leaves a child's roles and journal as they are."""
    code = """
import json
from patchkit.runtime.reach.arming import arm, arrive, current
arm()
arrive("worker")
worker = sorted(current().roles)
arrive("worker")
arrive(None)
print(json.dumps([worker, sorted(current().roles)]))
"""
    assert upstream.answer(code) == [["worker"], ["worker"]]
    events = [entry["event"] for entry in upstream.entries()]
    assert json.dumps(events).count("become") == 1
