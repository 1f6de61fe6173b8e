from __future__ import annotations

import importlib
import importlib.util
import inspect
import pickle
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING, Any

import packages
import pytest
from packages import World, row

from patchkit import Role
from patchkit.errors import ApplyError, PatchkitError
from patchkit.plan import APPLIED, ARMED, FAILED, SKIPPED

if TYPE_CHECKING:
    from patchkit.session import Session

world = packages.world

MAIN = frozenset({Role.MAIN})
BODY = """
'''What a later release brings.'''
__all__ = ["Processor", "build"]
LOADS = []
class Processor:
    def run(self): return 'run'
def build(): return Processor()
def hidden(): ...
class Namespace:
    '''A class.'''
    VALUE = 3
    _private = 4
    def free(): return 'free'
    @staticmethod
    def static(): return 'static'
def fill(module):
    module.filled = module.__name__
def fill_and_take_back(module):
    LOADS.append('made')
    return lambda: LOADS.append('taken back')
NUMBER = 7
MIXED = ["build", 7]
WRONG = ["build", "biuld"]
"""
PROVIDE = "Provide('up.llm')"


def a_world(world: World, *changes: str, body: str = "", **fields: str) -> World:
    """A package `up` without `llm`, and a patch that provides it."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(row("p", "patch_a", *(changes or (PROVIDE,)), **fields), patch_a=BODY + body)
    return world


def armed(world: World, *changes: str, **fields: str) -> Session:
    session = a_world(world, *changes, **fields).session()
    session.arm(MAIN)
    return session


def load(name: str) -> Any:
    return importlib.import_module(name)


# -- what is in it --------------------------------------------------------------------------------


def test_the_names_of_all(world: World) -> None:
    """By default the module has what the body's `__all__` names, and nothing else of it."""
    session = armed(world)
    module, body = load("up.llm"), load("pack.patch_a")
    assert module.Processor is body.Processor
    assert module.build().run() == "run"
    assert not hasattr(module, "hidden")
    assert (module.__all__, module.__doc__) == (body.__all__, "What a later release brings.")
    assert session.states["p"].status == APPLIED


def test_another_list_of_names(world: World) -> None:
    """`by` may name any list or tuple of the body."""
    armed(world, "Provide('up.llm', by='NAMES')", body="NAMES = ('hidden',)\n")
    module = load("up.llm")
    assert (module.__all__, callable(module.hidden)) == (["hidden"], True)
    assert not hasattr(module, "build")


def test_a_module(world: World) -> None:
    """A module's content is served, under the new module's own name."""
    world.module("backport", "'Doc.'\n_inner = 1\ndef public(): return _inner\n")
    armed(world, "Provide('up.llm', by='backport')", body="import backport\n")
    module = load("up.llm")
    assert (module.public(), module._inner, module.__doc__) == (1, 1, "Doc.")
    assert (module.__name__, module.__spec__.name) == ("up.llm", "up.llm")


def test_a_class(world: World) -> None:
    """A class's public attributes become the module's."""
    armed(world, "Provide('up.llm', by='Namespace')")
    module = load("up.llm")
    assert (module.VALUE, module.free(), module.static()) == (3, "free", "static")
    assert not hasattr(module, "_private")
    assert module.__doc__ == "A class."


def test_a_function(world: World) -> None:
    """A function is called with the module, and what it returns takes its effect back."""
    session = armed(world, "Provide('up.llm', by='fill')", "Provide('up.two', by='LOAD')",
                    body="LOAD = fill_and_take_back\n")  # fmt: skip
    assert load("up.llm").filled == "up.llm"
    load("up.two")
    session.undo()
    assert load("pack.patch_a").LOADS == ["made", "taken back"]


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("NUMBER", r"NUMBER of body pack.patch_a is 7, expected a list of names"),
        ("MIXED", r"MIXED of body pack.patch_a is \['build', 7\], expected a list of names"),
        ("WRONG", r"has no 'biuld', which is to be provided"),
        ("nothing", r"body pack.patch_a has no 'nothing'"),
    ],
)
def test_what_cannot_serve_is_refused(world: World, by: str, said: str) -> None:
    """The error names the change, what stands there and what may; no module is left."""
    armed(world, f"Provide('up.llm', by={by!r})")
    with pytest.raises(ApplyError, match=said):
        load("up.llm")
    assert "up.llm" not in sys.modules
    assert not hasattr(load("up"), "llm")


