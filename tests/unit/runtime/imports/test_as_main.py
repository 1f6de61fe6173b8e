"""A module run by its name, `python -m pkg.mod`, is imported under its own name and patched."""

from __future__ import annotations

import json
import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.packages import World, row

from patchkit.errors import DeclarationError, TargetError
from patchkit.registry import read_pack
from patchkit.runtime.imports.supplied_modules import running_code

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

world = packages.world

MODULE = '''
"""What it is."""
from __future__ import annotations
import json, sys
class Thing:
    def name(self): return 'old'
def helper(): return 'old'
def main():
    import up.user
    print(json.dumps([__name__, helper(), Thing().name(), up.user.seen()]))
if __name__ == "__main__":
    main()
'''
USER = """
def seen():
    from up.mod import helper, Thing
    return [helper(), Thing().name()]
"""
GUARD = "if __name__ == '__main__':"
BODY = """
from up.mod import Thing as Original
LOADED_FOR = Original.__module__
class Thing(Original):
    def name(self): return ('new', LOADED_FOR, super().name())
def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))
def before(): print('before')
def after(module): print('after', module.__name__)
"""
WRAP = "Wrap('up.mod:helper', by='by')"
REPLACE = "Replace('up.mod:Thing', by='Thing')"


def a_world(world: World, *changes: str, module: str = MODULE, **fields: str) -> World:
    """A module to run, one that imports it as well, and one patch."""
    world.module("up.mod", module)
    world.module("up.user", USER)
    world.pack(
        row("p", "patch_a", *(changes or (WRAP, REPLACE)), **fields), patch_a=BODY
    )
    return world


def last(done: Any) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def run_as_main(world: World, module: str = "up.mod", **environ: str) -> Any:
    """Run it as `patchkit run -- python -m` does."""
    return world.run(
        "-m", "patchkit", "run", "--", sys.executable, "-m", module, **environ
    )


# -- processes -------------------------------------------------------------------------------------


NEW = ["new", "up.mod", "old"]


@pytest.mark.processes
def test_there_is_one_copy(world: World) -> None:
    """Who imports the module finds the one that runs."""
    by = ["by", "old"]
    assert last(run_as_main(a_world(world))) == ["up.mod", by, NEW, [by, NEW]]


@pytest.mark.processes
def test_one_that_its_package_imports(world: World) -> None:
    """It is not executed again."""
    a_world(
        world, module=f"print('executed')\n{MODULE.replace('from __future__', '#')}"
    )
    (world.folder / "up" / "__init__.py").write_text("import up.mod\n")
    done = run_as_main(world)
    assert last(done)[1] == ["by", "old"]
    assert done.stdout.count("executed") == 1


@pytest.mark.processes
def test_what_is_main(world: World) -> None:
    """`sys.modules["__main__"]` is the module itself, and so tells what it was run by."""
    text = "print(json.dumps([main is sys.modules['up.mod'], main.__spec__.name, sys.argv]))"
    module = MODULE.replace("    main()", f"    main = sys.modules['__main__']; {text}")
    done = run_as_main(a_world(world, WRAP, module=module))
    assert last(done) == [True, "up.mod", [str(world.folder / "up" / "mod.py")]]


@pytest.mark.processes
def test_calls_beside_the_execution(world: World) -> None:
    """BeforeImport runs before the module, AfterImport before it acts."""
    changes = (
        "BeforeImport('up.mod', call='before')",
        "AfterImport('up.mod', call='after')",
    )
    module = f"print('runs')\ndef main(): print('acts')\n{GUARD} main()\n"
    world.module("up.mod", module)
    body = BODY.partition("def by")[2].replace("(wrapped", "def by(wrapped", 1)
    world.pack(row("p", "patch_a", *changes), patch_a=body)
    done = run_as_main(world)
    assert done.stdout.split("\n") == ["before", "runs", "after up.mod", "acts", ""], (
        done.stderr
    )


@pytest.mark.processes
def test_a_package_that_is_run(world: World) -> None:
    """`python -m pkg` runs `pkg.__main__`, which is the target."""
    world.module("up.__main__", f"def go(): return 'old'\n{GUARD} print(go())\n")
    world.pack(
        row("p", "patch_a", "Replace('up.__main__:go', by='go')"),
        patch_a="def go(): return 'new'\n",
    )
    done = run_as_main(world, "up")
    assert (done.returncode, done.stdout) == (0, "new\n"), done.stderr


