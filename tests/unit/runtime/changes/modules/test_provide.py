from __future__ import annotations

import importlib
import importlib.util
import inspect
import pickle
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.one_patch import load
from support.undoing import undo

from patchkit.errors import ApplyError
from patchkit.runtime.process.patch_state import APPLIED, ARMED
from runtime.changes.modules.providing import PROVIDE, a_world, armed

if TYPE_CHECKING:
    from support.packages import World

world = packages.world


# -- what is in it --------------------------------------------------------------------------------


def test_the_module_has_the_names_of_all(world: World) -> None:
    """By default the module has what the body's `__all__` names, and nothing else of it."""
    session = armed(world)
    module, body = load("up.llm"), load("pack.patch_a")
    assert module.Processor is body.Processor
    assert module.build().run() == "run"
    assert not hasattr(module, "hidden")
    assert (module.__all__, module.__doc__) == (
        body.__all__,
        "What a later release brings.",
    )
    assert session.states["p"].status == APPLIED


def test_by_names_a_list_of_names(world: World) -> None:
    """The module has the names in the body's list or tuple that `by` names."""
    armed(world, "Provide('up.llm', by='NAMES')", body="NAMES = ('hidden',)\n")
    module = load("up.llm")
    assert (module.__all__, callable(module.hidden)) == (["hidden"], True)
    assert not hasattr(module, "build")


def test_by_names_a_module(world: World) -> None:
    """A module's content is served, under the new module's own name."""
    world.module("backport", "'Doc.'\n_inner = 1\ndef public(): return _inner\n")
    armed(world, "Provide('up.llm', by='backport')", body="import backport\n")
    module = load("up.llm")
    assert (module.public(), module._inner, module.__doc__) == (1, 1, "Doc.")
    assert (module.__name__, module.__spec__.name) == ("up.llm", "up.llm")


def test_by_names_a_class(world: World) -> None:
    """A class's public attributes become the module's."""
    armed(world, "Provide('up.llm', by='Namespace')")
    module = load("up.llm")
    assert (module.VALUE, module.free(), module.static()) == (3, "free", "static")
    assert not hasattr(module, "_private")
    assert module.__doc__ == "A class."


def test_by_names_a_function(world: World) -> None:
    """A function is called with the module, and what it returns takes its effect back."""
    session = armed(world, "Provide('up.llm', by='fill')", "Provide('up.two', by='LOAD')",
                    body="LOAD = fill_and_take_back\n")  # fmt: skip
    assert load("up.llm").filled == "up.llm"
    load("up.two")
    undo(session)
    assert load("pack.patch_a").LOADS == ["made", "taken back"]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("NUMBER", r"NUMBER of body pack.patch_a is 7, expected a list of names"),
        (
            "MIXED",
            r"MIXED of body pack.patch_a is \['build', 7\], expected a list of names",
        ),
        ("WRONG", r"has no 'biuld', which is to be provided"),
        ("nothing", r"body pack.patch_a has no 'nothing'"),
    ],
)
def test_what_cannot_serve_is_refused(world: World, by: str, message: str) -> None:
    """The error names the change, what stands there and what may; no module is left."""
    armed(world, f"Provide('up.llm', by={by!r})")
    with pytest.raises(ApplyError, match=message):
        load("up.llm")
    assert "up.llm" not in sys.modules
    assert not hasattr(load("up"), "llm")


# -- an import like any other ---------------------------------------------------------------------


def test_every_way_to_import_it(world: World) -> None:
    """Import statements, `import_module` and `find_spec` find one module, which its parent gets."""
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


def test_the_module_says_where_it_comes_from(world: World) -> None:
    """Name, package and loader are the module's own; the file is the body's."""
    armed(world)
    module, body = load("up.llm"), load("pack.patch_a")
    assert (module.__name__, module.__package__) == ("up.llm", "up")
    assert module.__file__ == module.__spec__.origin == body.__file__
    assert module.__loader__ is module.__spec__.loader
    assert "class Processor" in inspect.getsource(module)
    assert "def run" in inspect.getsource(module.Processor)
    assert inspect.getsource(module) == inspect.getsource(body)
    assert module.__spec__.parent == "up"


def test_objects_of_the_module_pickle_by_the_body(world: World) -> None:
    """Pickle finds them in the body, where they are defined."""
    armed(world)
    module = load("up.llm")
    assert pickle.loads(pickle.dumps(module.Processor)) is module.Processor
    assert module.Processor.__module__ == "pack.patch_a"


def test_find_spec_makes_nothing(world: World) -> None:
    """`find_spec` says that the module is there, and neither makes it nor loads the body."""
    session = armed(world)
    for _ in range(2):
        assert importlib.util.find_spec("up.llm") is not None
    assert not {"up.llm", "pack.patch_a"} & sys.modules.keys()
    assert session.states["p"].status == ARMED


def test_a_module_loaded_by_hand(world: World) -> None:
    """`module_from_spec` and `exec_module` make a module apart, as for any other."""
    armed(world)
    spec = importlib.util.find_spec("up.llm")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.build().run() == "run"
    assert "up.llm" not in sys.modules


def test_reload_executes_the_body_again(world: World) -> None:
    """The module object stays, its content is new; undo still takes it away."""
    session = armed(world)
    module = load("up.llm")
    before = module.Processor
    assert importlib.reload(module) is module is sys.modules["up.llm"] is load("up").llm
    assert module.Processor is not before
    assert module.Processor is load("pack.patch_a").Processor
    undo(session, ["p"])
    assert "up.llm" not in sys.modules
    assert not hasattr(load("up"), "llm")


def test_an_import_after_the_module_was_dropped(world: World) -> None:
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
    undo(session)
    with pytest.raises(ModuleNotFoundError):
        load("lonely")


def test_a_package_of_provided_modules(world: World) -> None:
    """Where further modules are provided beneath it, the module is a package."""
    session = armed(world, PROVIDE, "Provide('up.llm.sub.leaf', by='fill')",
                    "Provide('up.llm.sub', by='fill')")  # fmt: skip
    leaf = load("up.llm.sub.leaf")
    assert leaf is load("up").llm.sub.leaf
    assert (leaf.__package__, load("up.llm").__path__) == ("up.llm.sub", [])
    assert not hasattr(leaf, "__path__")
    undo(session)
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


@pytest.mark.processes
def test_an_import_of_upstream_in_a_guard(world: World) -> None:
    """`try: import … except ImportError` finds the module with patchkit, and none without it."""
    a_world(world)
    world.module(
        "up.user",
        "try:\n    import up.llm as llm\nexcept ImportError:\n    llm = None\n",
    )
    code = "import json, {auto}up.user\nprint(json.dumps(up.user.llm is not None))"
    assert world.answer(code.format(auto="patchkit.auto, ")) is True
    assert world.answer(code.format(auto="")) is False
