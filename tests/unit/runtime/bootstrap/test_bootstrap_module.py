from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import packages, venvs
from support.packages import REPOSITORY, World, row
from support.venvs import ARMED, DEPENDENCIES, Venv

from patchkit.runtime.bootstrap.install import install
from runtime.reach.test_child_processes import ASK, CORE, TELL, WORKER

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.processes

world = packages.world
environment = venvs.environment

WRAP = "Wrap('up.mod:function', by='by')"
BY = (
    "def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))\n"
)
NOT_PATCHED = "patchkit: this process is not patched: "


@pytest.fixture
def upstream(world: World) -> World:
    """Something to patch, and a pack that does."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(row("p", "patch_a", WRAP), patch_a=BY)
    return world


@pytest.fixture
def installed(upstream: World, environment: Venv) -> Venv:
    """An environment with the bootstrap."""
    install(environment.folder)
    return environment


# -- the gate ----------------------------------------------------------------------------------


@pytest.mark.parametrize("option", [(), ("-I",), ("-E",), ("-s",)])
def test_patchkit_1_arms(installed: Venv, option: tuple[str, ...]) -> None:
    """PATCHKIT=1 arms, also where Python ignores its own variables, its user's packages and its
    folder.
    """
    code = f"import up.mod; {ARMED.strip()}; print(json.dumps(up.mod.function()))"
    done = installed.run(*option, "-c", code.replace("\n", "; "), PATCHKIT="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ['["main"]', '["by", "old"]']


@pytest.mark.parametrize(
    ("option", "environ"),
    [
        ((), {}),
        ((), {"PATCHKIT": "0"}),
        ((), {"PATCHKIT": ""}),
        (("-S",), {"PATCHKIT": "1"}),
    ],
)
def test_without_patchkit_1_nothing_is_imported(
    installed: Venv, option: tuple[str, ...], environ: dict[str, str]
) -> None:
    """Without PATCHKIT=1, or with -S, which skips `.pth` files, none of our modules is imported."""
    code = "import json, sys; print(json.dumps([m for m in sys.modules if 'patchkit' in m]))"
    assert installed.answer(*option, "-c", code, **environ) == []
    assert installed.world.entries() == []


def test_armed_once_and_nothing_waits(installed: Venv) -> None:
    """The process is armed once, though `site` runs the `.pth` files of a venv twice, and only the
    session's finder is left.
    """
    code = (
        "import json, sys; print(json.dumps([type(f).__name__ for f in sys.meta_path]))"
    )
    finders = installed.answer("-c", code, PATCHKIT="1")
    assert finders.count("Finder") == 1
    assert "_Waiting" not in finders
    assert [entry["event"] for entry in installed.world.entries()].count("armed") == 1


def test_what_site_looks_for_meanwhile_is_found(installed: Venv) -> None:
    """The import of `sitecustomize`, at which the process is armed, goes on as ever."""
    (installed.folder / "sitecustomize.py").write_text("HERE = True\n")
    code = "import json, sys; print(json.dumps(sys.modules['sitecustomize'].HERE))"
    assert installed.answer("-c", code, PATCHKIT="1") is True


def test_a_folder_added_later_arms_at_once(installed: Venv) -> None:
    """Whoever calls `site.addsitedir` under -S, or once Python has started, is armed there."""
    (installed.folder / "a.pth").write_text((installed.folder / "zz.pth").read_text())
    code = f"import site; site.addsitedir({str(installed.folder)!r}){ARMED}"
    assert installed.answer("-S", "-c", code, PATCHKIT="1") == ["main"]


def test_the_entry_point_arms(installed: Venv) -> None:
    """Calling what the `.start` file names, as PEP 829's `site` does, arms the process."""
    (installed.folder / "patchkit-bootstrap.pth").unlink()
    text = (installed.folder / "patchkit-bootstrap.start").read_text()
    (line,) = [line for line in text.splitlines() if not line.startswith("#")]
    code = f"import pkgutil; pkgutil.resolve_name({line!r})(){ARMED}"
    assert installed.answer("-c", code, PATCHKIT="1") == ["main"]
    assert installed.answer("-c", code) is None


