"""What a pass repoints, and what it leaves alone."""

from __future__ import annotations

import importlib.util
import sys
import time
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from support.layers import push

from patchkit.runtime import copies
from patchkit.runtime.changes.owners import locate
from patchkit.runtime.changes.site import Layer
from patchkit.runtime.copies.scope import scope_of

from .loaded import New

if TYPE_CHECKING:
    from pathlib import Path

    from .loaded import Loaded

# -- what is repointed -----------------------------------------------------------------------------


def test_copies_are_repointed_under_whatever_name(loaded: Loaded) -> None:
    """Every module global that is the original becomes the new object, and is reported."""
    importer = loaded.add("up.one", "from up import function")
    renamer = loaded.add(
        "up.two", "from up import function as renamed\nagain = renamed\nother = len"
    )
    site, undo = loaded.changed("function", new := New())
    assert loaded.repoint(site) == (
        ["up.one:function", "up.two:again", "up.two:renamed"],
        [],
    )
    assert importer.function is renamer.renamed is renamer.again is new
    assert renamer.other is len
    undo()
    original = loaded.up.function
    assert importer.function is renamer.renamed is renamer.again is original


def test_a_second_name_in_the_targets_own_module_is_a_copy(loaded: Loaded) -> None:
    """`alias = function` in the module itself is repointed; the attribute itself is no copy."""
    loaded.up.alias = loaded.up.function
    site, _ = loaded.changed("function", new := New())
    assert loaded.repoint(site) == (["up:alias"], [])
    assert loaded.up.alias is new


def test_main_is_in_scope(loaded: Loaded) -> None:
    """A copy in `__main__` is repointed like one in the target's own package."""
    loaded.add("__main__", "from up import function")
    site, _ = loaded.changed("function")
    assert loaded.repoint(site) == (["__main__:function"], [])


def test_other_packages_are_reported_and_by_declaration_repointed(
    loaded: Loaded,
) -> None:
    """A copy in another package is reported, and repointed if `rebind` names the package, which
    does not cover packages whose names only begin like it.
    """
    names = ("plugin.a", "plugins", "upper")
    for name in names:
        loaded.add(name, "from up import function")
    site, undo = loaded.changed("function", declared=("plugin",))
    assert loaded.repoint(site) == (
        ["plugin.a:function"],
        ["plugins:function (out of scope)", "upper:function (out of scope)"],
    )
    undo()
    assert {sys.modules[name].function for name in names} == {loaded.up.function}


def test_a_copy_that_refuses_is_named_and_left(loaded: Loaded) -> None:
    """A copy whose class raises when it is written is reported; the other copies follow."""
    closed = """
        from up import function
        class Closed(type):
            def __setattr__(cls, name, value): raise RuntimeError('closed')
        class Kept(metaclass=Closed): kept = function
    """
    refusing = loaded.add("up.one", dedent(closed))
    importer = loaded.add("up.two", "from up import function")
    site, undo = loaded.changed("function", new := New())
    rebound, left = loaded.repoint(site)
    assert rebound == ["up.one:function", "up.two:function"]
    assert left == ["up.one:Kept.kept (RuntimeError: closed)"]
    assert importer.function is new
    undo()
    assert refusing.Kept.kept is importer.function is loaded.up.function


def test_packs_keep_the_originals(loaded: Loaded) -> None:
    """A pack's modules keep the original; a copy in a helper is reported, one in a body is not."""
    source = "from up import function\ntable = {'k': function}"
    body = loaded.add("up.pack.patch_a", source)
    helper = loaded.add("up.pack.helper", source)
    namesake = loaded.add("up.packages_of_others", "from up import function")
    original = loaded.up.function
    loaded.bodies = ("up.pack.patch_a",)
    site, _ = loaded.changed("function", new := New())
    assert loaded.repoint(site, keepers=("up.pack",)) == (
        ["up.packages_of_others:function"],
        ["up.pack.helper:function (of a pack)"],
    )
    assert body.function is helper.function is original
    assert namesake.function is new


def test_a_container_is_known_by_identity(loaded: Loaded) -> None:
    """A dict is a copy where it is the very one, not where it is equal."""
    same = loaded.add("up.same", "from up import TABLE")
    equal = loaded.add("up.equal", "TABLE={}")
    site, _ = loaded.changed("TABLE", {"new": 1})
    loaded.repoint(site)
    assert same.TABLE == {"new": 1}
    assert equal.TABLE == {}


