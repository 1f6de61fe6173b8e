"""A module run by its name, `python -m pkg.mod`, is patched where it runs: as `__main__`."""

from __future__ import annotations

import ast
import json
import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import packages
import pytest
from packages import World, module_of, row

from patchkit.errors import DeclarationError, TargetError
from patchkit.imports.run_as_main import _place_of_action, telling_code
from patchkit.registry import read_pack

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
    world.pack(row("p", "patch_a", *(changes or (WRAP, REPLACE)), **fields), patch_a=BODY)
    return world


def last(done: Any) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def run_as_main(world: World, module: str = "up.mod", **environ: str) -> Any:
    """Run it as `patchkit run -- python -m` does."""
    return world.run("-m", "patchkit", "run", "--", sys.executable, "-m", module, **environ)


# -- processes -------------------------------------------------------------------------------------


def test_it_and_the_copy_under_its_own_name_are_patched(world: World) -> None:
    """Each has the patch, built on its own class; the second takes nothing from the first."""
    found = last(run_as_main(a_world(world)))
    assert found == [
        "__main__",
        ["by", "old"],
        ["new", "__main__", "old"],
        [["by", "old"], ["new", "up.mod", "old"]],
    ]


def test_what_both_copies_have_from_elsewhere(world: World) -> None:
    """It is patched once, where it is from and in both copies."""
    head, tail = MODULE.split("class Thing:")
    things, main = tail.split("def main")
    world.module("up.impl", f"import json, sys\nclass Thing:{things}def plain(): return 'old'\n")
    module = f"{head}from up.impl import *\ndef main{main}".replace(
        "seen()]", "seen(), plain(), up.user.plain()]"
    )
    world.module("up.other", "from up.impl import *")
    a_world(
        world,
        WRAP,
        "Wrap('up.mod:Thing.name', by='by')",
        "Edit('up.impl:plain', old=\"'old'\", new=\"'new ' + 'old'\")",
        module=module,
    )
    (world.folder / "up" / "user.py").write_text(dedent(USER) + "from up.mod import plain\n")
    by = ["by", "old"]
    assert last(run_as_main(world)) == ["__main__", by, by, [by, by], "new old", "new old"]


def test_a_class_that_both_copies_have_from_elsewhere(world: World) -> None:
    """Each copy has a class of its own over the very original."""
    head, tail = MODULE.split("class Thing:")
    things, main = tail.split("def main")
    world.module("up.impl", f"class Thing:{things}")
    a_world(world, REPLACE, WRAP, module=f"{head}from up.impl import *\ndef main{main}")
    by, new = ["by", "old"], ["new", "up.impl", "old"]
    assert last(run_as_main(world)) == ["__main__", by, new, [by, new]]


def test_the_copy_that_is_there_first(world: World) -> None:
    """A body that was loaded for the copy is loaded again for the one that runs."""
    done = a_world(world, module="import up.mod\n" + MODULE.replace("from __future__", "#"))
    assert last(run_as_main(done))[1:] == [
        ["by", "old"],
        ["new", "__main__", "old"],
        [["by", "old"], ["new", "up.mod", "old"]],
    ]


def test_calls_beside_the_execution(world: World) -> None:
    """BeforeImport runs before the module, AfterImport before it acts."""
    changes = "BeforeImport('up.mod', call='before')", "AfterImport('up.mod', call='after')"
    module = "print('runs')\ndef main(): print('acts')\nif __name__ == '__main__':\n    main()\n"
    world.module("up.mod", module)
    body = BODY.partition("def by")[2].replace("(wrapped", "def by(wrapped", 1)
    world.pack(row("p", "patch_a", *changes), patch_a=body)
    done = run_as_main(world)
    assert done.stdout.split("\n") == ["before", "runs", "after __main__", "acts", ""], done.stderr


def test_a_package_that_is_run(world: World) -> None:
    """`python -m pkg` runs `pkg.__main__`, which is the target."""
    world.module("up.__main__", "import sys\ndef go(): return 'old'\nsys.exit(print(go()))\n")
    world.pack(
        row("p", "patch_a", "Replace('up.__main__:go', by='go')"),
        patch_a="def go(): return 'new'\n",
    )
    done = run_as_main(world, "up")
    assert (done.returncode, done.stdout) == (0, "new\n"), done.stderr


def test_children_that_are_spawned(world: World) -> None:
    """A spawned child runs the main module again, and has the patch in it."""
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
        '["new", "__mp_main__", "old"]',
    ], done.stderr


def test_a_role_that_is_entered_late(world: World) -> None:
    """A patch for a role that the process takes on later is made then."""
    module = MODULE.replace("    main()", LATE)
    done = run_as_main(a_world(world, WRAP, module=module, roles="{Role.WORKER}"))
    assert last(done) == ["old", ["by", "old"], "old"]


def test_a_role_that_a_spawned_child_enters_late(world: World) -> None:
    """It reaches the globals of the functions; `__mp_main__` is only a copy of these."""
    head = MODULE.partition("if __name__")[0]
    module = f"""{head}
def late():
    from patchkit import Role
    from patchkit.reach.arming import current
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
    from patchkit.reach.arming import current
    told = [helper()]
    current().enter(Role.WORKER)
    told.append(helper())
    current().undo()
    print(json.dumps([*told, helper()]))
"""


