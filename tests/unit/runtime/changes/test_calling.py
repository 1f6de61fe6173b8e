"""What a stranger's object can call, as its code says: a table of cases, and the law."""

from __future__ import annotations

import functools
import sys
from types import FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
import wrapt
from hypothesis import given, settings
from hypothesis import strategies as st
from support.packages import module_of
from support.sampling import examples

from patchkit.runtime.changes import calling
from patchkit.runtime.changes.calling import may_call
from patchkit.runtime.changes.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable


def ours(*args: Any) -> str:
    return "ours"


def calls(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    return wrapped(*args, **kwargs)


def ignores(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    return "theirs"


class Instrumentor:
    """An instrumentation whose wrapper is a method, as many of OpenTelemetry's are."""

    def calls(self, wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        return wrapped(*args, **kwargs)

    def ignores(self, wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        return self


class Calling:
    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self) -> Any:
        return self.function()

    def method(self) -> str:
        return "theirs"


class Keeping:
    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self) -> Any:
        return "theirs"


class Slotted:
    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self) -> Any:
        return self.function()


def from_source(source: str) -> Callable[[Any], Any]:
    """Make `stranger` of a module that has the former function as `former`."""

    def made(function: Any) -> Any:
        module = ModuleType("strangers_module")
        vars(module)["former"] = function
        exec(source, vars(module))
        return module.stranger

    return made


def in_closure(held: Any) -> Any:
    return lambda: held[0]()  # noqa: PLW0108


def wraps_only(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper() -> str:
        return "theirs"

    return wrapper


def by_bytecode(function: Any) -> Any:
    """A trampoline in the constants of which lies a copy of the function, as ddtrace does it."""
    copy = FunctionType(function.__code__, function.__globals__)

    def trampoline(*args: Any) -> Any:
        copy: Any = "copy"
        return copy(*args)

    constants = trampoline.__code__.co_consts
    replaced = tuple(copy if value == "copy" else value for value in constants)
    trampoline.__code__ = trampoline.__code__.replace(co_consts=replaced)
    return trampoline


WRAPPED: dict[str, Callable[[Any], Any]] = {
    "closure": lambda function: lambda: function(),  # noqa: PLW0108
    "loaded, whatever becomes of it": lambda function: lambda: [function],
    "closure of an inner function": lambda function: lambda: lambda: function(),  # noqa: PLW0108
    "list in a closure": lambda function: in_closure([function]),
    "default": lambda function: lambda function=function: function(),
    "keyword default": from_source("def stranger(*, f=former): return f()"),
    "default, looked up": from_source("def stranger(f=former): return locals()['f']()"),
    "global": from_source("def stranger(): return former()"),
    "global table": from_source("T = {1: former}\ndef stranger(): return T[1]()"),
    "global, looked up": from_source("def stranger(): return globals()['former']()"),
    "through a helper": from_source(
        "def helper(): return former()\ndef stranger(): return helper()"
    ),
    "attribute of a class": from_source(
        "class Hooks: f = former\ndef stranger(): return Hooks.f()"
    ),
    "own attribute": from_source(
        "def stranger(): return stranger._f()\nstranger._f = former"
    ),
    "own attribute by getattr": from_source(
        "def stranger(): return getattr(stranger, '_f')()\nstranger._f = former"
    ),
    "__wrapped__ that is called": from_source(
        "def stranger(): return stranger.__wrapped__()\nstranger.__wrapped__ = former"
    ),
    "comprehension": from_source("def stranger(f=former): return [f() for _ in '1']"),
    "class that calls": from_source(
        "class stranger:\n  def __new__(cls): return former()"
    ),
    "coroutine": from_source("async def stranger(): return former()"),
    "generator": from_source("def stranger(): yield from former()"),
    "partial": functools.partial,
    "partial argument": lambda function: functools.partial(calls, function),
    "lru_cache": functools.lru_cache,
    "static method": staticmethod,
    "class method": classmethod,
    "property": property,
    "cached property": functools.cached_property,
    "bound": lambda function: MethodType(function, 1),
    "bound as the instance": lambda function: MethodType(calls, function),
    "object": Calling,
    "wrapt": lambda function: wrapt.FunctionWrapper(function, calls),
    "wrapt's decorator": wrapt.decorator(calls),
    "OpenTelemetry": lambda function: wrapt.FunctionWrapper(
        function, Instrumentor().calls
    ),
    "wrapt's proxy": wrapt.ObjectProxy,
    "mock": lambda function: mock.Mock(wraps=function),
    "magic mock": lambda function: mock.MagicMock(wraps=function),
    "mock with an effect": lambda function: mock.Mock(side_effect=lambda: function()),  # noqa: PLW0108
    "bytecode": by_bytecode,
    "copy": lambda function: FunctionType(function.__code__, {}),
}

OVERWRITTEN: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda _: lambda: "theirs",
    "attribute": from_source("def stranger(): ...\nstranger._original = former"),
    "functools.wraps": wraps_only,
    "functools.wraps in a cache": lambda function: functools.lru_cache(
        wraps_only(function)
    ),
    "functools.wraps in a static method": lambda function: staticmethod(
        wraps_only(function)
    ),
    "default": from_source("def stranger(f=former): return 'theirs'"),
    "keyword default": from_source("def stranger(*, f=former): return 'theirs'"),
    "default under an inner name": from_source(
        "def stranger(f=former):\n  def inner(f): return f\n  return inner"
    ),
    "closure": from_source(
        "def make(f):\n"
        "  def stranger():\n"
        "    nonlocal f\n"
        "    f = None\n"
        "  return stranger\n"
        "stranger = make(former)"
    ),
    "global": from_source("def stranger(): return 'theirs'"),
    "attribute of a class": from_source(
        "class stranger:\n  f = former\n  def __new__(cls): return 'theirs'"
    ),
    "partial argument": lambda function: functools.partial(ours_not, function),
    "method of an object": lambda function: Calling(function).method,
    "wrapt": lambda function: wrapt.FunctionWrapper(function, ignores),
    "OpenTelemetry": lambda function: wrapt.FunctionWrapper(
        function, Instrumentor().ignores
    ),
    "mock": lambda _: mock.MagicMock(),
    "autospec": mock.create_autospec,
}

UNSURE: dict[str, Callable[[Any], Any]] = {
    "object that only keeps it": Keeping,
    "slots": Slotted,
    "in C": lambda function: iter([function]),
    "in C, in a closure": lambda function: in_closure(iter([function])),
}


def ours_not(function: Any) -> str:
    return "theirs"


@pytest.mark.parametrize("kind", WRAPPED)
def test_what_loads_the_function_may_call_it(kind: str) -> None:
    """It may call the function, also through another wrapper, and no other function."""
    wrapper = WRAPPED[kind](ours)
    assert may_call(wrapper, ours) is True
    assert may_call(lambda: wrapper(), ours) is True  # noqa: PLW0108
    assert may_call(wrapper, ignores) is not True


@pytest.mark.parametrize("kind", OVERWRITTEN)
def test_what_only_keeps_the_function_does_not_call_it(kind: str) -> None:
    """No code names the function, so it is not called."""
    assert may_call(OVERWRITTEN[kind](ours), ours) is False


@pytest.mark.parametrize("kind", UNSURE)
def test_what_holds_the_function_out_of_sight_is_unsure(kind: str) -> None:
    """The function is held where no code that can be read names it."""
    assert may_call(UNSURE[kind](ours), ours) is None


def test_code_of_another_module_is_unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A helper of another module that calls the function may do so for the stranger, or not."""
    library = module_of("def helper(): return former()", "strangers_library")
    library.former = ours
    monkeypatch.setitem(sys.modules, "strangers_library", library)
    importing = "from strangers_library import helper\ndef stranger(): return helper()"
    late = "def stranger():\n  import strangers_library as s\n  return s.{}()"
    assert may_call(from_source(importing)(None), ours) is None
    assert may_call(from_source(late.format("helper"))(None), ours) is None
    assert may_call(from_source(late.format("former"))(None), ours) is True


class Base:
    def run(self) -> str:
        return "ours"


class BySuper(Base):
    def run(self) -> str:
        return super().run()


class ByName(Base):
    def run(self) -> str:
        return Base.run(self)


class Alone(Base):
    def run(self) -> str:
        return "theirs"


@pytest.mark.parametrize(
    ("cls", "answer"), [(BySuper, True), (ByName, True), (Alone, False)]
)
def test_a_method_calls_the_one_that_it_overrides_or_not(
    cls: type[Base], answer: bool
) -> None:
    """It may, by `super` or by the name of the base; else it does not."""
    assert may_call(vars(cls)["run"], Base.run, cls) is answer
    assert may_call(cls, Base) is True


def test_a_method_that_was_kept_on_its_class_is_called() -> None:
    """A stranger finds on its class, under another name, what stood in its place."""

    class Worker:
        def run(self) -> str:
            return "ours"

    former = Worker.run
    Worker._run = former  # type: ignore[attr-defined]
    named = from_source("def stranger(self): return self._run()")(None)
    other = from_source("def stranger(self): return self._other()")(None)
    assert may_call(named, former, Worker) is True
    assert may_call(other, former, Worker) is False


@pytest.mark.parametrize("kind", [staticmethod, classmethod, property])
def test_the_function_in_a_method_counts_as_the_method(kind: Any) -> None:
    """Who reads a static method, a class method or a property gets what is inside."""
    assert may_call(lambda: ours(), kind(ours)) is True  # noqa: PLW0108


def test_decorated_functions_share_their_code_and_are_not_the_same() -> None:
    """Functions that one decorator has made have the same code, and do not call each other."""

    def decorated(function: Any) -> Any:
        return lambda: function()  # noqa: PLW0108

    assert may_call(decorated(ignores), decorated(ours)) is False


def test_plain_values_are_nobodys() -> None:
    """The number 1 of a stranger is not the number 1 that a patch has put there."""
    assert may_call([1], 1) is False


def test_a_list_that_holds_itself_leads_nowhere() -> None:
    """The search ends in a list that holds itself, and finds nothing."""
    circle: list[Any] = []
    circle.append(circle)
    assert may_call(lambda: circle, ours) is False


def test_the_search_for_a_function_is_bounded() -> None:
    """A function inside ten thousand lists is not found: the search stops earlier."""
    held: Any = ours
    for _ in range(10_000):
        held = [held]
    assert may_call(lambda: held, ours) is False


def test_what_patchkit_keeps_is_nobodys() -> None:
    """A stranger that comes to patchkit's own objects does not call what they hold."""
    site = Site(module_of(""), "name", ours, own=True)
    assert may_call(lambda: site, ours) is False


def test_an_object_that_raises_is_unsure() -> None:
    """What a stranger's object raises when it is looked at is nobody's failure."""

    class Raising(wrapt.ObjectProxy):  # type: ignore[misc]
        pass

    proxy = Raising.__new__(Raising)
    assert may_call(proxy, ours) is None


# -- the law --------------------------------------------------------------------------------------

KEPT = {
    "closure": ("", "f", "def make(f):\n{def_}\n  return stranger", "make(former)"),
    "default": ("f=former", "f", "", ""),
    "keyword default": ("*, f=former", "f", "", ""),
    "global": ("", "former", "", ""),
    "global list": ("", "KEPT[0]", "KEPT = [former]", ""),
    "global dict": ("", "KEPT['k']", "KEPT = {'k': former}", ""),
    "global object": ("", "KEPT.f", "KEPT = Space(f=former)", ""),
    "global class": ("", "Kept.f", "class Kept: f = staticmethod(former)", ""),
    "own attribute": ("", "stranger.f", "", "set"),
    "partial": ("", "KEPT", "KEPT = partial(former)", ""),
}
"""Where the former is kept: parameters, the expression that reads it there, code before."""

USES = {
    "calls": "return {kept}()",
    "calls later": "g = {kept}\n    return (lambda: g())()",
    "calls in a loop": "return [g() for g in [{kept}]]",
    "calls in a function": "def inner():\n      return {kept}()\n    return inner()",
    "calls by map": "return list(map(lambda g: g(), [{kept}]))",
    "calls after try": "try:\n      return {kept}()\n    finally:\n      pass",
    "reads": "{kept}\n    return 'theirs'",
    "never": "return 'theirs'",
    "never in a function": "def inner(f, g): return f, g\n    return inner",
}

AROUND: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda stranger: stranger,
    "wraps": lambda stranger: functools.wraps(ours)(lambda: stranger()),  # noqa: PLW0108
    "partial": functools.partial,
    "static": staticmethod,
    "cache": functools.lru_cache,
    "wrapt": lambda stranger: wrapt.FunctionWrapper(stranger, calls),
    "mock": lambda stranger: mock.Mock(wraps=stranger),
    "object": Calling,
    "slots": Slotted,
    "closure": lambda stranger: lambda: stranger(),  # noqa: PLW0108
}


