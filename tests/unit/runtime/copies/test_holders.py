"""What else can hold a copy (defaults, closures, containers, partials) is found and named."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from support.packages import module_of

from patchkit.runtime.copies.holders import MOST, HolderKinds
from patchkit.runtime.copies.scope import compiled_left

from .loaded import New

if TYPE_CHECKING:
    from .loaded import Loaded

HOLDERS = {
    "def default(a, x=function): ...": ["up.user:default (default of x)"],
    "def keyword(*, x=function): ...": ["up.user:keyword (default of x)"],
    "def outer(y=None):\n    y = function\n    def inner(): return y\n    return inner\n"
    "closure = outer()": ["up.user:closure (closure y)"],
    "from functools import partial\npart = partial(function, 1)": ["up.user:part (partial)"],
    "from functools import partial\npart = partial(print, function)": ["up.user:part (partial)"],
    "from functools import lru_cache\ncached = lru_cache(function)": [
        "up.user:cached.__wrapped__"
    ],
    "table = {'k': function}": ["up.user:table['k']"],
    "row = [1, function]": ["up.user:row[1]"],
    "pair = (function,)": ["up.user:pair[0]"],
    "some = {function}": ["up.user:some (a member)"],
    "class Pair(tuple):\n    def __iter__(self): raise Warning\npair = Pair((function,))": [
        "up.user:pair[0]"
    ],
    "class Holder: ...\nholder = Holder()\nholder.kept = function": ["up.user:holder.kept"],
    "class Slotted:\n    __slots__ = ('empty', 'kept')\nholder = Slotted()\n"
    "holder.kept = function": ["up.user:holder.kept"],
    "class Base:\n    __slots__ = ('kept',)\nclass Both(Base): ...\nholder = Both()\n"
    "holder.kept = holder.other = function": ["up.user:holder.kept", "up.user:holder.other"],
    "from types import SimpleNamespace\nspace = SimpleNamespace(kept=function)": [
        "up.user:space.kept"
    ],
    "from types import MappingProxyType\nproxy = MappingProxyType({'k': function})": [
        "up.user:proxy['k']"
    ],
    "from types import MappingProxyType\nproxy = MappingProxyType({function: 1})": [
        "up.user:proxy (a key)"
    ],
    "class A:\n    s = staticmethod(function)": ["up.user:A.s (staticmethod)"],
    "class A:\n    c = classmethod(function)": ["up.user:A.c (classmethod)"],
    "class A:\n    p = property(function)": ["up.user:A.p (property)"],
    "class A:\n    def m(self, x=function): ...": ["up.user:A.m (default of x)"],
    "class A:\n    @staticmethod\n    def s(x=function): ...": [
        "up.user:A.s (default of x)"
    ],
    "class A:\n    table = {'k': function}": ["up.user:A.table['k']"],
    "from types import MethodType\nbound = MethodType(function, 1)": [
        "up.user:bound (method)"
    ],
    "from functools import singledispatch\n@singledispatch\ndef on(x): ...\n"
    "on.register(int, function)": ["up.user:on (closure dispatch)"],
}  # fmt: skip


ALIASES = [
    "list[Thing]",
    "Thing | None",
    "typing.Optional[Thing]",
    "typing.List[Thing]",
    "typing.Callable[[Thing], int]",
    "typing.Annotated[Thing, 1]",
    "typing.Annotated[int, Thing]",
    "typing.Type[Thing]",
]


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_that_names_a_class(loaded: Loaded, alias: str) -> None:
    """An alias is reported once, whatever Python or `typing` has made it of."""
    loaded.add(
        "up.user", f"import typing\nfrom up import Thing\na = {alias}\ndel Thing"
    )
    site, _ = loaded.changed("Thing")
    assert loaded.repoint(site) == ([], ["up.user:a (type alias)"])


def test_an_alias_of_a_generic_class(loaded: Loaded) -> None:
    """An alias with arguments is reported as made from its class."""
    source = "import typing\nclass Box(typing.Generic[typing.TypeVar('T')]): ..."
    exec(source, vars(loaded.up))
    loaded.add("up.user", "a = up.Box[int]")
    site, _ = loaded.changed("Box")
    assert loaded.repoint(site) == ([], ["up.user:a (type alias)"])


NOBODY = """
class Base:
    __slots__ = ('kept',)
    def __getattribute__(self, name): raise Warning(name)
