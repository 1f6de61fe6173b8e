from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.programs import program

from patchkit.ray import NEXT_VARIABLE, RuntimeEnvError, runtime_env
from patchkit.runtime.process.roles import PARENT_VARIABLE, this_process

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from support.packages import World

world = packages.world

OURS = "patchkit.ray.set_up"
HOOK = "worker_process_setup_hook"


def test_it_brings_patchkit_and_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process was told, its workers are told; and who asked for them."""
    monkeypatch.setenv("PATCHKIT_PATCHES", "mine")
    made = runtime_env()
    assert made[HOOK] == OURS
    assert made["env_vars"] == {
        "PATCHKIT": "1",
        "PATCHKIT_PATCHES": "mine",
        PARENT_VARIABLE: this_process(),
    }


def test_switched_off_it_stays_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """PATCHKIT=0 holds for what this process starts, Ray's workers included."""
    monkeypatch.setenv("PATCHKIT", "0")
    assert runtime_env()["env_vars"]["PATCHKIT"] == "0"


def test_what_else_is_asked_for_stays() -> None:
    """Packages and variables; the given ones win, and the given value is not changed."""
    base = {"pip": ["numpy"], "env_vars": {"PATCHKIT": "0", "A": "b"}}
    made = runtime_env(base)
    assert made["pip"] == ["numpy"]
    assert made["env_vars"].items() >= {"PATCHKIT": "0", "A": "b"}.items()
    assert base == {"pip": ["numpy"], "env_vars": {"PATCHKIT": "0", "A": "b"}}


def test_a_hook_that_has_a_name_is_kept() -> None:
    """A job's environment holds only texts: the worker is told the other hook's name."""
    made = runtime_env({HOOK: "my.hooks.begin"})
    assert (made[HOOK], made["env_vars"][NEXT_VARIABLE]) == (OURS, "my.hooks.begin")
    assert json.loads(json.dumps(made)) == made


def test_twice_is_once() -> None:
    """Of an environment that has patchkit already nothing changes."""
    for base in (None, {HOOK: "my.hooks.begin"}, {HOOK: print}):
        once = runtime_env(base)
        assert runtime_env(once) == once


@pytest.mark.parametrize(
    "base",
    [
        {HOOK: 3},
        {HOOK: "begin"},
        {HOOK: "my hooks.begin"},
        {HOOK: ""},
        {"env_vars": ["A=b"]},
    ],
)
def test_what_ray_would_not_take(base: dict[str, Any]) -> None:
    """Said here, and not by a worker that does not start."""
    with pytest.raises(RuntimeEnvError, match="expected"):
        runtime_env(base)


ORDER = """
import sys, patchkit.runtime.reach.arming, patchkit.ray
log = []

def begin():
    log.append(("hook", patchkit.runtime.reach.arming.current() is not None))
    if "hook" in sys.argv:
        raise ValueError("hook is broken")

"""


def run_in(
    world: World, how: str, *words: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Do what Ray does in a worker process: call what is in the slot."""
    world.module("hooks", ORDER)
    base = {"name": "'hooks.begin'", "function": "hooks.begin"}[how]
    code = f"""
import hooks, os, patchkit.ray
made = patchkit.ray.runtime_env({{"{HOOK}": {base}}})
os.environ.update(made["env_vars"])
hook = made["{HOOK}"]
try:
    (patchkit.ray.set_up if hook == "{OURS}" else hook)()
finally:
    print(hooks.log)
"""
    return world.run("-c", code, *words, **environ)


@pytest.mark.processes
@pytest.mark.parametrize("how", ["name", "function"])
def test_patchkit_comes_first(world: World, how: str) -> None:
    """The other hook finds the process patched."""
    done = run_in(world, how)
    assert done.stdout == "[('hook', True)]\n", done.stderr


@pytest.mark.processes
@pytest.mark.parametrize("how", ["name", "function"])
def test_both_errors_are_seen(world: World, how: str) -> None:
    """A pack that is not there, and a hook that is broken: neither hides the other."""
    done = run_in(world, how, "hook", PATCHKIT_PATCHES="nowhere")
    assert done.returncode == 1
    assert done.stdout == "[('hook', False)]\n"
    assert "nowhere" in done.stderr
    assert "ValueError: hook is broken" in done.stderr


@pytest.mark.processes
@pytest.mark.parametrize("how", ["name", "function"])
def test_an_error_of_patchkit_is_raised(world: World, how: str) -> None:
    """The other hook has run all the same."""
    done = run_in(world, how, PATCHKIT_PATCHES="nowhere")
    assert (done.returncode, done.stdout) == (1, "[('hook', False)]\n")


@pytest.mark.processes
def test_without_another_hook(world: World) -> None:
    """It arms, and that is all."""
    assert (
        world.run("-c", program(__file__, "set_up")).stdout == "{<Role.MAIN: 'main'>}\n"
    )


@pytest.mark.processes
def test_it_imports_no_ray(
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """Whoever makes the environment may not have it."""
    code = "import sys, patchkit.ray as r; r.runtime_env(); print('ray' in sys.modules)"
    assert python("-c", code).stdout == "False\n"
    assert "patchkit.ray" in sys.modules