def test_a_method_that_was_copied_out_of_its_class(loaded: Loaded) -> None:
    """A module global that is a class's function is a copy too."""
    other = loaded.add("up.other", "shortcut = up.Thing.method")
    site, _ = loaded.changed("Thing.method", new := New())
    loaded.repoint(site)
    assert other.shortcut is new


def test_all_sites_in_one_pass(loaded: Loaded) -> None:
    """One pass repoints the copies of several targets."""
    other = loaded.add("up.other", "from up import function, Thing")
    function_site, _ = loaded.changed("function", "new f")
    class_site, _ = loaded.changed("Thing", "new class")
    loaded.repoint(function_site, class_site)
    assert other.function == "new f"
    assert other.Thing == "new class"


# -- classes ---------------------------------------------------------------------------------------


CLASSES = """
from up import function
class Outer:
    stored = function
    class Inner:
        stored = function
"""


def test_what_a_class_body_stored(loaded: Loaded) -> None:
    """Attributes of classes, also of nested ones, are repointed, and restored by undo."""
    user = loaded.add("up.user", CLASSES + "del function")
    site, undo = loaded.changed("function", new := New())
    assert loaded.repoint(site) == (
        ["up.user:Outer.Inner.stored", "up.user:Outer.stored"],
        [],
    )
    outer, inner = vars(user.Outer), vars(user.Outer.Inner)
    assert outer["stored"] is inner["stored"] is new
    undo()
    assert outer["stored"] is inner["stored"] is loaded.up.function


def test_another_class_that_took_a_method(loaded: Loaded) -> None:
    """`method = Thing.method` in a class body follows, though the module names no function."""
    user = loaded.add(
        "up.user", "from up import Thing\nclass Mine:\n    other = Thing.method"
    )
    site, _ = loaded.changed("Thing.method", new := New())
    assert loaded.repoint(site) == (["up.user:Mine.other"], [])
    assert user.Mine.other is new


def test_a_base_class_is_no_copy_of_what_a_class_inherits(loaded: Loaded) -> None:
    """A patch of `Sub.method` leaves `Thing.method` alone, which it only inherits."""
    method = loaded.up.Thing.method
    site, _ = loaded.changed("Sub.method")
    assert loaded.repoint(site) == ([], [])
    assert loaded.up.Thing.method is method


def test_a_class_that_was_imported_is_looked_into_once(loaded: Loaded) -> None:
    """What a class holds is reported once, under the module that made it."""
    loaded.add(
        "up.a",
        "from up import function\nclass Mine:\n    stored = staticmethod(function)",
    )
    loaded.add("up.b", "from up import function\nfrom up.a import Mine")
    site, _ = loaded.changed("function")
    left = ["up.a:Mine.stored (staticmethod)"]
    assert loaded.repoint(site) == (["up.a:function", "up.b:function"], left)


def test_a_function_inside_that_a_class_holds_is_reported_once(loaded: Loaded) -> None:
    """The function inside a static method is reported once, whoever imports the class with it."""
    inside = vars(loaded.up.Thing)["static"].__func__
    loaded.add("up.a", "class Mine: ...", inside=inside).Mine.kept = inside
    loaded.add("up.b", "from up.a import Mine\nfrom up import function")
    site, _ = loaded.changed("Thing.static")
    _, left = loaded.repoint(site)
    words = ["up.a:Mine.kept", "up.a:inside"]
    assert left == [f"{word} (the function inside)" for word in words]


def test_a_place_that_the_target_has_its_value_from(loaded: Loaded) -> None:
    """The place that the target's code copied is no copy, whatever put the value there."""
    stub = New()
    home = loaded.add("up.home", stub=stub)
    mod = loaded.add("up.mod", "from up.home import stub")
    other = loaded.add("up.other", stub=stub)
    site = loaded.sites.at(locate(mod, "stub"))
    site.rebind |= scope_of("up", True)
    push(site, Layer(lambda _: "new"))
    assert loaded.repoint(site) == ([], ["up.other:stub (origin unknown)"])
    assert home.stub is other.stub is stub


def test_the_definition_of_what_the_target_has_copied(loaded: Loaded) -> None:
    """The definition that the target was copied from is not repointed, and not reported."""
    home = loaded.add("up.home", "def helper(): ...")
    mod = loaded.add("up.mod", "from up.home import helper")
    site = loaded.sites.at(locate(mod, "helper"))
    site.rebind |= scope_of("up", True)
    original = home.helper
    push(site, Layer(lambda _: "new"))
    assert loaded.repoint(site) == ([], [])
    assert (home.helper, mod.helper) == (original, "new")


