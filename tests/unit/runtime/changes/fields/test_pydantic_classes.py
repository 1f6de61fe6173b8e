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
    """Its type converts and refuses values, on the class and its subclass."""
    upstream.apply(AddField(CONFIG, "extra", "int", 3))
    cls = getattr(upstream.module, name)
    assert (cls().extra, cls(extra="4").extra) == (3, 4)
    assert refused(cls, extra="x")
    assert refused(cls, strange=1)


def test_whatever_embeds_the_class_knows_the_field(upstream: Upstream) -> None:
    """Classes that embed it directly, in containers, indirectly or in a model take the field."""
    upstream.apply(AddField(CONFIG, "extra", "int", 3))
    module = upstream.module
    values = {"extra": "4"}
    assert module.Outer(config=values).config.extra == 4
    assert module.Outer(configs={"a": [values]}).configs["a"][0].extra == 4
    assert module.Outermost(outer={"config": values}).outer.config.extra == 4
    assert module.Model(config=values).config.extra == 4
    assert module.Heir(config=values).config.extra == 4
    assert module.Holder(model={"config": values}).model.config.extra == 4
    assert refused(module.Outermost, outer={"config": {"extra": "x"}})
    dumped = pydantic.TypeAdapter(module.Outermost).dump_python(module.Outermost())
    assert dumped["outer"]["config"]["extra"] == 3


def test_a_field_for_a_model_is_refused(upstream: Upstream) -> None:
    """AddField refuses a pydantic model; the error says to replace it by a class."""
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
    """Both have the field at any depth of values, and not any more after undo."""
    execute(upstream, RING)
    left, right = upstream.module.Left, upstream.module.Right
    left(), right()
    undo = upstream.apply(AddField("upstream:Left", "extra", "int", 3))
    values = {"left": {"right": {"left": {"extra": "4"}}}}
    assert right(**values).left.right.left.extra == 4
    assert left(right=values).right.left.right.left.extra == 4
    undo()
    assert not hasattr(right(**values).left.right.left, "extra")


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
    """It has the fields, signature, repr, copies and pickles of a class written with the field."""
    execute(upstream, WRITTEN)
    written, grown = upstream.module.Written, upstream.module.Grown
    upstream.apply(AddField("upstream:Grown", "extra", "int", 3))
    assert inspect.signature(grown) == inspect.signature(written)
    names = [field.name for field in dataclasses.fields(grown)]
    assert names == [field.name for field in dataclasses.fields(written)]
    assert repr(grown(extra=4)) == repr(written(extra=4)).replace("Written", "Grown")
    assert list(grown.__pydantic_fields__) == list(written.__pydantic_fields__)
    thing = grown(extra=4)
    assert copy.deepcopy(thing) == thing == pickle.loads(pickle.dumps(thing)) != grown()


def test_a_standard_dataclass_inside_a_pydantic_one(upstream: Upstream) -> None:
    """The pydantic class that embeds it takes the field that was added to it."""
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
    """It acts in the class, its subclass and all that embed it, until undo."""

    def read() -> tuple[str, int]:
        cls = getattr(upstream.module, place)
        values: Any = {"name": "a"}
        if place == "Outer":
            config = cls(config=values).config
        elif place == "Outermost":
            config = cls(outer={"config": values}).outer.config
        else:
            config = cls(**values)
        return config.name, config.hidden

    signatures = [str(inspect.signature(cls)) for cls in classes_of(upstream)]
    undo = upstream.apply(change)
    assert read() == (name, hidden)
    assert [str(inspect.signature(cls)) for cls in classes_of(upstream)] == signatures
    undo()
    assert read() == ("a!", 1)


def test_a_wrapper_around_a_replaced_validator(upstream: Upstream) -> None:
    """The wrapper lies around the body's validator, whose own decorator still counts."""
    undo_replace = upstream.apply(Replace(f"{CONFIG}.check_name", by="earlier"))
    undo_wrap = upstream.apply(Wrap(f"{CONFIG}.check_name", by="by"))
    assert upstream.module.Config(name="a").name == "A*"
    undo_replace()
    assert upstream.module.Config(name="a").name == "a!*"
    undo_wrap()
    assert upstream.module.Config(name="a").name == "a!"


def test_a_value_in_the_place_of_a_validator_is_refused(upstream: Upstream) -> None:
    """Replace refuses a constant: something to call is expected."""
    with pytest.raises(TargetError, match="expected something to call"):
        upstream.apply(Replace(f"{CONFIG}.check_name", by="SIZE"))


def test_a_validator_may_move_to_another_field(upstream: Upstream) -> None:
    """The body's own decorator says which field and when, not the replaced one's."""
    upstream.apply(Replace(f"{CONFIG}.check_name", by="elsewhere"))
    made = upstream.module.Config(size=2, name="a")
    assert (made.size, made.name) == (20, "a")


def test_a_field_validator_may_become_a_model_validator(upstream: Upstream) -> None:
    """A validator of another kind under the same name acts, and the former one does not."""
    upstream.apply(Replace(f"{CONFIG}.check_name", by="whole", unrelated=True))
    assert upstream.module.Config(name="a").name == "whole"
    assert upstream.module.Outer(config={"name": "a"}).config.name == "whole"


def test_an_added_validator_acts(upstream: Upstream) -> None:
    """It acts on the field that the body's own decorator names, until undo."""
    undo = upstream.apply(Add(f"{CONFIG}.further", by="elsewhere"))
    assert upstream.module.Config(size=2).size == 20
    assert upstream.module.Derived(size=2).size == 20
    assert upstream.module.Outer(config={"size": 2, "name": "a"}).config.name == "a!"
    undo()
    assert upstream.module.Outer(config={"size": 2}).config.size == 2


def test_a_validator_that_a_subclass_overrides_stays(upstream: Upstream) -> None:
    """A subclass's own validator of the name acts as before, when the base's is replaced."""
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
    """A `model_post_init` for a model without one acts, also where another model holds it."""
    upstream.apply(Replace("upstream:Model.model_post_init", by="post_init"))
    assert upstream.module.Model(size=1).size == -2
    assert upstream.module.Holder(model={"size": 1}).model.size == -2


def test_a_models_replaced_validator_and_serializer_act(upstream: Upstream) -> None:
    """They act in the model, its subclass and the model that holds it, until undo."""
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
    """The wrapper of `__init__` gets an added field; undo of both leaves no trace."""
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
def test_an_edit_and_an_added_field_in_a_session(world: World, late: bool) -> None:
    """Both act, whether the module is imported before or after arming, until undo."""
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


def test_a_forgotten_schema_is_built_again() -> None:
    """`forget_schema` leaves a model without a schema, if called twice too; `rebuild` makes it."""

    class Model(pydantic.BaseModel):
        x: int = 1

    for _ in range(2):
        forget_schema(Model)
        assert "__pydantic_core_schema__" not in vars(Model)
        assert not is_complete(Model)
    rebuild(Model)
    assert is_complete(Model)
    assert Model(x="2").x == 2  # type: ignore[arg-type]
