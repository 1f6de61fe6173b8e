from __future__ import annotations

import json
import sys
from functools import partial
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


def test_runtime_env_brings_patchkit_and_its_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`runtime_env` holds patchkit's hook, this process's settings, and which process asked."""
    monkeypatch.setenv("PATCHKIT_PATCHES", "mine")
    environment = runtime_env()
    assert environment[HOOK] == OURS
    assert environment["env_vars"] == {
        "PATCHKIT": "1",
        "PATCHKIT_PATCHES": "mine",
        PARENT_VARIABLE: this_process(),
    }


def test_patchkit_0_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process with PATCHKIT=0, `runtime_env` switches patchkit off for Ray's workers, too."""
    monkeypatch.setenv("PATCHKIT", "0")
    assert runtime_env()["env_vars"]["PATCHKIT"] == "0"


def test_a_given_environment_is_kept() -> None:
    """Packages and variables of a given environment are kept, and win; it is not changed itself."""
    base = {"pip": ["numpy"], "env_vars": {"PATCHKIT": "0", "A": "b"}}
    environment = runtime_env(base)
    assert environment["pip"] == ["numpy"]
    assert environment["env_vars"].items() >= {"PATCHKIT": "0", "A": "b"}.items()
    assert base == {"pip": ["numpy"], "env_vars": {"PATCHKIT": "0", "A": "b"}}


def test_a_hook_that_has_a_name_is_kept() -> None:
    """Another hook is handed on by name, as a job's environment holds only texts."""
    environment = runtime_env({HOOK: "my.hooks.begin"})
    assert environment[HOOK] == OURS
    assert environment["env_vars"][NEXT_VARIABLE] == "my.hooks.begin"
    assert json.loads(json.dumps(environment)) == environment


def test_a_function_is_handed_on_beside_the_one_hook() -> None:
    """Whatever the other hook is, Ray's is one name: the environment is text, and can be given to
    Ray again where Ray has it from itself.
    """
    environment = runtime_env({HOOK: print})
    assert environment[HOOK] == OURS
    assert json.loads(json.dumps(environment)) == environment
    other = runtime_env({**environment, HOOK: "my.hooks.begin"})
    assert other["env_vars"][NEXT_VARIABLE] == "my.hooks.begin"


def test_a_function_that_does_not_fit_into_a_variable_is_refused() -> None:
    """A function with much data names the limit, and the way out."""
    with pytest.raises(RuntimeEnvError, match=r"at most 100000; put it into a module"):
        runtime_env({HOOK: partial(print, "x" * 100_000)})


def test_an_environment_that_has_patchkit_stays_as_it_is() -> None:
    """`runtime_env` of an environment that it has made already returns the same."""
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
def test_an_environment_that_ray_would_not_take_is_refused(
    base: dict[str, Any],
) -> None:
    """A malformed hook or `env_vars` is an error here, and not in a worker that does not start."""
    with pytest.raises(RuntimeEnvError, match="expected"):
        runtime_env(base)


HOOKS = """
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
    """Call the hook of an environment, as Ray's worker does; `how` says how another was given."""
    world.module("hooks", HOOKS)
    base = {"name": "'hooks.begin'", "function": "hooks.begin"}[how]
    code = f"""
import hooks, os, patchkit.ray
made = patchkit.ray.runtime_env({{"{HOOK}": {base}}})
os.environ.update(made["env_vars"])
assert made["{HOOK}"] == "{OURS}"
try:
    patchkit.ray.set_up()
finally:
    print(hooks.log)
"""
    return world.run("-c", code, *words, **environ)


@pytest.mark.processes
@pytest.mark.parametrize("how", ["name", "function"])
def test_patchkit_is_armed_before_the_other_hook(world: World, how: str) -> None:
    """A worker is armed by the time that the other hook is called."""
    done = run_in(world, how)
    assert done.stdout == "[('hook', True)]\n", done.stderr


@pytest.mark.processes
@pytest.mark.parametrize("how", ["name", "function"])
def test_both_errors_are_seen(world: World, how: str) -> None:
    """An error of patchkit and one of the other hook both reach stderr: neither hides the other."""
    done = run_in(world, how, "hook", PATCHKIT_PATCHES="nowhere")
    assert done.returncode == 1
    assert done.stdout == "[('hook', False)]\n"
    assert "nowhere" in done.stderr
    assert "ValueError: hook is broken" in done.stderr


@pytest.mark.processes
@pytest.mark.parametrize("how", ["name", "function"])
def test_an_error_of_patchkit_is_raised(world: World, how: str) -> None:
    """A worker that patchkit cannot arm ends with 1, after the other hook has run."""
    done = run_in(world, how, PATCHKIT_PATCHES="nowhere")
    assert (done.returncode, done.stdout) == (1, "[('hook', False)]\n")


@pytest.mark.processes
def test_set_up_without_another_hook_arms_as_main(world: World) -> None:
    """Without another hook, `set_up` arms the process as main, and prints nothing."""
    done = world.run("-c", program(__file__, "set_up"))
    assert done.stdout == "{<Role.MAIN: 'main'>}\n"


@pytest.mark.processes
def test_runtime_env_imports_no_ray(
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """`runtime_env` works without importing Ray, which may not be installed there."""
    code = "import sys, patchkit.ray as r; r.runtime_env(); print('ray' in sys.modules)"
    assert python("-c", code).stdout == "False\n"
    assert "patchkit.ray" in sys.modules