# -- an import like any other ---------------------------------------------------------------------


def test_every_way_to_import_it(world: World) -> None:
    """Import statements, `import_module`, `find_spec`; an attribute of its parent afterwards."""
    armed(world)
    parent = load("up")
    assert importlib.util.find_spec("up.llm") is not None
    assert not hasattr(parent, "llm")
    import up.llm as renamed  # type: ignore[import-not-found]
    from up import llm  # type: ignore[import-not-found]
    from up.llm import build  # type: ignore[import-not-found]

    assert renamed is llm is parent.llm is load("up.llm") is sys.modules["up.llm"]
    assert build is llm.build
    names: dict[str, Any] = {}
    exec("from up.llm import *", names)
    assert names["Processor"] is llm.Processor


def test_it_says_where_it_comes_from(world: World) -> None:
    """Name, package and loader are the module's own; the file is the body's."""
    armed(world)
    module, body = load("up.llm"), load("pack.patch_a")
    assert (module.__name__, module.__package__) == ("up.llm", "up")
    assert module.__file__ == module.__spec__.origin == body.__file__
    assert module.__loader__ is module.__spec__.loader
    assert "class Processor" in inspect.getsource(module)
    assert "def run" in inspect.getsource(module.Processor)
    assert module.__spec__.loader.get_source("up.llm") == inspect.getsource(body)
    assert (module.__spec__.loader.is_package("up.llm"), module.__spec__.parent) == (False, "up")


def test_its_objects_pickle_by_the_body(world: World) -> None:
    """They are found where they are defined, in this process and in any other."""
    armed(world)
    module = load("up.llm")
    assert pickle.loads(pickle.dumps(module.Processor)) is module.Processor
    assert module.Processor.__module__ == "pack.patch_a"


def test_a_probe_makes_nothing(world: World) -> None:
    """`find_spec` says that the module is there, and neither makes it nor loads the body."""
    session = armed(world)
    for _ in range(2):
        assert importlib.util.find_spec("up.llm") is not None
    assert not {"up.llm", "pack.patch_a"} & sys.modules.keys()
    assert session.states["p"].status == ARMED


def test_loaded_by_hand(world: World) -> None:
    """`module_from_spec` and `exec_module` make a module apart, as for any other."""
    armed(world)
    spec = importlib.util.find_spec("up.llm")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.build().run() == "run"
    assert "up.llm" not in sys.modules


def test_reload_executes_the_body_again(world: World) -> None:
    """The module object stays, its content is new; undo still takes it away."""
    session = armed(world)
    module = load("up.llm")
    before = module.Processor
    assert importlib.reload(module) is module is sys.modules["up.llm"] is load("up").llm
    assert module.Processor is not before
    assert module.Processor is load("pack.patch_a").Processor
    session.undo(["p"])
    assert "up.llm" not in sys.modules
    assert not hasattr(load("up"), "llm")


def test_imported_again_after_it_was_dropped(world: World) -> None:
    """A new module is served, as importlib would execute a file again."""
    armed(world)
    first = load("up.llm")
    del sys.modules["up.llm"]
    second = load("up.llm")
    assert second is not first
    assert second.build().run() == "run"


def test_a_top_level_module(world: World) -> None:
    """A module without a parent is served too."""
    session = armed(world, "Provide('lonely')")
    assert load("lonely").build().run() == "run"
    session.undo()
    with pytest.raises(ModuleNotFoundError):
        load("lonely")