def test_all_ways_together_arm_once(installed: Venv) -> None:
    """The bootstrap, `patchkit run`, the script's import and vLLM's plugins: one session."""
    code = """
import json
from patchkit.runtime.reach.arming import current
before = current()
import patchkit.auto, patchkit.runtime.reach.vllm_plugin, up.mod
patchkit.runtime.reach.vllm_plugin.platform(), patchkit.runtime.reach.vllm_plugin.general()
print(json.dumps([before is current() is patchkit.auto.session, up.mod.function()]))
"""
    command = ("-m", "patchkit", "run", "--", installed.python, "-c", code)
    done = installed.run(*command)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, ["by", "old"]]
    assert [entry["event"] for entry in installed.world.entries()].count("armed") == 1


# -- never the reason why Python does not start ------------------------------------------------


def no_patchkit(venv: Venv) -> None:
    """Let Python find no patchkit."""
    venv.finds(*DEPENDENCIES)


def half_patchkit(venv: Venv) -> None:
    """Let Python find a patchkit that lacks most modules."""
    venv.finds(str(venv.world.folder), *DEPENDENCIES)
    venv.world.module("patchkit.errors")


def no_dependency(venv: Venv) -> None:
    """Make the pack import a library that is not there."""
    (venv.world.folder / "pack" / "__init__.py").write_text("import no_such_library\n")


def no_module(venv: Venv) -> None:
    """Delete the module beside the `.pth`."""
    (venv.folder / "_patchkit_bootstrap.py").unlink()


def torn_module(venv: Venv) -> None:
    """Leave a syntax error in the module beside the `.pth`."""
    (venv.folder / "_patchkit_bootstrap.py").write_text("def start(:\n")


def loud_pack(venv: Venv) -> None:
    """Make the pack raise an error of two lines."""
    (venv.world.folder / "pack" / "__init__.py").write_text(
        "raise RuntimeError('a\\nb')\n"
    )


def leaving_pack(venv: Venv) -> None:
    """Make the pack exit."""
    (venv.world.folder / "pack" / "__init__.py").write_text("raise SystemExit(3)\n")


def unreadable_pack(venv: Venv) -> None:
    """Make the pack a file that is no text."""
    (venv.world.folder / "pack" / "__init__.py").write_bytes(b"\xff\x00")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            no_patchkit,
            ["found no patchkit", "install vllm-patchkit, or delete", "bootstrap.py"],
        ),
        (half_patchkit, ["patchkit.auto"]),
        (no_dependency, ["pack pack", "no_such_library"]),
        (no_module, ["_patchkit_bootstrap"]),
        (torn_module, ["SyntaxError"]),
        (loud_pack, ["pack pack", "a b"]),
        (leaving_pack, ["3"]),
        (unreadable_pack, ["pack pack"]),
    ],
)
def test_what_is_broken_is_one_line(
    installed: Venv, spoil: object, words: list[str]
) -> None:
    """Python starts and works; one line on stderr says what keeps patchkit from arming it."""
    spoil(installed)  # type: ignore[operator]
    done = installed.run("-c", "print('at work')", PATCHKIT="1")
    assert (done.returncode, done.stdout) == (0, "at work\n")
    assert done.stderr.startswith(NOT_PATCHED)
    assert done.stderr.count("\n") == 1
    assert all(word in done.stderr for word in words), done.stderr


def test_a_malformed_setting_is_one_line(installed: Venv) -> None:
    """Python starts and works; one line on stderr names the variable with the invalid value."""
    done = installed.run(
        "-c", "print('at work')", PATCHKIT="1", PATCHKIT_ON_FAILURE="perhaps"
    )
    assert (done.returncode, done.stdout) == (0, "at work\n")
    assert done.stderr.startswith(f"{NOT_PATCHED}PATCHKIT_ON_FAILURE: found 'perhaps'")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("spoil", [no_patchkit, no_module])
