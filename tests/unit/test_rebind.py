from __future__ import annotations

import importlib.util
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from layers import push
from packages import module_of

from patchkit import rebind
from patchkit.changes.resolve import locate
from patchkit.changes.sites import Layer, Site, Sites

if TYPE_CHECKING:
    from pathlib import Path

UPSTREAM = """
def function(): return 'old'
class Thing:
    def method(self): ...
class Sub(Thing): ...
NUMBER, TEXT, PAIR, NOTHING = 8, 'text', (1, 2), None
TABLE = {}
"""


class Loaded:
    """Modules in memory that `sys.modules` holds until the test ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.sites = Sites()
        self.upstream = self.add("upstream", UPSTREAM)

    def add(self, name: str, source: str = "", **values: Any) -> Any:
        module = module_of(source, name)
        vars(module).update(values)
        self._monkeypatch.setitem(sys.modules, name, module)
        return module

    def changed(self, qualname: str, new: Any) -> Site:
        site = self.sites.at(locate(self.upstream, qualname))
        push(site, Layer(lambda _: new))
        return site

    def held(self, *packages: str) -> rebind.Held:
        return rebind.Held(packages, self.sites.holds)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Loaded:
    return Loaded(monkeypatch)


def test_copies_are_repointed_under_whatever_name(loaded: Loaded) -> None:
    """Every module global that is the original becomes the new object, and is reported."""
    function = loaded.upstream.function
    one = loaded.add("one", function=function)
    two = loaded.add("two", renamed=function, again=function, other=len)
    site = loaded.changed("function", new := object())
    found = rebind.repoint([site], ["one", "two", "upstream"], loaded.held())
    assert one.function is two.renamed is two.again is new
    assert two.other is len
    assert sorted(map(str, found)) == ["one:function", "two:again", "two:renamed"]


def test_undo_carries_the_copies_back(loaded: Loaded) -> None:
    """Copies that were repointed come back with the attribute."""
    function = loaded.upstream.function
    one = loaded.add("one", function=function)
    site = loaded.sites.at(locate(loaded.upstream, "function"))
    undo = push(site, Layer(lambda _: "new"))
    rebind.repoint([site], ["one"], loaded.held())
    undo()
    assert one.function is loaded.upstream.function is function


def test_a_second_name_in_the_targets_own_module_is_a_copy(loaded: Loaded) -> None:
    """`alias = function` in the module itself is repointed; the attribute itself is no copy."""
    loaded.upstream.alias = loaded.upstream.function
    site = loaded.changed("function", new := object())
    found = rebind.repoint([site], ["upstream"], loaded.held())
    assert loaded.upstream.alias is new
    assert list(map(str, found)) == ["upstream:alias"]


def test_packs_keep_the_originals(loaded: Loaded) -> None:
    """A body calls the original under the name that it imported; a namesake is no part of it."""
    function = loaded.upstream.function
    body = loaded.add("pack.patch_a", function=function)
    namesake = loaded.add("packages_of_others", function=function)
    site = loaded.changed("function", new := object())
    rebind.repoint([site], ["pack.patch_a", "packages_of_others"], loaded.held("pack"))
    assert body.function is function
    assert namesake.function is new


@pytest.mark.parametrize("name", ["NUMBER", "TEXT", "PAIR", "NOTHING"])
def test_an_equal_constant_is_no_copy(loaded: Loaded, name: str) -> None:
    """Constants are shared by code that has nothing to do with each other."""
    value = getattr(loaded.upstream, name)
    other = loaded.add("other", its_own=value)
    site = loaded.changed(name, object())
    assert rebind.repoint([site], ["other"], loaded.held()) == []
    assert other.its_own is value


def test_what_the_target_has_from_elsewhere_is_repointed_nowhere_else(loaded: Loaded) -> None:
    """A patch of `upstream.sleep` leaves the `sleep` of those who have it from `time`."""
    loaded.upstream.sleep = time.sleep
    loaded.add("other", sleep=time.sleep)
    site = loaded.changed("sleep", object())
    assert rebind.repoint([site], ["other", "time"], loaded.held()) == []
    assert sys.modules["other"].sleep is time.sleep


def test_a_container_is_known_by_identity(loaded: Loaded) -> None:
    """A dict is a copy where it is the very one, not where it is equal."""
    same, equal = loaded.add("same", table=loaded.upstream.TABLE), loaded.add("equal", table={})
    site = loaded.changed("TABLE", {"new": 1})
    rebind.repoint([site], ["same", "equal"], loaded.held())
    assert (same.table, equal.table) == ({"new": 1}, {})


def test_a_method_that_was_copied_out_of_its_class(loaded: Loaded) -> None:
    """A module global that is a class's function is a copy too."""
    other = loaded.add("other", shortcut=loaded.upstream.Thing.method)
    site = loaded.changed("Thing.method", new := object())
    rebind.repoint([site], ["other"], loaded.held())
    assert other.shortcut is new