def test_a_package_of_provided_modules(world: World) -> None:
    """Where further modules are provided beneath it, the module is a package."""
    session = armed(world, PROVIDE, "Provide('up.llm.sub.leaf', by='fill')",
                    "Provide('up.llm.sub', by='fill')")  # fmt: skip
    leaf = load("up.llm.sub.leaf")
    assert leaf is load("up").llm.sub.leaf
    assert (leaf.__package__, load("up.llm").__path__) == ("up.llm.sub", [])
    assert load("up.llm").__spec__.loader.is_package("up.llm")
    assert not hasattr(leaf, "__path__")
    session.undo()
    assert [name for name in sys.modules if name.startswith("up.llm")] == []
    assert not hasattr(load("up"), "llm")


def test_other_changes_on_a_provided_module(world: World) -> None:
    """It executes like any module: calls run around it, and its names can be patched."""
    body = """
seen = []
def before(): seen.append('before')
def after(module): seen.append(module.build.__name__)
def by(wrapped, instance, args, kwargs): return ('by', wrapped())
"""
    armed(
        world,
        "BeforeImport('up.llm', call='before')",
        "AfterImport('up.llm', call='after')",
        "Wrap('up.llm:build', by='by')",
        PROVIDE,
        body=body,
    )
    assert load("up.llm").build()[0] == "by"
    assert load("pack.patch_a").seen == ["before", "build"]


# -- who gets it ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["up.llm", "up.none", "up.llm.sub"])
def test_without_the_patch_python_says_what_it_says(world: World, name: str) -> None:
    """Another role, another version: the error is the very one of an unarmed process."""

    def error() -> tuple[str, str | None]:
        with pytest.raises(ModuleNotFoundError) as caught:
            load(name)
        return str(caught.value), caught.value.name

    a_world(world, roles="{Role.WORKER}")
    plain = error()
    world.session().arm(MAIN)
    assert error() == plain
    world.session(versions="0.5").arm(frozenset({Role.WORKER}))
    assert error() == plain
    assert importlib.util.find_spec("up.llm") is None
    assert "pack.patch_a" not in sys.modules


def test_a_role_that_comes_later(world: World) -> None:
    """What was not there for one role is there as soon as the process enters another."""
    session = armed(world, roles="{Role.WORKER}")
    with pytest.raises(ModuleNotFoundError):
        load("up.llm")
    session.enter(Role.WORKER)
    assert load("up.llm").build().run() == "run"
    session.become({Role.MAIN})
    with pytest.raises(ModuleNotFoundError):
        load("up.llm")


@pytest.mark.parametrize(("roles", "there"), [("set(Role)", True), ("{Role.MAIN}", False)])
def test_before_the_role_is_known(world: World, roles: str, there: bool) -> None:
    """A module for every role is there at once: a Ray actor's own module may import it."""
    a_world(world, roles=roles)
    session = world.session()
    session.arm(frozenset())
    assert (importlib.util.find_spec("up.llm") is not None) is there
    if there:
        assert load("up.llm").build().run() == "run"
    session.enter(Role.MAIN)
    assert load("up.llm").build().run() == "run"
    assert session.states["p"].status == APPLIED


def test_looked_for_before_patchkit_came(world: World) -> None:
    """An import that failed before is no obstacle."""
    a_world(world)
    with pytest.raises(ModuleNotFoundError):
        load("up.llm")
    world.session().arm(MAIN)
    assert load("up.llm").build().run() == "run"


def test_when_says_no(world: World) -> None:
    """The patch is skipped with its reason, and the module is not there."""
    session = armed(world, when="'ask'", body="def ask(): return 'not today'\n")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'up.llm'"):
        load("up.llm")
    assert (session.states["p"].status, session.states["p"].reason) == (SKIPPED, "not today")
    assert importlib.util.find_spec("up.llm") is None


def test_changes_for_other_versions(world: World) -> None:
    """A change that is narrowed to another release provides nothing."""
    armed(world, "Provide('up.llm', requires=('up<1',))", "Provide('up.other')")
    load("up.other")
    with pytest.raises(ModuleNotFoundError):
        load("up.llm")


@pytest.mark.parametrize("name", ["gone.llm", "up.mod.llm"])
def test_without_a_parent_package(world: World, name: str) -> None:
    """A parent that is not there, or is no package, is Python's own error."""
    a_world(world, f"Provide({name!r})")
    with pytest.raises(ModuleNotFoundError) as plain:
        load(name)
    world.session().arm(MAIN)
    with pytest.raises(ModuleNotFoundError) as caught:
        load(name)
    assert str(caught.value) == str(plain.value)


