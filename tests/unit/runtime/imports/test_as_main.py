"""A module run by its name, `python -m pkg.mod`, is imported under its own name and patched."""

from __future__ import annotations

import json
import py_compile
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
    from pathlib import Path
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
    """Write a module to run, one that imports it as well, and one patch."""
    world.module("up.mod", module)
    world.module("up.user", USER)
    world.pack(
        row("p", "patch_a", *(changes or (WRAP, REPLACE)), **fields), patch_a=BODY
    )
    return world


def last(done: Any) -> Any:
    """Return what the last line on stdout of a run that succeeded holds as JSON."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def run_as_main(world: World, module: str = "up.mod", **environ: str) -> Any:
    """Run a module as `patchkit run -- python -m` does."""
    return world.run(
        "-m", "patchkit", "run", "--", sys.executable, "-m", module, **environ
    )


# -- processes -------------------------------------------------------------------------------------


NEW = ["new", "up.mod", "old"]


@pytest.mark.processes
def test_a_module_that_runs_is_imported_by_others(world: World) -> None:
    """Who imports the module that runs gets that one, patched."""
    by = ["by", "old"]
    done = run_as_main(a_world(world))
    assert last(done) == ["up.mod", by, NEW, [by, NEW]]


@pytest.mark.processes
def test_a_module_that_its_package_imports(world: World) -> None:
    """A module that its package has imported is not executed again when it runs."""
    a_world(
        world, module=f"print('executed')\n{MODULE.replace('from __future__', '#')}"
    )
    (world.folder / "up" / "__init__.py").write_text("import up.mod\n")
    done = run_as_main(world)
    assert last(done)[1] == ["by", "old"]
    assert done.stdout.count("executed") == 1


@pytest.mark.processes
def test_main_is_the_module_itself(world: World) -> None:
    """`sys.modules["__main__"]` is the module itself, with its spec; `sys.argv` has its file."""
    text = "print(json.dumps([main is sys.modules['up.mod'], main.__spec__.name, sys.argv]))"
    module = MODULE.replace("    main()", f"    main = sys.modules['__main__']; {text}")
    done = run_as_main(a_world(world, WRAP, module=module))
    assert last(done) == [True, "up.mod", [str(world.folder / "up" / "mod.py")]]


@pytest.mark.processes
def test_calls_beside_the_execution(world: World) -> None:
    """BeforeImport's call runs before the module, AfterImport's before its main part."""
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
    """A patch for a role that the process enters while the module runs is applied then."""
    module = MODULE.replace("    main()", LATE)
    done = run_as_main(a_world(world, WRAP, module=module, roles="{Role.WORKER}"))
    assert last(done) == ["old", ["by", "old"], "old"]


@pytest.mark.processes
def test_a_role_that_a_spawned_child_enters_late(world: World) -> None:
    """A patch for that role reaches the module and what the child has as `__main__`."""
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
def test_undo_reaches_the_module_and_its_importer(world: World) -> None:
    """Undone, neither the module nor its importer has anything of the patches; applied again,
    both do.
    """
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
    done = run_as_main(a_world(world, module=module))
    first, undone, again = done.stdout.splitlines()
    assert json.loads(undone)[1:] == ["old", "old", ["old", "old"]]
    assert again == first


@pytest.mark.processes
def test_lines_of_a_traceback(world: World) -> None:
    """A traceback shows each line where it is in the file."""
    module = MODULE.replace("return 'old'\ndef main", "raise ValueError\ndef main")
    done = run_as_main(a_world(world, WRAP, module=module))
    lines = module.splitlines()
    call_line = lines.index("    main()") + 1
    helper_line = lines.index("def helper(): raise ValueError") + 1
    assert f"line {call_line}, in <module>" in done.stderr
    assert f"line {helper_line}, in helper" in done.stderr


@pytest.mark.processes
def test_a_module_without_source(world: World) -> None:
    """A required patch of a module that runs without source stops the process and says why."""
    leave_only_bytecode(a_world(world).folder / "up" / "mod.py")
    done = run_as_main(world)
    assert done.returncode == 1
    assert "up.mod runs as __main__" in done.stderr
    assert "no source" in done.stderr


@pytest.mark.processes
def test_an_optional_patch_of_a_module_without_source(world: World) -> None:
    """The module runs unpatched, with a warning that says why."""
    leave_only_bytecode(a_world(world, required="False").folder / "up" / "mod.py")
    done = run_as_main(world)
    assert last(done)[1] == "old"
    assert "up.mod runs as __main__" in done.stderr


def leave_only_bytecode(file: Path) -> None:
    """Compile a module beside its source, and delete the source."""
    py_compile.compile(str(file), cfile=str(file.with_suffix(".pyc")))
    file.unlink()


@pytest.mark.processes
@pytest.mark.parametrize(
    "options", [(), ("-X", "dev"), ("-Ximporttime",), ("-u", "-Wc")]
)
def test_a_target_that_is_started_by_its_file(
    world: World, options: tuple[str, ...]
) -> None:
    """`python FILE`, as Ray runs it: a required patch stops the process, and says why."""
    (world.folder / "sitecustomize.py").write_text("import patchkit.auto\n")
    file = str(a_world(world).folder / "up" / "mod.py")
    done = world.run(*options, file)
    assert done.returncode == 1
    assert "up.mod runs as __main__" in done.stderr
    assert "it was started by its file" in done.stderr
    assert "python -m up.mod" in done.stderr


@pytest.mark.processes
def test_a_file_that_only_has_the_name_of_a_target(world: World) -> None:
    """A file below no folder that modules are imported from is no target, and runs."""
    (world.folder / "sitecustomize.py").write_text("import patchkit.auto\n")
    a_world(world)
    other = world.folder / "elsewhere" / "up" / "mod.py"
    other.parent.mkdir(parents=True)
    other.write_text("print('mine')\n")
    done = world.run(str(other))
    assert (done.returncode, done.stdout) == (0, "mine\n"), done.stderr


@pytest.mark.processes
def test_armed_in_the_middle(world: World) -> None:
    """A module that arms patchkit itself had begun without it, and fails; `warn` only warns."""
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
    """A required patch of a module that has no main part of its own stops it, and says why."""
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
    """A module without a main part is stopped when the process enters a role of the patch."""
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
    """A module that `runpy` runs in a bare dict, as a profiler does, is patched in that dict."""
    code = """
    import patchkit.auto, runpy
    print(runpy.run_module('up.mod', run_name='__main__')['helper']())
    """
    done = a_world(world, WRAP).run("-c", dedent(code))
    assert done.stdout.splitlines()[-1] == "('by', 'old')", done.stderr


# -- the code --------------------------------------------------------------------------------------


def test_main_as_a_target_is_refused(world: World) -> None:
    """A row whose target is in `__main__` is refused: it is to name the module that is run."""
    world.pack(row("p", "patch_a", "Replace('__main__:helper', by='by')"), patch_a=BODY)
    with pytest.raises(DeclarationError, match="the module that is run"):
        read_pack("pack")


class ALoader:
    """A loader that has a source; a test may give it a `source_to_code`."""

    source_to_code: Callable[..., CodeType]

    def __init__(self, source: str | None) -> None:
        self.source = source

    def get_source(self, name: str) -> str | None:
        return self.source


@pytest.mark.parametrize("source", [None, "def"])
def test_a_source_that_cannot_be_used(source: str | None) -> None:
    """A module without source or with a syntax error is refused; the error names the source."""
    with pytest.raises(TargetError, match="source"):
        running_code(ALoader(source), "up.mod", "here.py")


def test_a_loader_that_transforms() -> None:
    """The loader's own `source_to_code` compiles the tree."""
    trees: list[Any] = []

    def source_to_code(tree: Any, file: str) -> CodeType:
        trees.append(tree)
        return compile(tree, file, "exec")

    loader = ALoader(f"x = 1\n{GUARD} pass")
    loader.source_to_code = source_to_code  # type: ignore[method-assign]
    running_code(loader, "up.mod", "here.py")
    assert len(trees) == 1
