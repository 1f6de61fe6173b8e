"""What is changed of pydantic dataclasses and models acts wherever they are built in."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
from typing import TYPE_CHECKING, Any

import pydantic
import pytest
from support import packages
from support.undoing import undo

from patchkit import Add, AddField, Replace, Role, Wrap
from patchkit.errors import TargetError
from patchkit.runtime.changes.fields.pydantic_classes import (
    forget_schema,
    is_complete,
    rebuild,
)
from runtime.changes.fields import configs
from runtime.changes.fields.configs import CONFIG, classes_of, execute, refused
from runtime.changes.fields.groups import Upstream, assert_same, held

if TYPE_CHECKING:
    from support.packages import World

    from patchkit.core.rows.declaration import Change

upstream = configs.upstream
world = packages.world


@pytest.mark.parametrize("name", ["Config", "Derived"])
def test_an_added_field_is_validated(upstream: Upstream, name: str) -> None:
    """Values are converted and refused by its type, on the class and its subclasses."""
    upstream.apply(AddField(CONFIG, "extra", "int", 3))
    cls = getattr(upstream.module, name)
    assert (cls().extra, cls(extra="4").extra) == (3, 4)
    assert refused(cls, extra="x")
    assert refused(cls, strange=1)


def test_whatever_embeds_the_class_knows_the_field(upstream: Upstream) -> None:
    """Directly, in containers, at the second hand, in a model."""
    upstream.apply(AddField(CONFIG, "extra", "int", 3))
    module, given = upstream.module, {"extra": "4"}
    assert module.Outer(config=given).config.extra == 4
    assert module.Outer(configs={"a": [given]}).configs["a"][0].extra == 4
    assert module.Outermost(outer={"config": given}).outer.config.extra == 4
    assert module.Model(config=given).config.extra == 4
    assert module.Heir(config=given).config.extra == 4
    assert module.Holder(model={"config": given}).model.config.extra == 4
    assert refused(module.Outermost, outer={"config": {"extra": "x"}})
    dumped = pydantic.TypeAdapter(module.Outermost).dump_python(module.Outermost())
    assert dumped["outer"]["config"]["extra"] == 3


def test_a_model_is_refused(upstream: Upstream) -> None:
    """Its fields are kept in other ways; a class that derives from it has the field."""
    with pytest.raises(
        TargetError, match="found the pydantic model Model; Replace it by a class"
    ):
        upstream.apply(AddField("upstream:Model", "extra", "int", 3))


RING = """
@dataclass
class Left:
    right: Optional['Right'] = None
@dataclass
class Right:
    left: Optional[Left] = None
"""


def test_classes_that_embed_each_other(upstream: Upstream) -> None:
    """All the way round, the class is the new one."""
    execute(upstream, RING)
    left, right = upstream.module.Left, upstream.module.Right
    left(), right()
    undo = upstream.apply(AddField("upstream:Left", "extra", "int", 3))
    given = {"left": {"right": {"left": {"extra": "4"}}}}
    assert right(**given).left.right.left.extra == 4
    assert left(right=given).right.left.right.left.extra == 4
    undo()
    assert not hasattr(right(**given).left.right.left, "extra")


WRITTEN = """
@dataclass
class Written:
    size: int = Field(default=1, gt=0)
    extra: int = field(default=3, kw_only=True)
@dataclass
class Grown:
    size: int = Field(default=1, gt=0)
