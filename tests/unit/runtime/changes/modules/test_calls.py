from __future__ import annotations

import pytest

from patchkit import AfterImport, BeforeImport
from patchkit.errors import TargetError
from patchkit.runtime.changes.context import Context
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.process.making import prepare
from runtime.changes.kinds import Bench

BODY = """
seen = []
NUMBER = 1
def plain(): seen.append('plain')
def with_module(module): seen.append(module.__name__)
def with_default(extra='default'): seen.append(extra)
def with_more(module, *args, **kwargs): seen.append((module.__name__, args, kwargs))
def with_any(*args): seen.append(args)
def with_undo():
    seen.append('made')
    return lambda: seen.append('undone')
class Callable:
    def __call__(self): seen.append('callable')
    def method(self, module): seen.append(('method', module.__name__))
instance = Callable()
method = instance.method
"""


@pytest.mark.parametrize(
    ("call", "seen"),
    [
        ("plain", "plain"),
        ("with_module", "upstream"),
        ("with_default", "default"),
        ("with_more", ("upstream", (), {})),
        ("with_any", ()),
        ("instance", "callable"),
        ("method", ("method", "upstream")),
    ],
)
def test_after_import_gives_the_module_to_who_asks_for_it(
    call: str, seen: object
) -> None:
    """A function with one required argument gets the module; any other is called without."""
    bench = Bench("", BODY)
    undo = bench.apply(AfterImport("upstream", call=call))
    assert bench.body.seen == [seen]
    undo()
    assert bench.body.seen == [seen]


def test_preparing_calls_nothing() -> None:
    """The function runs when the patch is applied as a whole, not while it is looked at."""
    bench = Bench("", BODY)
    prepare(
        AfterImport("upstream", call="plain"),
        Context(bench.upstream, bench.body, bench.sites),
    )
    assert bench.body.seen == []


def test_before_import_has_no_module_yet() -> None:
    """A BeforeImport function is called without arguments."""
    bench = Bench("", BODY)
    prepared = prepare(
        BeforeImport("upstream", call="plain"), Context(None, bench.body, Sites())
    )
    prepared.apply()
    assert bench.body.seen == ["plain"]


def test_what_the_function_returns_is_the_undo() -> None:
    """Undo of an AfterImport calls the function that `call` has returned."""
    bench = Bench("", BODY)
    undo = bench.apply(AfterImport("upstream", call="with_undo"))
    undo()
    assert bench.body.seen == ["made", "undone"]


def test_what_cannot_be_called_is_refused() -> None:
    """A number as `call` is refused; the error names the change, the object and its value."""
    bench = Bench("", BODY)
    with pytest.raises(TargetError, match=r"AfterImport\('upstream'\): 'NUMBER' is 1"):
        bench.apply(AfterImport("upstream", call="NUMBER"))
