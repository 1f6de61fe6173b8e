"""Functions whose `super()` would not find its class, and classes that name themselves in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from patchkit import Add, Replace
from patchkit.errors import TargetError
from runtime.changes.fields.groups import Upstream, upstream_of

if TYPE_CHECKING:
    from collections.abc import Iterator

UPSTREAM = """
class Plain:
    kept = 1
    def method(self): return 'plain'
class Old(Plain):
    def method(self): return ('old', super(Old, self).method())
class Apart(Plain):
    def apart(self): return super(Apart, self).method()
class Modern(Plain):
    def method(self): return ('modern', super().method(), Modern.kept)
"""
BODY = """
import upstream
def with_super(self): return super().method()
def by_name(self): return ('by name', super(upstream.Old, self).method())
class Beside:
    def method(self): return ('beside', super().method())
"""


@pytest.fixture
def bench() -> Iterator[Upstream]:
    yield from upstream_of(UPSTREAM, BODY)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            Replace("upstream:Plain.method", by="with_super"),
            r"super\(\) in body.with_super .*, which stands in no class; "
            r"expected the class by name: super\(Plain, self\)",
        ),
        (Add("upstream:Plain.other", by="with_super"), "which stands in no class"),
        (
            Replace("upstream:Plain.method", by="Beside.method"),
            "which means that of Beside",
        ),
    ],
)
def test_a_super_without_its_class_is_refused(
    bench: Upstream, change: Any, message: str
) -> None:
    """Each call of it would fail."""
    with pytest.raises(TargetError, match=message):
        bench.apply(change)


def test_a_super_with_its_class_is_the_way_out(bench: Upstream) -> None:
    """A function that names the class is put there, and finds the base."""
    bench.apply(Replace("upstream:Old.method", by="by_name"))
    assert bench.module.Old().method() == ("by name", "plain")


CLASSES = {
    "def extra(self): return 1": True,
    "def method(self): return ('new', super().method())": True,
    "def method(self): return ('new', Base.method(self))": True,
    "def method(self): return 'new'": False,
}


@pytest.mark.parametrize(("method", "is_refused"), CLASSES.items())
def test_a_class_whose_methods_name_it_in_super(
    bench: Upstream, method: str, *, is_refused: bool
) -> None:
    """A class in its place is refused if such a method may run, which would call itself."""
    exec(f"Base = upstream.Old\nclass New(Base):\n    {method}", vars(bench.body))
    change = Replace("upstream:Old", by="New")
    if is_refused:
        message = r"super\(Old, …\) in Old.method, .* Wrap or Edit methods of Old"
        with pytest.raises(TargetError, match=message):
            bench.apply(change)
        bench.apply(Replace("upstream:Old", by="New", unrelated=True))
        with pytest.raises(RecursionError):
            bench.module.Old().method()
    else:
        bench.apply(change)
        assert bench.module.Old().method() == "new"


def test_a_method_that_goes_on_to_another_one(bench: Upstream) -> None:
    """It would skip no class any more, so it is refused if nothing takes its place."""
    exec("class New(upstream.Apart): ...", vars(bench.body))
    with pytest.raises(TargetError, match=r"super\(Apart, …\) in Apart.apart"):
        bench.apply(Replace("upstream:Apart", by="New"))


def test_a_class_that_names_itself_elsewhere_is_replaced(bench: Upstream) -> None:
    """`super()` without arguments finds its class, whatever its name stands for."""
    exec("class New(upstream.Modern): ...", vars(bench.body))
    bench.apply(Replace("upstream:Modern", by="New"))
    assert bench.module.Modern().method() == ("modern", "plain", 1)