"""


def test_the_class_is_as_it_would_be_written(upstream: Upstream) -> None:
    """Fields, signature, repr, copies and pickles, beside a class that was written so."""
    execute(upstream, WRITTEN)
    written, grown = upstream.module.Written, upstream.module.Grown
    upstream.apply(AddField("upstream:Grown", "extra", "int", 3))
    assert inspect.signature(grown) == inspect.signature(written)
    assert [f.name for f in dataclasses.fields(grown)] == [
        f.name for f in dataclasses.fields(written)
    ]
    assert repr(grown(extra=4)) == repr(written(extra=4)).replace("Written", "Grown")
    assert list(grown.__pydantic_fields__) == list(written.__pydantic_fields__)
    thing = grown(extra=4)
    assert copy.deepcopy(thing) == thing == pickle.loads(pickle.dumps(thing)) != grown()


def test_a_standard_dataclass_inside_a_pydantic_one(upstream: Upstream) -> None:
    """Pydantic has copied its fields into the class that embeds it."""
    upstream.apply(AddField("upstream:Standard", "extra", "int", 3))
    assert upstream.module.HoldsStandard(standard={"extra": "4"}).standard.extra == 4


@pytest.mark.parametrize(
    ("change", "name", "hidden"),
    [
        (Replace(f"{CONFIG}.check_name", by="check_name"), "a?", 1),
        (Replace(f"{CONFIG}.check_name", by="earlier"), "A", 1),
        (Replace(f"{CONFIG}.check_all", by="check_all"), "a!", -1),
        (Wrap(f"{CONFIG}.check_name", by="by"), "a!*", 1),
    ],
)
@pytest.mark.parametrize("place", ["Config", "Derived", "Outer", "Outermost"])
def test_a_changed_validator_acts(
    upstream: Upstream, change: Change, name: str, hidden: int, place: str
) -> None:
    """In the class, its subclass and all that embed it; then not any more."""

    def read() -> tuple[str, int]:
        value = getattr(upstream.module, place)
        given: Any = {"name": "a"}
        made = {
            "Outer": lambda: value(config=given).config,
            "Outermost": lambda: value(outer={"config": given}).outer.config,
        }.get(place, lambda: value(**given))()
        return made.name, made.hidden

    signatures = [str(inspect.signature(cls)) for cls in classes_of(upstream)]
    undo = upstream.apply(change)
    assert read() == (name, hidden)
    assert [str(inspect.signature(cls)) for cls in classes_of(upstream)] == signatures
    undo()
    assert read() == ("a!", 1)


def test_a_wrapper_around_a_replaced_validator(upstream: Upstream) -> None:
    """It lies around what the body's decorator marked, and the mark still counts."""
    undo_replace = upstream.apply(Replace(f"{CONFIG}.check_name", by="earlier"))
    undo_wrap = upstream.apply(Wrap(f"{CONFIG}.check_name", by="by"))
    assert upstream.module.Config(name="a").name == "A*"
    undo_replace()
    assert upstream.module.Config(name="a").name == "a!*"
    undo_wrap()
    assert upstream.module.Config(name="a").name == "a!"


def test_a_validator_is_no_plain_value(upstream: Upstream) -> None:
    """A constant in its place is refused."""
    with pytest.raises(TargetError, match="expected something to call"):
        upstream.apply(Replace(f"{CONFIG}.check_name", by="SIZE"))


def test_a_validator_may_move_to_another_field(upstream: Upstream) -> None:
    """The body's own decorator says which field and when, not the replaced one's."""
    upstream.apply(Replace(f"{CONFIG}.check_name", by="elsewhere"))
    made = upstream.module.Config(size=2, name="a")
    assert (made.size, made.name) == (20, "a")


def test_a_validator_may_become_one_of_the_whole(upstream: Upstream) -> None:
    """Of another kind under the same name: the former one is gone."""
    upstream.apply(Replace(f"{CONFIG}.check_name", by="whole", unrelated=True))
    assert upstream.module.Config(name="a").name == "whole"
    assert upstream.module.Outer(config={"name": "a"}).config.name == "whole"


def test_an_added_validator_acts(upstream: Upstream) -> None:
    """The body's own decorator says for which field; then not any more."""
    undo = upstream.apply(Add(f"{CONFIG}.further", by="elsewhere"))
    assert (
        upstream.module.Config(size=2).size,
        upstream.module.Derived(size=2).size,
    ) == (20, 20)
    assert upstream.module.Outer(config={"size": 2, "name": "a"}).config.name == "a!"
    undo()
    assert upstream.module.Outer(config={"size": 2}).config.size == 2