def stranger_that(kept: str, use: str, former: Any) -> Any:
    """Write a function that keeps the former one somewhere, and uses it or not."""
    parameters, expression, before, _ = KEPT[kept]
    body = USES[use].format(kept=expression)
    defined = f"  def stranger({parameters}):\n    {body}"
    module = ModuleType("strangers_module")
    vars(module).update(former=former, Space=SimpleNamespace, partial=functools.partial)
    if kept == "closure":
        source = f"def make(f):\n{defined}\n  return stranger\nstranger = make(former)"
    else:
        source = f"{before}\nif True:\n{defined}"
    exec(source, vars(module))
    if kept == "own attribute":
        module.stranger.f = former
    return module.stranger


@settings(max_examples=examples(few=50, many=500))
@given(
    kept=st.sampled_from(sorted(KEPT)),
    use=st.sampled_from(sorted(USES)),
    around=st.lists(st.sampled_from(sorted(AROUND)), max_size=3),
    kept_too=st.booleans(),
)
def test_what_is_said_is_what_a_call_shows(
    kept: str, use: str, around: list[str], kept_too: bool
) -> None:
    """What calls the former is never said not to; what never names it is never said to."""
    count = 0

    def former() -> str:
        nonlocal count
        count += 1
        return "ours"

    value = stranger_that(kept, use, former)
    if kept_too:
        value.__wrapped__ = former
    for kind in around:
        value = AROUND[kind](value)
    answer = may_call(value, former)
    value()
    assert count == (1 if use.startswith("calls") else 0)
    if count:
        assert answer is not False
    if use.startswith("never"):
        assert answer is not True
    if "slots" not in around:  # all else is seen
        assert answer is not use.startswith("never")


def test_the_search_reads_code_of_this_python() -> None:
    """Each way to load a variable is known by the name of its instruction."""

    def loading(first: Any, second: Any, *, third: Any = ours) -> Any:
        return lambda: first, second, third, [second.name for _ in "1"]

    names = calling._loaded(loading.__code__, calling._VARIABLES)
    assert names.keys() >= {"first", "second", "third"}
    assert "name" not in names