def test_all_sites_in_one_pass(loaded: Loaded) -> None:
    """Several originals are looked for together."""
    upstream = loaded.upstream
    other = loaded.add("other", function=upstream.function, Thing=upstream.Thing)
    sites = [loaded.changed("function", "new function"), loaded.changed("Thing", "new class")]
    found = rebind.repoint(sites, ["other"], loaded.held())
    assert (other.function, other.Thing) == ("new function", "new class")
    assert {copy.site for copy in found} == set(sites)


def test_a_copy_of_a_lower_layer(loaded: Loaded) -> None:
    """
    A module that copied the attribute between two patches follows the second one.

    The first patch was applied at the import, the second when a role was entered.
    """
    site = loaded.sites.at(locate(loaded.upstream, "function"))
    push(site, Layer(lambda below: ["first", below]))
    between = loaded.add("between", function=loaded.upstream.function)
    undo = push(site, Layer(lambda below: ["second", below]))
    rebind.repoint([site], ["between"], loaded.held())
    assert between.function is loaded.upstream.function
    undo()
    assert between.function is loaded.upstream.function


def test_a_copy_of_a_replacement(loaded: Loaded) -> None:
    """Under the target's name it came from the target; under another, maybe from the body."""
    site = loaded.sites.at(locate(loaded.upstream, "function"))
    undo = push(site, Layer(lambda _: rebind, base=True))
    copy = loaded.upstream.function
    between = loaded.add("between", function=copy, from_the_body=copy)
    undo()
    rebind.restore([site], ["between"], loaded.held())
    assert between.function is loaded.upstream.function
    assert between.from_the_body is copy


def test_restoring_leaves_originals_alone(loaded: Loaded) -> None:
    """Who holds an original after an undo is right, although another patch changes its like."""
    function = loaded.upstream.function
    twin = loaded.add("twin", function=function)
    other = loaded.add("other", function=function)
    still = loaded.sites.at(locate(twin, "function"))
    push(still, Layer(lambda below: ["still", below]))
    rebind.restore([still], ["other"], loaded.held())
    assert other.function is function


def test_a_place_with_a_patch_of_its_own_is_no_copy(loaded: Loaded) -> None:
    """What another patch has put there stays until that one is undone."""
    first = loaded.sites.at(locate(loaded.upstream, "function"))
    undo = push(first, Layer(lambda _: rebind, base=True))
    twin = loaded.add("twin", function=loaded.upstream.function)
    push(loaded.sites.at(locate(twin, "function")), Layer(lambda below: below))
    undo()
    rebind.restore(loaded.sites.rebound() or [first], ["twin"], loaded.held())
    assert twin.function is rebind


def test_a_lazy_module_stays_unloaded(loaded: Loaded, tmp_path: Path) -> None:
    """The pass looks into every module of `sys.modules` and loads none."""
    (tmp_path / "sleeper.py").write_text("raise AssertionError('it was loaded')\n")
    spec = importlib.util.spec_from_file_location("sleeper", tmp_path / "sleeper.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["sleeper"] = module
    try:
        site = loaded.changed("function", object())
        assert rebind.repoint([site], ["sleeper"], loaded.held()) == []
    finally:
        del sys.modules["sleeper"]


def test_modules_with_a_dynamic_getattr_are_not_asked(loaded: Loaded) -> None:
    """Looking for copies runs no module's `__getattr__`."""
    loaded.add("asking", "def __getattr__(name): raise AssertionError(name)")
    site = loaded.changed("function", object())
    assert rebind.repoint([site], ["asking"], loaded.held()) == []


def test_strange_things_in_sys_modules(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    """None, an instance, a class and a name that is gone do no harm."""
    function = loaded.upstream.function

    class Posing:
        shared = function

    instance = Posing()
    instance.copy = function  # type: ignore[attr-defined]
    for name, value in {"none": None, "posing": Posing, "instance": instance}.items():
        monkeypatch.setitem(sys.modules, name, value)
    site = loaded.changed("function", new := object())
    found = rebind.repoint([site], ["none", "posing", "instance", "gone"], loaded.held())
    assert instance.copy is new  # type: ignore[attr-defined]
    assert "instance:copy" in map(str, found)


def test_modules_since_a_module_began_to_load(loaded: Loaded) -> None:
    """Only what began to load later can have copied from a module at its first execution."""
    loaded.add("later")
    loaded.add("latest")
    assert rebind.modules_since("upstream") == ["latest", "later"]


def test_modules_since_a_module_that_is_gone(loaded: Loaded) -> None:
    """A module that took itself out of `sys.modules` hides nothing."""
    loaded.add("later")
    assert "upstream" in rebind.modules_since("no such module")


def test_subclasses_of_a_replaced_class_are_named(loaded: Loaded) -> None:
    """A base class cannot be repointed, so the journal says who has the old one."""
    thing = loaded.upstream.Thing
    new = type("Thing", (thing,), {})
    assert rebind.subclasses_left(thing, new) == ["upstream:Sub"]
    assert rebind.subclasses_left(loaded.upstream.function, new) == []
    assert rebind.subclasses_left(type, type("Meta", (type,), {})) != []