@pytest.mark.processes
def test_children_that_are_spawned(world: World) -> None:
    """A spawned child imports the module under its own name, without its main part."""
    module = MODULE.replace(
        "    main()",
        """
    import multiprocessing
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(json.dumps(pool.apply(helper)))
        print(json.dumps(pool.apply(Thing().name)))
""",
    )
    done = run_as_main(a_world(world, module=module))
    assert done.stdout.splitlines() == [
        '["by", "old"]',
        '["new", "up.mod", "old"]',
    ], done.stderr


@pytest.mark.processes
def test_a_role_that_is_entered_late(world: World) -> None:
    """A patch for a role that the process takes on later is made then."""
    module = MODULE.replace("    main()", LATE)
    done = run_as_main(a_world(world, WRAP, module=module, roles="{Role.WORKER}"))
    assert last(done) == ["old", ["by", "old"], "old"]


@pytest.mark.processes
def test_a_role_that_a_spawned_child_enters_late(world: World) -> None:
    """It reaches the globals of the functions; `__mp_main__` is only a copy of these."""
    head = MODULE.partition("if __name__")[0]
    module = f"""{head}
def late():
    from patchkit import Role
    from patchkit.runtime.reach.arming import current
    current().enter(Role.WORKER)
    return helper(), sys.modules["__main__"].helper()
if __name__ == "__main__":
    import multiprocessing
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(json.dumps(pool.apply(late)))
"""
    done = run_as_main(a_world(world, WRAP, module=module, roles="{Role.WORKER}"))
    assert last(done) == [["by", "old"], ["by", "old"]]


LATE = """
    from patchkit import Role
    from patchkit.runtime.reach.arming import current
    told = [helper()]
    current().enter(Role.WORKER)
    told.append(helper())
    current().become([])
    print(json.dumps([*told, helper()]))
"""


@pytest.mark.processes
def test_undo_takes_both_back(world: World) -> None:
    """Undone, neither copy holds anything of the patch; applied again, both do."""
    module = MODULE.replace(
        "    main()",
        """
    from patchkit import Role
    from patchkit.runtime.reach.arming import current
    main()
    current().become([])
    main()
    current().become([Role.MAIN])
    main()
""",
    )
    first, undone, again = run_as_main(
        a_world(world, module=module)
    ).stdout.splitlines()
    assert json.loads(undone)[1:] == ["old", "old", ["old", "old"]]
    assert again == first


@pytest.mark.processes
def test_lines_stay(world: World) -> None:
    """A traceback shows each line where it is in the file."""
    module = MODULE.replace("return 'old'\ndef main", "raise ValueError\ndef main")
    done = run_as_main(a_world(world, WRAP, module=module))
    text = module.splitlines()
    assert f"line {text.index('    main()') + 1}, in <module>" in done.stderr
    assert (
        f"line {text.index('def helper(): raise ValueError') + 1}, in helper"
        in done.stderr
    )


@pytest.mark.processes
def test_no_source(world: World) -> None:
    """Where the code cannot be made to tell, a required patch stops the process and says why."""
    import py_compile

    file = a_world(world).folder / "up" / "mod.py"
    py_compile.compile(str(file), cfile=str(file.with_suffix(".pyc")))
    file.unlink()
    done = run_as_main(world)
    assert done.returncode == 1
    assert "up.mod runs as __main__" in done.stderr
    assert "no source" in done.stderr
    assert last(run_as_main(a_world(world, required="False")))[1] == ["by", "old"]


@pytest.mark.processes
@pytest.mark.parametrize(
    "options", [(), ("-X", "dev"), ("-Ximporttime",), ("-u", "-Wc")]
)
def test_a_target_that_is_started_by_its_file(
    world: World, options: tuple[str, ...]
) -> None:
    """`python FILE` is what Ray does: a required patch stops the process, and says why."""
    (world.folder / "sitecustomize.py").write_text("import patchkit.auto\n")
    file = str(a_world(world).folder / "up" / "mod.py")
    done = world.run(*options, file)
    assert done.returncode == 1
    assert "up.mod runs as __main__" in done.stderr
    assert "it was started by its file" in done.stderr
    assert "python -m up.mod" in done.stderr