def test_a_closed_stderr_hides_the_line_and_nothing_else(
    installed: Venv, spoil: object
) -> None:
    """Where stderr is closed, as daemons close it, Python starts, and the line is nowhere."""
    spoil(installed)  # type: ignore[operator]
    command = ["sh", "-c", f"exec {installed.python} -c \"print('at work')\" 2>&-"]
    code = f"import os; os.execvp('sh', {command!r})"
    done = installed.run("-S", "-c", code, PATCHKIT="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "at work\n", "")


ENGINE = """
class EngineArgs:
    def create_engine_config(self): print("engine", flush=True)
"""


@pytest.mark.parametrize("target", ["os:gone", "up.mod:gone"])
def test_a_required_patch_still_stops_its_role(
    upstream: World, installed: Venv, target: str
) -> None:
    """Python starts, whether the patch has failed then or fails later; the engine does not, even
    where somebody swallows the error.
    """
    upstream.module("vllm.engine.arg_utils", ENGINE)
    upstream.pack(row("p", "patch_a", f"Wrap({target!r}, by='by')"), patch_a=BY)
    code = """
print("started", flush=True)
try:
    import up.mod
except Exception as error:
    print("swallowed", flush=True)
from vllm.engine.arg_utils import EngineArgs
EngineArgs().create_engine_config()
"""
    done = installed.run("-c", code, PATCHKIT="1")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "started"
    assert "engine" not in done.stdout
    assert "ApplyError: required patch p" in done.stderr.splitlines()[-1]
    lines = done.stderr.splitlines()
    warned = any(line.startswith(f"{NOT_PATCHED}required patch p") for line in lines)
    assert warned is (target == "os:gone")


# -- where patchkit lies -----------------------------------------------------------------------


def test_a_recorded_location_comes_last_on_the_path(installed: Venv) -> None:
    """Where Python has no patchkit, a recorded location is last on `sys.path`, and arms."""
    installed.finds(str(installed.world.folder), *DEPENDENCIES)
    install(installed.folder, str(REPOSITORY))
    code = f"import sys; print(sys.path[-1]){ARMED}"
    done = installed.run("-I", "-c", code, PATCHKIT="1")
    assert done.stdout.splitlines() == [str(REPOSITORY), '["main"]']
    installed.finds(str(installed.world.folder), str(REPOSITORY), *DEPENDENCIES)
    done = installed.run("-I", "-c", code, PATCHKIT="1")
    assert done.stdout.splitlines()[1:] == ['["main"]']


def test_a_location_that_is_gone_is_named(installed: Venv) -> None:
    """The line says where patchkit was expected."""
    installed.finds(*DEPENDENCIES)
    install(installed.folder, "/no/such/place")
    done = installed.run("-c", "print('at work')", PATCHKIT="1")
    assert (done.returncode, done.stdout) == (0, "at work\n")
    assert done.stderr.startswith(f"{NOT_PATCHED}found no patchkit")
    assert "/no/such/place" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_zipped_patchkit_installs_and_arms(
    environment: Venv, upstream: World
) -> None:
    """A patchkit in a zip file installs the bootstrap, and arms a process from there."""
    zipped = shutil.make_archive(
        str(upstream.folder / "kit"), "zip", REPOSITORY, "patchkit"
    )
    environment.finds(str(upstream.folder), zipped, *DEPENDENCIES)
    done = environment.run("-m", "patchkit", "bootstrap", "install")
    assert done.returncode == 0, done.stderr
    code = f"import patchkit.auto; print(patchkit.__file__){ARMED}"
    done = environment.run("-c", code, PATCHKIT="1")
    file, roles = done.stdout.splitlines()
    assert Path(file).parents[1] == Path(zipped)
    assert roles == '["main"]'


# -- roles -------------------------------------------------------------------------------------


@pytest.fixture
def vllm(world: World, environment: Venv) -> Venv:
    """A vLLM whose processes answer with their roles and what they see of a patched function."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.module("up.tell", TELL)
    world.module("vllm.v1.engine.core", CORE)
    world.module("vllm.v1.executor.multiproc_executor", WORKER)
    world.module("ask", ASK)
    by = "def by(wrapped, instance, args, kwargs): return (KIND, wrapped(*args, **kwargs))\n"
    bodies = {
        f"patch_{kind}": f"KIND = {kind!r}\n{by}" for kind in ("main", "core", "worker")
    }
    world.pack(
        row("main", "patch_main", WRAP, roles="{Role.MAIN}"),
        row("core", "patch_core", WRAP, roles="{Role.ENGINE_CORE}"),
        row("worker", "patch_worker", WRAP, roles="{Role.WORKER}"),
        **bodies,
    )
    install(environment.folder)
    return environment


PARENT = """
import json, os
from ask import ask
import {module}
if __name__ == "__main__":
    {before}
    print(json.dumps(ask({method!r}, {module}.{target})))
"""
ONLY = {"PATCHKIT_ONLY": "main,core,worker"}
# The module and the target of a child process, its role, and the patch that is for it.
CHILDREN = [
    ("vllm.v1.engine.core", "EngineCoreProc.run_engine_core", "engine-core", "core"),
    (
        "vllm.v1.executor.multiproc_executor",
        "WorkerProc.worker_main",
        "worker",
        "worker",
    ),
    ("up.tell", "target", "main", "main"),
]


def roles_by_process(world: World) -> Iterator[list[str]]:
    """The roles that each process has entered, in order."""
    for _, entries in itertools.groupby(
        world.entries(), key=lambda entry: entry["pid"]
    ):
        yield [entry["role"] for entry in entries if entry["event"] == "role"]


def script(
    venv: Venv, child: tuple[str, ...], method: str, before: str = "pass"
) -> Path:
    """Write a script that starts a child by a method, after it has executed `before`."""
    module, target, *_ = child
    code = PARENT.format(module=module, target=target, method=method, before=before)
    return venv.world.module("script", code)


@pytest.mark.parametrize("child", CHILDREN, ids=[child[2] for child in CHILDREN])
@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_a_child_has_its_role(vllm: Venv, child: tuple[str, ...], method: str) -> None:
    """The bootstrap arms a child before its parent's word arrives; its role is right still."""
    file = script(vllm, child, method)
    roles, patched, _ = vllm.answer(str(file), PATCHKIT="1", **ONLY)
    assert (roles, patched) == ([child[2]], [child[3], "old"])


@pytest.mark.parametrize("child", CHILDREN, ids=[child[2] for child in CHILDREN])
def test_a_spawned_child_is_never_something_else_first(
    vllm: Venv, child: tuple[str, ...]
) -> None:
    """Each process enters one role only, and one process enters that of the child."""
    vllm.answer(str(script(vllm, child, "spawn")), PATCHKIT="1", **ONLY)
    role = child[2]
    entered = list(roles_by_process(vllm.world))
    process_count = len(entered) if role == "main" else 1
    assert entered.count([role]) == process_count
    assert all(len(roles) == 1 for roles in entered)


@pytest.mark.parametrize("child", CHILDREN, ids=[child[2] for child in CHILDREN])
def test_a_child_of_a_parent_that_is_not_armed(
    vllm: Venv, child: tuple[str, ...]
) -> None:
    """The child knows its role by the function that it is started for."""
    file = script(vllm, child, "spawn", before="os.environ['PATCHKIT'] = '1'")
    roles, patched, _ = vllm.answer(str(file), **ONLY)
    assert (roles, patched) == ([child[2]], [child[3], "old"])


@pytest.mark.parametrize(("role", "roles"), [("worker", ["worker"]), (None, [])])
def test_a_ray_worker_waits_for_its_role(
    vllm: Venv, role: str | None, roles: list[str]
) -> None:
    """A Ray worker has no role when it starts, unless PATCHKIT_ROLE names one."""
    file = vllm.world.module("default_worker", ARMED)
    environ = {"PATCHKIT_ROLE": role} if role else {}
    assert vllm.answer(str(file), PATCHKIT="1", **environ) == roles