class Strange(Base):
    @property
    def kept(self): raise Warning
holder = Strange()
Base.kept.__set__(holder, up.function)
from collections.abc import Mapping
class Own(Mapping):
    def __len__(self): raise Warning
    def __iter__(self): raise Warning
    def __getitem__(self, key): raise Warning
from types import MappingProxyType
proxy = MappingProxyType(Own())
"""


def test_nobodys_code_is_run(loaded: Loaded) -> None:
    """A slot is read though its class has a property there; a mapping of its own is not asked."""
    loaded.add("up.user", NOBODY)
    site, _ = loaded.changed("function")
    assert loaded.repoint(site) == ([], ["up.user:holder.kept"])


@pytest.mark.parametrize("source", HOLDERS)
def test_what_is_out_of_reach_is_named(loaded: Loaded, source: str) -> None:
    """Each holder is reported in words, and left as it is."""
    loaded.add("up.user", f"from up import function\n{source}\ndel function")
    site, _ = loaded.changed("function")
    assert loaded.repoint(site) == ([], HOLDERS[source])


def test_a_dispatcher_of_the_targets_own_module(loaded: Loaded) -> None:
    """A dispatcher of the target's own module keeps the original, and is reported."""
    source = (
        "import functools\n@functools.singledispatch\ndef on(x): ...\n"
        "on.register(int, function)"
    )
    exec(source, vars(loaded.up))
    site, _ = loaded.changed("function")
    assert loaded.repoint(site) == ([], ["up:on (closure dispatch)"])


@pytest.mark.parametrize("kind", ["static", "klass", "prop"])
def test_the_function_inside_of_a_method(loaded: Loaded, kind: str) -> None:
    """A name for the function inside a static or class method or a property is reported."""
    method = vars(loaded.up.Thing)[kind]
    loaded.add("up.user", inside=method.fget if kind == "prop" else method.__func__)
    site, _ = loaded.changed(f"Thing.{kind}")
    assert loaded.repoint(site) == ([], ["up.user:inside (the function inside)"])


def test_what_our_own_wrappers_hold_is_no_finding(loaded: Loaded) -> None:
    """The original that a wrapper of ours holds is not reported, wherever the wrapper is bound."""
    original = loaded.up.function

    def wrapper(below: object = original) -> object:
        return original, below

    site, _ = loaded.changed("function", wrapper)
    loaded.add(
        "up.user", "from up import function as theirs\nclass A:\n    stored = theirs"
    )
    assert loaded.repoint(site) == ([], [])


def test_a_class_in_the_closures_of_its_own_methods(loaded: Loaded) -> None:
    """The closure that `super()` has the class in is not reported."""
    source = "class Deep(Thing):\n    def method(self): return super().method()\nAlias = Deep"
    exec(source, vars(loaded.up))
    site, _ = loaded.changed("Deep", type("Deep", (loaded.up.Deep,), {}))
    assert loaded.repoint(site) == (["up:Alias"], [])


def test_annotations_and_bases_are_no_holders(loaded: Loaded) -> None:
    """Annotations, base classes and `__all__` that hold the original are not reported."""
    source = "from up import Thing\nclass A:\n    x: Thing\n__all__ = [Thing]\ny: Thing\ndel Thing"
    loaded.add("up.user", source)
    site, _ = loaded.changed("Thing")
    assert loaded.repoint(site) == ([], [])


def test_a_holder_that_two_modules_import_is_told_once(loaded: Loaded) -> None:
    """A function is reported where it was made, a table where it was found first, each once."""
    source = (
        "from up import function\ndef default(x=function): ...\ntable = {'k': function}"
    )
    loaded.add("up.a", source)
    loaded.add(
        "up.b", "from up.a import default, table, function as other\nown = [other]"
    )
    site, _ = loaded.changed("function")
    _, left = loaded.repoint(site)
    assert left == ["up.a:default (default of x)", "up.a:table['k']", "up.b:own[0]"]


