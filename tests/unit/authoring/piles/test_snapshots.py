"""What is compared of upstream, before and after a pile has run."""

from __future__ import annotations

import sys
from collections import OrderedDict
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from patchkit.authoring.piles import snapshots

if TYPE_CHECKING:
    from collections.abc import Iterator


class Loading(dict[str, Any]):
    """A mapping that loads its values when somebody asks for them, as transformers has."""

    def _refuse(self, *_: object) -> Any:
        raise ValueError("could not find a model")

    items = values = keys = __iter__ = __len__ = _refuse


class LoadingList(list[Any]):
    """A list that loads its elements when somebody asks for them."""

    def __iter__(self) -> Iterator[Any]:
        raise ValueError("could not find a model")


class Proxy:
    """An object that runs code when somebody asks for its class."""

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        raise ValueError("not now")


@pytest.mark.parametrize("kind", [Loading, LoadingList, Proxy])
def test_no_code_of_a_value_runs(kind: type[Any]) -> None:
    """What it holds is read by the methods of Python's own classes."""
    value = kind()
    module = ModuleType("up")
    namespace = {"value": value, "after": 1}
    found = dict(snapshots.members(module.__name__, "", namespace))
    assert found["up", "after"] == 1
    assert found["up", "value"] is value


def test_the_items_of_such_a_mapping_are_compared() -> None:
    """One that is set in it is seen."""
    mapping = Loading(a=1)
    before = dict(snapshots.members("up", "", {"TABLE": mapping}))
    dict.__setitem__(mapping, "b", 2)
    after = dict(snapshots.members("up", "", {"TABLE": mapping}))
    assert {qualname for _, qualname in after.keys() - before.keys()} == {"TABLE['b']"}


def test_what_is_set_inside_of_functions_classes_and_instances() -> None:
    """Their names are bound to the same objects as before."""
    names: dict[str, Any] = {"__name__": "up"}
    text = "class A: ...\nclass B: ...\nclass C(A): ...\nclass D(C): ...\n"
    exec(f"{text}def f(a=1): ...\ndef g(*, b=1): ...\nitem = C()\n", names)
    before = dict(snapshots.members("up", "", names))
    exec("C.__bases__ = (B,)\nitem.__class__ = D\n", names)
    exec("f.__code__ = (lambda a: 2).__code__\ng.__kwdefaults__['b'] = 2\n", names)
    after = dict(snapshots.members("up", "", names))
    changed = {
        (difference.attribute[1], difference.form)
        for difference in snapshots.differences(before, after)
    }
    assert changed == {
        ("C", "content"),
        ("f", "content"),
        ("g", "content"),
        ("item.__class__", "item"),
    }


class Lazy(ModuleType):
    """A module of a type of its own, as that of transformers."""


def test_a_module_that_another_has_is_no_registry() -> None:
    """What it has is compared under its own name."""
    Lazy.__module__ = "up.lazy"
    module = Lazy("up.other")
    vars(module)["word"] = "loaded"
    found = dict(snapshots.members("up", "", {"other": module}))
    assert list(found) == [("up", "other")]


LOADS = """
def __getattr__(name):
    from up.home import C

    globals()[name] = {"C": C, "D": int}[name]
    return globals()[name]
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LOADS, ["D"]),
        ("", ["C", "D"]),
    ],
)
def test_a_name_that_upstream_binds_itself_is_no_change(
    text: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a package does that imports its definitions when somebody asks for them."""
    package = ModuleType("up")
    exec(text, vars(package))
    home = ModuleType("up.home")
    exec("class C: ...\n", vars(home))
    monkeypatch.setitem(sys.modules, "up", package)
    monkeypatch.setitem(sys.modules, "up.home", home)
    before = {("up", "first"): 1}
    defined = vars(home)["C"]
    after = {**before, ("up", "C"): defined, ("up", "D"): defined}
    found = [each.attribute[1] for each in snapshots.differences(before, after)]
    assert found == expected
    assert vars(package).get("D", defined) is defined


class Making(dict[str, Any]):
    """A table that makes what is asked for, as that of activations in transformers."""

    def __getitem__(self, key: str) -> Any:
        return super().__getitem__(key)()


@pytest.mark.parametrize(
    ("kind", "form"), [(dict, "item"), (OrderedDict, "item"), (Making, "content")]
)
def test_an_item_that_is_not_what_was_set_is_no_target(
    kind: type[dict[str, Any]], form: str
) -> None:
    """A row cannot say it: it happens in the call."""
    table = kind(a=int)
    before = dict(snapshots.members("up", "", {"TABLE": table}))
    table["a"] = str
    after = dict(snapshots.members("up", "", {"TABLE": table}))
    (change,) = snapshots.differences(before, after)
    assert (change.attribute, change.form) == (("up", "TABLE['a']"), form)