@pytest.mark.processes
def test_a_file_that_only_has_the_name_of_a_target(world: World) -> None:
    """It lies below no folder that modules are imported from: it is somebody else's."""
    (world.folder / "sitecustomize.py").write_text("import patchkit.auto\n")
    a_world(world)
    other = world.folder / "elsewhere" / "up" / "mod.py"
    other.parent.mkdir(parents=True)
    other.write_text("print('mine')\n")
    done = world.run(str(other))
    assert (done.returncode, done.stdout) == (0, "mine\n"), done.stderr


@pytest.mark.processes
def test_armed_in_the_middle(world: World) -> None:
    """A module that arms patchkit itself has begun without it; that is said, not passed over."""
    module = MODULE.replace("import json", "import patchkit.auto, json")
    done = a_world(world, module=module).run("-m", "up.mod")
    assert done.returncode == 1
    assert "had begun to run before patchkit was there" in done.stderr
    soft = world.run("-m", "up.mod", PATCHKIT_ON_FAILURE="warn")
    assert last(soft)[1:3] == ["old", "old"]
    assert "had begun to run before patchkit was there" in soft.stderr


NO_MAIN_PART = {
    "print('acts')": "has no `if __name__",
    "def f(): ...\nif __name__ != '__main__': raise ImportError\nf()": "has no `if __name__",
    f"{GUARD} print()\nelse: x = 1": "has an `else`",
}


@pytest.mark.processes
@pytest.mark.parametrize(("module", "reason"), NO_MAIN_PART.items())
def test_without_a_main_part(world: World, module: str, reason: str) -> None:
    """What acts while it is imported cannot be patched before that: a required patch stops it."""
    a_world(world, WRAP, module=f"def helper(): ...\n{module}")
    done = run_as_main(world)
    assert done.returncode == 1
    assert reason in done.stderr
    assert "start it with" in done.stderr
    soft = run_as_main(world, PATCHKIT_ON_FAILURE="warn")
    assert soft.returncode == 0
    assert reason in soft.stderr


@pytest.mark.processes
def test_refused_for_a_role_that_is_entered_late(world: World) -> None:
    """It is said when the process enters a role of the patch."""
    module = """
    from patchkit import Role
    from patchkit.runtime.reach.arming import current
    def helper(): ...
    current().enter(Role.WORKER)
    """
    done = run_as_main(a_world(world, WRAP, module=module, roles="{Role.WORKER}"))
    assert done.returncode == 1
    assert "has no `if __name__" in done.stderr


@pytest.mark.processes
def test_globals_without_a_module(world: World) -> None:
    """`runpy` runs it in a bare dict, as a profiler does: it is patched, and the dict is filled."""
    code = """
    import patchkit.auto, runpy
    print(runpy.run_module('up.mod', run_name='__main__')['helper']())
    """
    done = a_world(world, WRAP).run("-c", dedent(code))
    assert done.stdout.splitlines()[-1] == "('by', 'old')", done.stderr


# -- the code --------------------------------------------------------------------------------------


def test_main_as_a_target_is_refused(world: World) -> None:
    """A row names the module that is run, not what it is called there."""
    world.pack(row("p", "patch_a", "Replace('__main__:helper', by='by')"), patch_a=BODY)
    with pytest.raises(DeclarationError, match="the module that is run"):
        read_pack("pack")


class ALoader:
    """Hands out a source; one that transforms may be put on it."""

    source_to_code: Callable[..., CodeType]

    def __init__(self, source: str | None) -> None:
        self.source = source

    def get_source(self, name: str) -> str | None:
        return self.source


@pytest.mark.parametrize("source", [None, "def"])
def test_a_source_that_cannot_be_used(source: str | None) -> None:
    """It is said why."""
    with pytest.raises(TargetError, match="source"):
        running_code(ALoader(source), "up.mod", "here.py")


def test_a_loader_that_transforms() -> None:
    """What the loader makes of the source is used: it compiles the tree itself."""
    loader, trees = ALoader(f"x = 1\n{GUARD} pass"), []
    loader.source_to_code = lambda tree, file: (
        trees.append(tree) or compile(tree, file, "exec")
    )  # type: ignore[method-assign]
    running_code(loader, "up.mod", "here.py")
    assert len(trees) == 1
