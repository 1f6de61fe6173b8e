"""Adapters and validated functions know a change of a class as long as the patch is on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.packages import module_of

from patchkit import AddField, Wrap
from patchkit.errors import TargetError
from runtime.changes.fields.groups import Upstream, upstream_of

if TYPE_CHECKING:
    from collections.abc import Iterator

UPSTREAM = """
import dataclasses, functools, typing, typing_extensions, pydantic
from pydantic import BaseModel, TypeAdapter, validate_call

@pydantic.dataclasses.dataclass
class Built:
    a: int = 1
@dataclasses.dataclass
class Standard:
    a: int = 1
class Heir(Standard): ...
class Model(BaseModel):
    built: Built = Built()
    standard: Standard = Standard()
class Typed(typing_extensions.TypedDict):
    item: Standard
class Kept: ...
"""
# For each way to keep what pydantic has built: code, and how one value is got through it.
KEEPERS: dict[str, tuple[str, str]] = {
    "an adapter": ("kept = TypeAdapter({cls})", "kept.validate_python({value})"),
    "a list of it": ("kept = TypeAdapter(list[{cls}])", "kept.validate_python([{value}])[0]"),
    "an option": ("kept = TypeAdapter({cls} | None)", "kept.validate_python({value})"),
    "annotated": (
        "kept = TypeAdapter(typing.Annotated[{cls}, 1])",
        "kept.validate_python({value})",
    ),
    "a name": ("kept = TypeAdapter('{cls}')", "kept.validate_python({value})"),
    "a name inside": ("kept = TypeAdapter(list['{cls}'])", "kept.validate_python([{value}])[0]"),
    "a bound method": ("kept = TypeAdapter({cls}).validate_python", "kept({value})"),
    "a partial": (
        "kept = functools.partial(TypeAdapter({cls}).validate_python, strict=False)",
        "kept({value})",
    ),
    "a table": ("kept = {{'x': TypeAdapter({cls})}}", "kept['x'].validate_python({value})"),
    "a list": ("kept = [TypeAdapter({cls}).validate_python]", "kept[0]({value})"),
    "an object": (
        "kept = Kept()\nkept.adapter = TypeAdapter({cls})",
        "kept.adapter.validate_python({value})",
    ),
    "a table of tables": (
        "kept = {{'x': [[TypeAdapter({cls})]]}}",
        "kept['x'][0][0].validate_python({value})",
    ),
    "a closure": (
        "kept = (lambda adapter: lambda value: adapter.validate_python(value))"
        "(TypeAdapter({cls}))",
        "kept({value})",
    ),
    "a class": (
        "class kept:\n    adapter = TypeAdapter({cls})",
        "kept.adapter.validate_python({value})",
    ),
    "a call": ("@validate_call\ndef kept(x: {cls}): return x", "kept({value})"),
    "a call that returns": (
        "@validate_call(validate_return=True)\ndef kept(x) -> list[{cls}]: return x",
        "kept([{value}])[0]",
    ),
    "a call of a name": ("@validate_call\ndef kept(x: '{cls}'): return x", "kept({value})"),
    "a method": (
        "class kept:\n    @validate_call\n    def run(self, x: {cls}): return x",
        "kept().run({value})",
    ),
    "a static method": (
        "class kept:\n    @staticmethod\n    @validate_call\n    def run(x: {cls}): return x",
        "kept.run({value})",
    ),
}  # fmt: skip


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    yield from upstream_of(UPSTREAM, "def wrap(f, i, a, k): return f(*a, **k)")


def _run(upstream: Upstream, source: str) -> Any:
    exec(compile(source, "upstream", "exec", dont_inherit=True), vars(upstream.module))


def _through(upstream: Upstream, keeper: str, value: dict[str, Any]) -> Any:
    _, use = KEEPERS[keeper]
    return eval(use.format(value=value), vars(upstream.module))


@pytest.mark.parametrize("cls", ["Built", "Standard", "Heir"])
@pytest.mark.parametrize("keeper", KEEPERS)
def test_what_is_kept_of_a_class(upstream: Upstream, keeper: str, cls: str) -> None:
    """An added field is taken by what was built before the patch and while it was on; not after."""
    source, _ = KEEPERS[keeper]
    value = {"a": "2", "added": "3"}
    target = "Standard" if cls == "Heir" else cls
    change = AddField(f"upstream:{target}", "added", "int", default=7)
    _run(upstream, source.format(cls=cls))
    undo = upstream.apply(change)
    before = _through(upstream, keeper, value)
    assert (before.a, before.added) == (2, 3)
    assert _through(upstream, keeper, {}).added == 7
    undo()
    assert not hasattr(_through(upstream, keeper, value), "added")
    undo = upstream.apply(change)
    _run(upstream, source.format(cls=cls))
    assert _through(upstream, keeper, value).added == 3
    undo()
    assert not hasattr(_through(upstream, keeper, value), "added")


@pytest.mark.parametrize("cls", ["Model", "Typed"])
def test_what_embeds_the_class(upstream: Upstream, cls: str) -> None:
    """An adapter of a model, or of a typed dict, takes what is added to a class in it."""
    _run(upstream, f"kept = TypeAdapter({cls})")
    name = "standard" if cls == "Model" else "item"
    undo = upstream.apply(AddField("upstream:Standard", "added", "int", default=7))
    read = vars(upstream.module)["kept"].validate_python
    made = read({name: {"added": 3}})
    assert (made.standard if cls == "Model" else made["item"]).added == 3
    undo()
    made = read({name: {"added": 3}})
    assert not hasattr(made.standard if cls == "Model" else made["item"], "added")


def test_what_another_package_keeps(upstream: Upstream) -> None:
    """An adapter is found wherever it is, also in a package that is not the class's."""
    source = "from upstream import Built, TypeAdapter\nkept = TypeAdapter(list[Built])"
    other = module_of(source, "other_package")
    undo = upstream.apply(AddField("upstream:Built", "added", "int", default=7))
    assert other.kept.validate_python([{"added": 3}])[0].added == 3
    undo()
    assert not hasattr(other.kept.validate_python([{"added": 3}])[0], "added")