# -- upstream has it ------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [False, True])
def test_upstream_has_it_by_now(world: World, late: bool) -> None:
    """The patch fails, naming upstream's file; also where that was imported before."""
    a_world(world)
    file = world.module("up.llm", "upstreams = True\n")
    session = world.session()
    said = rf"upstream has this module by now, found {file}"
    if late:
        load("up.llm")
        with pytest.raises(ApplyError, match=said):
            session.arm(MAIN)
    else:
        session.arm(MAIN)
        assert importlib.util.find_spec("up.llm") is not None
        with pytest.raises(ApplyError, match=said):
            load("up.llm")
    assert session.states["p"].status == FAILED


def test_upstream_has_it_and_the_patch_is_not_required(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Upstream's module is used, and one line says so."""
    a_world(world, required="False")
    world.module("up.llm", "upstreams = True\n")
    world.session().arm(MAIN)
    assert load("up.llm").upstreams
    assert not hasattr(load("up.llm"), "build")
    assert capsys.readouterr().err.count("upstream has this module by now") == 1


def test_another_patch_provides_it(world: World) -> None:
    """Two patches for one module: the second fails, naming the first."""
    world.module("up.mod")
    world.pack(
        row("one", "patch_a", PROVIDE),
        row("two", "patch_b", PROVIDE),
        patch_a=BODY,
        patch_b=BODY,
    )
    world.session().arm(MAIN)
    with pytest.raises(ApplyError, match="patch one provides this module already"):
        load("up.llm")


# -- failure --------------------------------------------------------------------------------------


def test_a_failure_is_no_import_error(world: World) -> None:
    """A body that raises gets past `except ImportError`, which upstream has around such imports."""
    armed(world, body="raise ModuleNotFoundError('of the body')\n")
    with pytest.raises(PatchkitError) as caught:
        load("up.llm")
    assert not isinstance(caught.value, ImportError)
    with pytest.raises(ApplyError):  # and so the next time
        load("up.llm")
    with pytest.raises(ApplyError):
        importlib.util.find_spec("up.llm")


def test_a_failure_of_a_patch_that_is_not_required(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """One warning; the module is not there, as without patchkit."""
    armed(world, required="False", body="raise ValueError('broken body')\n")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match=r"No module named 'up.llm'"):
            load("up.llm")
    assert capsys.readouterr().err.count("broken body") == 1


@pytest.mark.parametrize("required", ["True", "False"])
def test_another_change_of_the_row_fails(world: World, required: str) -> None:
    """All or nothing: the module that had been served is withdrawn."""
    armed(world, PROVIDE, "Replace('up.llm:gone', by='build')", required=required)
    kind = ApplyError if required == "True" else ModuleNotFoundError
    with pytest.raises(kind):
        load("up.llm")
    assert "up.llm" not in sys.modules
    assert not hasattr(load("up"), "llm")


@pytest.mark.parametrize("first", ["up.llm", "pack.patch_a"])
def test_a_body_that_asks_for_the_module_itself(world: World, first: str) -> None:
    """It meets the shell of it as in any circle of imports, or none if it came first."""
    body = """
try:
    import up.llm
    found = True
except ModuleNotFoundError:
    found = None
"""
    armed(world, body=body)
    load(first)
    assert load("up.llm").build().run() == "run"
    assert load("pack.patch_a").found is (True if first == "up.llm" else None)


def test_the_body_is_imported_first(world: World) -> None:
    """Who has the body from elsewhere meets the same objects in the module."""
    armed(world)
    body = load("pack.patch_a")
    assert load("up.llm").Processor is body.Processor


# -- undo -----------------------------------------------------------------------------------------


def test_undo_and_apply_again(world: World) -> None:
    """The next import fails as before; applied again it is served again."""
    session = armed(world)
    module = load("up.llm")
    session.undo(["p"])
    assert "up.llm" not in sys.modules
    assert not hasattr(load("up"), "llm")
    with pytest.raises(ModuleNotFoundError):
        load("up.llm")
    assert importlib.util.find_spec("up.llm") is None
    assert module.build().run() == "run"  # whoever holds it goes on
    session.apply(["p"])
    assert load("up.llm").build().run() == "run"


def test_undo_leaves_what_is_somebody_elses(world: World) -> None:
    """Another module under that name, another attribute of the parent: both stay."""
    session = armed(world)
    load("up.llm")
    other = sys.modules["up.llm"] = ModuleType("up.llm")
    try:
        load("up").llm = "other"
        session.undo()
        assert sys.modules["up.llm"] is other
        assert load("up").llm == "other"
    finally:
        del sys.modules["up.llm"]


@pytest.mark.parametrize("reload", [False, True])
def test_undo_restores_what_the_parent_had_under_that_name(world: World, reload: bool) -> None:
    """The import hid an attribute of the parent; it is there again."""
    a_world(world)
    world.module("up.__init__", "llm = 'a function, say'\n")
    session = world.session()
    session.arm(MAIN)
    module = load("up.llm")
    assert load("up").llm is module
    if reload:
        importlib.reload(module)
    session.undo()
    assert load("up").llm == "a function, say"


# -- threads and processes ------------------------------------------------------------------------


def test_threads_get_one_module(world: World) -> None:
    """The body is loaded once, whoever comes first, and nobody waits for ever."""
    armed(world, body="import time\nEXECUTED = [1]\ntime.sleep(0.05)\n")
    barrier, found = threading.Barrier(6), []

    def work(number: int) -> None:
        barrier.wait(10)
        module = load("up.llm" if number % 2 else "pack.patch_a")
        found.append(load("up.llm") if number % 2 else module)

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(found) == 6
    assert {module.__name__: module for module in found}.keys() == {"up.llm", "pack.patch_a"}
    assert len(set(map(id, found))) == 2


def test_another_thread_imports_the_body(world: World) -> None:
    """Whoever imports the module waits for it, and holds nothing that the body needs."""
    world.module("up.slow")
    a_world(world, body="import up.slow\n")
    code = """
import json, sys, threading
from importlib.machinery import PathFinder, SourceFileLoader
from patchkit import Role
from patchkit.process import arm
session = arm(frozenset({Role.MAIN}))
group, pause = session.states["p"].groups[0], threading.Event()
class Slow(SourceFileLoader):  # until the other thread waits for this one
    def exec_module(self, module):
        user.start()
        while not group.loads: pause.wait(0.001)
        super().exec_module(module)
class Slowing:
    def find_spec(self, name, path, target=None):
        if name == "pack.patch_a":
            spec = PathFinder.find_spec(name, path)
            spec.loader = Slow(name, spec.origin)
            return spec
sys.meta_path.insert(0, Slowing())
user = threading.Thread(target=__import__, args=("up.llm",), daemon=True)
import pack.patch_a
user.join(10)
print(json.dumps([user.is_alive(), sys.modules["up.llm"].Processor is pack.patch_a.Processor]))
"""
    assert world.answer(code) == [False, True]


def test_in_a_spawned_child(world: World) -> None:
    """A child serves the module itself, and an object of it that comes by pickle is the same."""
    a_world(world)
    code = """
import json, multiprocessing, sys
import patchkit.auto
def work(queue, kind):
    import up.llm
    queue.put([kind is up.llm.Processor, up.llm.build().run()])
if __name__ == "__main__":
    import up.llm
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=work, args=(queue, up.llm.Processor))
    child.start()
    print(json.dumps(queue.get(timeout=20)))
    child.join()
"""
    assert world.script(code) == [True, "run"]


def test_upstream_that_asks_with_a_guard(world: World) -> None:
    """`try: import … except ImportError` in upstream finds the module, or goes without."""
    a_world(world)
    world.module("up.user", "try:\n    import up.llm as llm\nexcept ImportError:\n    llm = None\n")
    code = "import json, {auto}up.user\nprint(json.dumps(up.user.llm is not None))"
    assert world.answer(code.format(auto="patchkit.auto, ")) is True
    assert world.answer(code.format(auto="")) is False