def test_what_a_subclass_overrides_stays(upstream: Upstream) -> None:
    """Its own validator of the name goes on, whatever the base's becomes."""
    execute(upstream, OVERRIDES)
    upstream.apply(Replace(f"{CONFIG}.check_name", by="earlier"))
    assert upstream.module.Overrides(name="a").name == "own a"
    assert upstream.module.Config(name="a").name == "A"


OVERRIDES = """
@dataclass
class Overrides(Config):
    @field_validator('name')
    @classmethod
    def check_name(cls, name: str) -> str:
        return 'own ' + name
"""


def test_a_hook_that_a_model_lacked(upstream: Upstream) -> None:
    """Pydantic notes on a model's making whether it has them; they act also where it is held."""
    upstream.apply(Replace("upstream:Model.model_post_init", by="post_init"))
    assert upstream.module.Model(size=1).size == -2
    assert upstream.module.Holder(model={"size": 1}).model.size == -2


def test_a_models_validator_and_serializer(upstream: Upstream) -> None:
    """In the model, its subclass, and the model that holds it."""
    undo = upstream.apply(
        Replace("upstream:Model.check_size", by="check_size"),
        Replace("upstream:Model.show_size", by="show_size"),
    )
    module = upstream.module
    assert (module.Model(size=1).size, module.Heir(size=1).size) == (100, 100)
    assert module.Holder(model={"size": 1}).model_dump()["model"]["size"] == "shown"
    undo()
    assert module.Holder(model={"size": 1}).model_dump()["model"]["size"] == "<2>"


def test_a_wrapped_init_survives_rebuilding(upstream: Upstream) -> None:
    """Pydantic would put its own `__init__` in its place."""
    before = held(*classes_of(upstream))
    undo_init = upstream.apply(Wrap(f"{CONFIG}.__init__", by="noted"))
    undo_field = upstream.apply(AddField(CONFIG, "extra", "int", 3))
    assert upstream.module.Config(extra=4).extra == 4
    assert upstream.body.calls == [{"extra": 4}]
    undo_init()
    assert upstream.module.Config(extra=4).extra == 4
    undo_field()
    assert_same(before, held(*classes_of(upstream)))


SOURCE = """
from dataclasses import field
from pydantic import field_validator
from pydantic.dataclasses import dataclass

@dataclass
class Config:
    name: str = 'a'

    @field_validator('name', mode='after')
    @classmethod
    def check_name(cls, name: str) -> str:
        return name + '!'

@dataclass
class Outer:
    config: Config = field(default_factory=Config)
"""
EDIT = """Edit('up.mod:Config.check_name', old="'!'", new="'?'")"""
ROW = "Patch(name={name!r}, requires=('up>=1',), roles=(Role.MAIN,), why='', changes=({change},))"
FIELD = "AddField('up.mod:Config', 'extra', 'int', 3)"


@pytest.mark.parametrize("late", [True, False])
def test_rows_without_a_body(world: World, late: bool) -> None:
    """An edited validator and a field, before and after the module is imported; then undone."""
    world.module("up.mod", SOURCE)
    world.module("pack.other")
    world.pack(
        ROW.format(name="edits", change=EDIT), ROW.format(name="grows", change=FIELD)
    )
    session = world.session()
    if late:
        importlib.import_module("up.mod")
    session.arm({Role.MAIN})
    outer = importlib.import_module("up.mod").Outer
    config = outer(config={"name": "a", "extra": "4"}).config
    assert (config.name, config.extra) == ("a?", 4)
    undo(session)
    assert outer(config={"name": "a"}).config.name == "a!"
    assert refused(outer, config={"extra": "x"}) is False
    assert not hasattr(outer(config={}).config, "extra")


def test_an_outdated_schema_is_nowhere_to_be_copied_from() -> None:
    """It is gone, and the class is to be built again; also where there was none of its own."""

    class Model(pydantic.BaseModel):
        x: int = 1

    for _ in range(2):
        forget_schema(Model)
        assert "__pydantic_core_schema__" not in vars(Model)
        assert not is_complete(Model)
    rebuild(Model)
    assert is_complete(Model)
    assert Model(x="2").x == 2  # type: ignore[arg-type]
