from __future__ import annotations

import functools
import textwrap
from typing import Any

import pytest

from patchkit import Replace, Wrap
from patchkit.errors import TargetError
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.changes.source.edit import function_at, layers
from patchkit.runtime.process.making import prepare
from runtime.changes.source.edits import Desk

UPSTREAM = """
    import functools

    def plain(): return 'plain'

    def decorated(function):
        @functools.wraps(function)
        def wrapper(*args): return function(*args)
        return wrapper

    class Base:
        def inherited(self): return 'inherited'
        @property
        def shared(self): return 'shared'

    class Thing(Base):
        number = 1
        def method(self): return 'method'
        @staticmethod
        def static(): return 'static'
        @classmethod
        def klass(cls): return 'klass'
        @property
        def size(self): return 'get'
        @size.setter
        def size(self, value): self.set = 'set'
        @size.deleter
        def size(self): self.deleted = 'del'
        write_only = property(None, lambda self, value: None)
        @functools.cached_property
        def cached(self): return 'cached'
        @functools.singledispatchmethod
        def dispatched(self, x): return 'dispatched'
        @functools.lru_cache(maxsize=2)
        def remembered(self): return 'remembered'
        @decorated
        @decorated
        def twice(self): return 'twice'
        @staticmethod
        @decorated
        def both(): return 'both'
        partial_method = functools.partialmethod(method)

    class Sub(Thing): ...

    partial = functools.partial(functools.partial(plain))
    generic = functools.singledispatch(decorated(plain))
    table = {'key': plain, 'list': [decorated(plain)]}
    instance = Thing()
    instance.own = plain
    builtin = len
"""


@pytest.fixture
def desk() -> Desk:
    return Desk(UPSTREAM)


@pytest.mark.parametrize(
    ("qualname", "constant"),
    [
        ("plain", "plain"),
        ("Thing.method", "method"),
        ("Thing.static", "static"),
        ("Thing.klass", "klass"),
        ("Thing.size", "get"),
        ("Thing.size.fget", "get"),
        ("Thing.size.fset", "set"),
        ("Thing.size.fdel", "del"),
        ("Thing.cached", "cached"),
        ("Thing.cached.func", "cached"),
        ("Thing.dispatched", "dispatched"),
        ("Thing.remembered", "remembered"),
        ("Thing.remembered.__wrapped__", "remembered"),
        ("Thing.twice", "twice"),
        ("Thing.both", "both"),
        ("Thing.partial_method", "method"),
        ("Base.shared", "shared"),
        ("partial", "plain"),
        ("partial.func", "plain"),
        ("generic", "plain"),
        ("table['key']", "plain"),
        ("table['list'][0]", "plain"),
        ("instance.own", "plain"),
    ],
)
def test_the_innermost_function_is_found(
    desk: Desk, qualname: str, constant: str
) -> None:
    """`function_at` looks through descriptors, caches, partials, decorators and containers."""
    _, function = function_at(desk.upstream, qualname, desk.sites)
    assert constant in function.__code__.co_consts


@pytest.mark.parametrize(
    ("qualname", "words"),
    [
        ("Sub.method", "method is inherited from upstream:Thing"),
        ("Sub.size.fset", r"expected upstream:Thing\.size"),
        ("Thing.inherited", "inherited from upstream:Base"),
        ("instance.method", "inherited from upstream:Thing"),
        ("Thing.number", "found 1, expected a function or method written in Python"),
        ("Thing.write_only", "expected a function"),
        ("Thing", "found <class .*Thing.*expected a function"),
        ("builtin", "found <built-in function len>"),
        ("missing", "has no 'missing'"),
    ],
)
def test_what_is_no_function_of_its_owner_is_refused(
    desk: Desk, qualname: str, words: str
) -> None:
    """The error says what was found, or which class to edit instead of one that inherits."""
    with pytest.raises(TargetError, match=words):
        function_at(desk.upstream, qualname, desk.sites)


@pytest.mark.parametrize(
    "qualname", ["textwrap.dedent", "dedent", "textwrap.TextWrapper.fill"]
)
def test_an_imported_function_is_refused(desk: Desk, qualname: str) -> None:
    """An edit would be one for all that import it; the error names the module to edit instead."""
    desk.upstream.textwrap = textwrap
    desk.upstream.dedent = textwrap.dedent
    with pytest.raises(
        TargetError, match=r"only imported from textwrap:.*; expected textwrap:"
    ):
        function_at(desk.upstream, qualname, desk.sites)


def test_a_callable_that_wraps_itself() -> None:
    """`layers` ends at a callable that claims to wrap itself."""

    class Odd:
        def __call__(self) -> None: ...

    odd: Any = Odd()
    odd.__wrapped__ = functools.partial(odd)
    innermost = layers(odd)[-1]
    assert innermost is odd or isinstance(innermost, functools.partial)


def test_beneath_a_wrap_the_original_is_edited(desk: Desk) -> None:
    """`function_at` finds the original beneath it, and the wrapper calls what is edited."""
    method = desk.upstream.Thing.method
    desk.upstream.by = lambda wrapped, instance, args, kwargs: wrapped(
        *args, **kwargs
    ).upper()
    prepared_wrap = prepare(
        Wrap("upstream:Thing.method", by="by"), desk.context((0, 0))
    )
    prepared_wrap.apply()
    assert function_at(desk.upstream, "Thing.method", desk.sites)[1] is method
    desk.edit("Thing.method", "'method'", "'edited'")
    assert desk.upstream.Thing().method() == "EDITED"
    prepared_wrap.undo()
    assert desk.upstream.Thing.method is method
    assert desk.upstream.Thing().method() == "edited"


def test_beneath_a_replacement_there_is_nothing_to_edit(desk: Desk) -> None:
    """The error names the patch that has replaced it."""
    desk.upstream.by = lambda: "other"
    prepare(Replace("upstream:plain", by="by"), desk.context((0, 0), "taker")).apply()
    with pytest.raises(
        TargetError, match=r"upstream\.plain is replaced by patch taker"
    ):
        function_at(desk.upstream, "plain", desk.sites)


def test_a_class_that_was_replaced_by_a_derived_one(desk: Desk) -> None:
    """Its method is edited where upstream has it, and the derived class inherits that."""
    thing = desk.upstream.Thing
    desk.upstream.Derived = type("Derived", (thing,), {})
    prepare(Replace("upstream:Thing", by="Derived"), desk.context((0, 0))).apply()
    assert function_at(desk.upstream, "Thing.method", desk.sites)[1] is thing.method
    desk.edit("Thing.method", "'method'", "'edited'")
    assert desk.upstream.Thing().method() == "edited"


def test_a_foreign_decorator_is_looked_through(desk: Desk) -> None:
    """`function_at` finds the function that a wrapper names in `__wrapped__`."""
    plain = desk.upstream.plain
    desk.upstream.plain = functools.wraps(plain)(lambda *args: plain(*args, *args))
    assert function_at(desk.upstream, "plain", Sites())[1] is plain