def test_a_large_container_is_not_looked_through(loaded: Loaded) -> None:
    """A copy in a container of more than `MOST` items is not reported."""
    loaded.add("up.user", f"table = [up.function, *range({MOST})]")
    site, _ = loaded.changed("function")
    assert loaded.repoint(site) == ([], [])


FULL = {
    "row = [up.function, *range({})]": ["up.user:row[0]"],
    "row = (up.function, *range({}))": ["up.user:row[0]"],
    "some = {{up.function, *range({})}}": ["up.user:some (a member)"],
    "table = {{'k': up.function, **dict.fromkeys(map(str, range({})))}}": ["up.user:table['k']"],
    "def outer(y):\n    def inner(): return y\n    return inner\n"
    "closure = outer([up.function, *range({})])": ["up.user:closure (closure y)"],
    "def outer(y):\n    def inner(): return y\n    return inner\n"
    "closure = outer({{'k': up.function, **dict.fromkeys(map(str, range({})))}})": [
        "up.user:closure (closure y)"
    ],
}  # fmt: skip


@pytest.mark.parametrize("source", FULL)
def test_the_largest_container_that_is_looked_through(
    loaded: Loaded, source: str
) -> None:
    """A copy is reported in a container of `MOST` items, and not in one with an item more."""
    loaded.add("up.user", source.format(MOST - 1))
    site, _ = loaded.changed("function")
    assert loaded.repoint(site) == ([], FULL[source])
    loaded.add("up.user", source.format(MOST))
    assert loaded.repoint(site) == ([], [])


def test_a_holder_in_another_package(loaded: Loaded) -> None:
    """A holder in another package that imports from the target's package is reported."""
    loaded.add("plugin", "from up import Thing\ntable = {'k': Thing.method}")
    site, _ = loaded.changed("Thing.method")
    assert loaded.repoint(site) == ([], ["plugin:table['k']"])


def test_quick_parts_cover_all_named_parts(loaded: Loaded) -> None:
    """The quick search for a holder's parts covers all parts that can be named."""
    kinds = HolderKinds()
    for source in HOLDERS:
        module = loaded.add("up.user", f"from up import function\n{source}")
        for name, value in vars(module).items():
            kind = kinds[type(value)]
            if kind is not None and not name.startswith("__"):
                quick_ids = {id(part) for part in kind.parts(value)}
                named_ids = {id(part) for _, part in kind.named(value)}
                assert named_ids <= quick_ids


def test_a_class_that_another_package_imported_first(loaded: Loaded) -> None:
    """A class is looked into with its own module, though a module that comes before imported it."""
    loaded.add("a_script")
    source = "class K:\n    kept = up.function\n    def m(self, x=up.function): ..."
    user = loaded.add("up.user", source)
    vars(sys.modules["a_script"]).update(K=user.K, up=loaded.up)
    site, _ = loaded.changed("function", new := New())
    assert loaded.repoint(site) == (["up.user:K.kept"], ["up.user:K.m (default of x)"])
    assert vars(user.K)["kept"] is new


def test_a_function_that_torch_has_compiled(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named if torch.jit notes it; a class, and what torch has not seen, are not."""
    state = module_of("_jit_caching_layer = {}", "torch.jit._state")
    assert compiled_left(loaded.up.function) == []
    monkeypatch.setitem(sys.modules, "torch.jit._state", state)
    state._jit_caching_layer[loaded.up.function] = "torch's"
    words = ["up:function (compiled by torch.jit)"]
    loaded.up.function.__module__ = "up"
    assert compiled_left(loaded.up.function) == words
    assert compiled_left(staticmethod(loaded.up.function)) == words
    assert compiled_left(loaded.up.Thing.method) == []
    assert compiled_left(loaded.up.Thing) == []