def test_a_class_that_refuses_is_reported(loaded: Loaded) -> None:
    """A class attribute that cannot be written is reported with the reason; nothing fails."""
    source = """
class Meta(type):
    def __setattr__(cls, name, value): raise TypeError('frozen')
class Mine(metaclass=Meta):
    stored = up.function
"""
    loaded.add("up.user", source)
    site, undo = loaded.changed("function")
    assert loaded.repoint(site) == ([], ["up.user:Mine.stored (TypeError: frozen)"])
    undo()


# -- what is left alone ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["NUMBER", "TEXT", "PAIR", "NOTHING"])
def test_an_equal_constant_is_no_copy(loaded: Loaded, name: str) -> None:
    """A number, text, tuple or None is not looked for, since unrelated code has the same one."""
    value = getattr(loaded.up, name)
    other = loaded.add("up.other", its_own=value)
    site, _ = loaded.changed(name)
    assert loaded.repoint(site) == ([], [])
    assert other.its_own is value
    assert (
        copies.scope.untraced(site)
        == f"a {type(value).__name__}, which is not told from its equals"
    )


def test_what_the_target_has_from_elsewhere(loaded: Loaded) -> None:
    """A patch of `up.sleep` is for those who have it from `up`, and for no one who has `time`'s."""
    loaded.up.sleep = time.sleep
    user = loaded.add("up.user", "from up import sleep")
    other = loaded.add("up.other", "from time import sleep\ntable = {'k': sleep}")
    unknown = loaded.add("up.unknown", sleep=time.sleep)
    site, undo = loaded.changed("sleep", new := New())
    left = ["up.unknown:sleep (origin unknown)"]
    assert loaded.repoint(site) == (["up.user:sleep"], left)
    assert user.sleep is new
    assert other.sleep is unknown.sleep is time.sleep
    undo()
    assert user.sleep is time.sleep


def test_a_module_is_a_copy_of_nothing(loaded: Loaded) -> None:
    """What replaces a module in one importer, such as a proxy for `torch`, reaches no other one."""
    torch = loaded.add("torch")
    loaded.up.torch = torch
    other = loaded.add("up.other", torch=torch)
    site, _ = loaded.changed("torch")
    assert loaded.repoint(site) == ([], [])
    assert other.torch is torch
    assert copies.scope.untraced(site) is None


def test_an_instance_of_another_modules_class_is_repointed(loaded: Loaded) -> None:
    """A copy of a module's logger is repointed, although the logger's class is another module's."""
    import logging

    loaded.up.logger = logging.getLogger("up")
    other = loaded.add("up.other", "from up import logger")
    site, _ = loaded.changed("logger", new := New())
    loaded.repoint(site)
    assert other.logger is new


def test_modules_with_a_dynamic_getattr_are_not_asked(loaded: Loaded) -> None:
    """Looking for copies runs no module's `__getattr__`, and asks no object for its class."""
    source = """
class Asked:
    @property
    def __class__(self): raise AssertionError('asked')
    def __getattr__(self, name): raise AssertionError(name)
asked = Asked()
def __getattr__(name): raise AssertionError(name)
"""
    loaded.add("up.asking", source)
    site, _ = loaded.changed("function")
    assert loaded.repoint(site) == ([], [])


def test_a_lazy_module_stays_unloaded(loaded: Loaded, tmp_path: Path) -> None:
    """The pass looks into every module of `sys.modules` and loads none."""
    (tmp_path / "sleeper.py").write_text("raise AssertionError('it was loaded')\n")
    spec = importlib.util.spec_from_file_location("up.sleeper", tmp_path / "sleeper.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["up.sleeper"] = module
    try:
        site, _ = loaded.changed("function")
        assert loaded.repoint(site) == ([], [])
    finally:
        del sys.modules["up.sleeper"]


def test_strange_things_in_sys_modules(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None, an instance and a class do no harm; what the instance holds is a copy."""
    function = loaded.up.function

    class Posing:
        shared = function

    instance = Posing()
    instance.copy = function  # type: ignore[attr-defined]
    strange = {"none": None, "posing": Posing, "instance": instance}
    for name, value in strange.items():
        monkeypatch.setitem(sys.modules, f"up.{name}", value)
    site, _ = loaded.changed("function", new := New())
    assert loaded.repoint(site)[0] == ["up.instance:copy"]
    assert instance.copy is new  # type: ignore[attr-defined]