def test_others_are_left_alone(upstream: Upstream) -> None:
    """What names none of the changed classes keeps its very validator."""
    _run(upstream, "other = TypeAdapter(list[int])\nself = TypeAdapter(Built)")
    validator = upstream.module.other.validator
    changed = upstream.module.self.validator
    upstream.apply(AddField("upstream:Built", "added", "int", default=7))
    assert upstream.module.other.validator is validator
    assert upstream.module.self.validator is not changed


def test_a_validator_that_is_wrapped(upstream: Upstream) -> None:
    """An adapter of a class, a validator of which is wrapped, calls the wrapper; then no more."""
    source = """
@pydantic.dataclasses.dataclass
class Checked:
    a: int = 1
    @pydantic.field_validator('a')
    @classmethod
    def check(cls, value): return value
kept = TypeAdapter(list[Checked])
"""
    _run(upstream, source)
    upstream.body.wrap = lambda f, i, a, k: f(*a, **k) + 100
    undo = upstream.apply(Wrap("upstream:Checked.check", by="wrap"))
    assert upstream.module.kept.validate_python([{"a": 1}])[0].a == 101
    undo()
    assert upstream.module.kept.validate_python([{"a": 1}])[0].a == 1


def test_what_cannot_be_rebuilt(upstream: Upstream) -> None:
    """A name that only a function knew fails the patch, which names the adapter and leaves it."""
    source = """
def make():
    class Local(Model): ...
    return TypeAdapter(tuple[Built, 'Local'])
kept = make()
"""
    _run(upstream, source)
    validator = upstream.module.kept.validator
    with pytest.raises(
        TargetError, match=r"TypeAdapter\(.* of upstream cannot be rebuilt"
    ):
        upstream.apply(AddField("upstream:Built", "added", "int", default=7))
    assert upstream.module.kept.validator is validator
    assert not hasattr(upstream.module.Built(), "added")