def test_undo_takes_both_back(world: World) -> None:
    """Undone, neither copy holds anything of the patch; applied again, both do."""
    module = MODULE.replace(
        "    main()",
        """
    from patchkit.reach.arming import current
    main()
    current().undo()
    main()
    current().apply(["p"])
    main()
""",
    )
    first, undone, again = run_as_main(a_world(world, module=module)).stdout.splitlines()
    assert json.loads(undone)[1:] == ["old", "old", ["old", "old"]]
    assert again == first


def test_lines_stay(world: World) -> None:
    """A traceback shows each line where it is in the file."""
    module = MODULE.replace("return 'old'\ndef main", "raise ValueError\ndef main")
    done = run_as_main(a_world(world, WRAP, module=module))
    text = module.splitlines()
    assert f"line {text.index('    main()') + 1}, in <module>" in done.stderr
    assert f"line {text.index('def helper(): raise ValueError') + 1}, in helper" in done.stderr


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


def test_armed_in_the_middle(world: World) -> None:
    """A module that arms patchkit itself has begun without it; that is said, not passed over."""
    module = MODULE.replace("import json", "import patchkit.auto, json")
    done = a_world(world, module=module).run("-m", "up.mod")
    assert done.returncode == 1
    assert "had begun to run before patchkit was there" in done.stderr
    soft = world.run("-m", "up.mod", PATCHKIT_ON_FAILURE="warn")
    assert last(soft)[1:3] == ["old", "old"]
    assert "had begun to run before patchkit was there" in soft.stderr


def test_armed_once_it_acts(world: World) -> None:
    """A module whose main part arms patchkit, or has a plugin do so, is patched as it stands."""
    assert "if __name__ ==" in MODULE
    head, guard, tail = MODULE.partition('if __name__ == "__main__":\n')
    indent = tail[: len(tail) - len(tail.lstrip())]
    module = f"{head}{guard}{indent}import patchkit.auto\n{tail}"
    done = a_world(world, module=module).run("-m", "up.mod")
    assert last(done)[1:3] == last(run_as_main(a_world(world)))[1:3]


def test_it_acts_before_its_end(world: World) -> None:
    """What acts among its definitions is stopped where the process says that it begins."""
    module = """
    from patchkit import Role
    from patchkit.reach.arming import current
    current().enter(Role.MAIN)
    def helper(): ...
    if __name__ == '__main__': print('acts')
    """
    done = run_as_main(a_world(world, WRAP, module=module))
    assert done.returncode == 1
    assert "acts before the end of its definitions" in done.stderr


def test_globals_without_a_module(world: World) -> None:
    """A profiler runs it in a bare dict, which nobody can patch: that stops."""
    done = a_world(world, WRAP)
    code = "import patchkit.auto, runpy; runpy.run_module('up.mod', run_name='__main__')"
    assert "without a module in sys.modules" in done.run("-c", code).stderr


# -- the code --------------------------------------------------------------------------------------


def test_main_as_a_target_is_refused(world: World) -> None:
    """A row names the module that is run, not what it is called there."""
    world.pack(row("p", "patch_a", "Replace('__main__:helper', by='by')"), patch_a=BODY)
    with pytest.raises(DeclarationError, match="the module that is run"):
        read_pack("pack")


PLACES = {
    "def f(): ...\nif __name__ == '__main__': f()": 1,
    "if __name__ == '__main__': a()\ndef f(): ...\nif '__main__' == __name__ and b: f()": 2,
    "if __name__ == '__main__': f()\ndef f(): ...": 0,
    "if __name__ != '__main__': raise ImportError\ndef f(): ...\nx = 1": 3,
    "from a import f\nx = 1\nf()\ny = 2": 2,
    "'text'\nfrom __future__ import annotations\nx = 1\nraise SystemExit(x)": 3,
    "": 0,
}


@pytest.mark.parametrize(("source", "place"), PLACES.items())
def test_where_a_module_begins_to_act(source: str, place: int) -> None:
    """Before the guard that runs it; without one, before the first call after the definitions."""
    assert _place_of_action(ast.parse(source).body) == place


class ALoader:
    """Hands out a source; one that transforms may be put on it."""

    source_to_code: Callable[..., CodeType]

    def __init__(self, source: str | None) -> None:
        self.source = source

    def get_source(self, name: str) -> str | None:
        return self.source


def test_the_code_is_the_modules_own() -> None:
    """Docstring, future, constants and lines are those of the source."""
    source = dedent(MODULE)
    plain = compile(source, "here.py", "exec", dont_inherit=True)
    code = telling_code(ALoader(source), "up.mod", plain)
    assert code.co_filename == "here.py"
    assert {line for *_, line in code.co_lines()} == {line for *_, line in plain.co_lines()}
    names = vars(module_of(""))
    exec(code, names)
    assert names["__doc__"] == "What it is."
    assert names["helper"].__code__ in plain.co_consts


@pytest.mark.parametrize("source", [None, "def"])
def test_a_source_that_cannot_be_used(source: str | None) -> None:
    """It is said why."""
    with pytest.raises(TargetError, match="source"):
        telling_code(ALoader(source), "up.mod", compile("", "here.py", "exec"))


def test_a_loader_that_transforms() -> None:
    """What the loader makes of a source is kept: it compiles the tree itself."""
    loader = ALoader("x = 1")
    loader.source_to_code = lambda tree, file: compile("x = 2", file, "exec")  # type: ignore[method-assign]
    names: dict[str, Any] = {}
    exec(telling_code(loader, "up.mod", compile("", "here.py", "exec")), names)
    assert names["x"] == 2
