"""What was rebuilt is put back, whoever else has changed it."""

from __future__ import annotations

import itertools
import sys

import pytest

from patchkit import Add, AddField, Replace, Wrap
from patchkit.errors import TargetError
from runtime.changes.fields import configs
from runtime.changes.fields.configs import CONFIG, classes_of, execute, refused
from runtime.changes.fields.groups import Upstream, assert_same, held

upstream = configs.upstream


def test_post_init_acts_without_rebuilding(upstream: Upstream) -> None:
    """A replaced `__post_init__` is called, and the class keeps its very validator."""
    validator = vars(upstream.module.Config)["__pydantic_validator__"]
    upstream.apply(Replace(f"{CONFIG}.__post_init__", by="post"))
    assert upstream.module.Config().posted == "body"
    assert upstream.module.Outer(config={}).config.posted == "body"
    assert vars(upstream.module.Config)["__pydantic_validator__"] is validator


def test_a_plain_method_rebuilds_nothing(upstream: Upstream) -> None:
    """A wrapped plain method acts, and every other member of the classes is the very object."""
    classes = classes_of(upstream)
    before = held(*classes)
    upstream.apply(Wrap(f"{CONFIG}.plain", by="by"))
    after = held(*classes)
    assert upstream.module.Config().plain() == "plain*"
    before[0].pop("plain")
    after[0].pop("plain")
    assert_same(before, after)


def test_code_that_was_swapped_acts_without_rebuilding(upstream: Upstream) -> None:
    """Pydantic holds the function object: what Edit does to it is seen at once."""
    cls = upstream.module.Config
    cls.check_name.__func__.__code__ = upstream.body.check_name.__code__
    assert cls(name="a").name == "a?"
    assert upstream.module.Outer(config={"name": "a"}).config.name == "a?"


def test_nothing_of_pydantic_is_imported_for_others(upstream: Upstream) -> None:
    """A change of a plain class does not even load the module that knows pydantic."""
    name = "patchkit.runtime.changes.fields.pydantic_classes"
    former = sys.modules.pop(name, None)
    upstream.module.Ordinary = type("Ordinary", (), {"method": lambda self: "old"})
    upstream.apply(Wrap("upstream:Ordinary.method", by="by"))
    assert upstream.module.Ordinary().method() == "old*"
    assert name not in sys.modules
    if former is not None:
        sys.modules[name] = former


CHANGES = (
    (AddField(CONFIG, "extra", "int", 3),),
    (
        Replace(f"{CONFIG}.check_name", by="check_name"),
        Replace(f"{CONFIG}.size", by="SIZE"),
    ),
    (
        Wrap(f"{CONFIG}.check_name", by="by"),
        Replace("upstream:Model.show_size", by="show_size"),
    ),
    (
        AddField("upstream:Outer", "outer", "int", 3),
        Replace("upstream:Model.check_size", by="check_size"),
    ),
)


@pytest.mark.parametrize("order", list(itertools.permutations(range(len(CHANGES)))))
def test_any_order_of_undo_restores_the_very_objects(
    upstream: Upstream, order: tuple[int, ...]
) -> None:
    """Every attribute of every rebuilt class is what it was, pydantic's own included."""
    classes = classes_of(upstream)
    before = held(*classes)
    undos = [upstream.apply(*changes) for changes in CHANGES]
    for count, position in enumerate(order, start=1):
        undos[position]()
        has_field = not refused(upstream.module.Outer, config={"extra": 1})
        assert has_field is (0 in order[count:])
    assert_same(before, held(*classes))
    outermost = upstream.module.Outermost(outer={"config": {"name": "a"}})
    assert outermost.outer.config.name == "a!"


LATE = """
@dataclass
class Late:
    config: Config = field(default_factory=Config)
@dataclass
class LateHeir(Config):
    late: int = 1
"""


def test_classes_made_while_patched_are_rebuilt_by_undo(upstream: Upstream) -> None:
    """A class that was made while its part was patched loses the patch with it."""
    undo_replace = upstream.apply(Replace(f"{CONFIG}.check_name", by="earlier"))
    execute(upstream, LATE)
    late = upstream.module.Late
    heir = upstream.module.LateHeir
    assert late(config={"name": "a"}).config.name == "A"
    assert heir(name="a").name == "A"
    undo_field = upstream.apply(AddField(CONFIG, "extra", "int", 3))
    undo_replace()
    assert late(config={"name": "a"}).config.name == "a!"
    assert heir(name="a").name == "a!"
    assert late(config={"extra": 4}).config.extra == 4
    assert heir(extra=4).extra == 4
    undo_field()
    assert refused(late, config={"extra": 4})
    assert late(config={"name": "a"}).config.name == "a!"
    assert heir(name="a").name == "a!"


def test_a_class_that_cannot_be_built_changes_nothing(upstream: Upstream) -> None:
    """The error names it and gives pydantic's reason; all is as it was."""
    classes = [*classes_of(upstream), upstream.module.Broken]
    before = held(*classes)
    changes = [
        AddField(CONFIG, "extra", "int", 3),
        AddField("upstream:Broken", "other", "Stranger", None),
    ]
    with pytest.raises(
        TargetError, match=r"upstream:Broken cannot be rebuilt: .*Stranger"
    ):
        upstream.apply(*changes)
    assert_same(before, held(*classes))
    assert upstream.module.Outer(config={"name": "a"}).config.name == "a!"


def test_a_class_with_an_unresolved_name_is_left_to_pydantic(
    upstream: Upstream,
) -> None:
    """A class that names a later one is built at its first use, with the field, and undone."""
    source = """
@dataclass
class Waiting:
    config: Config
    other: 'Coming'
    name: str = 'a'
"""
    execute(upstream, source)
    undo = upstream.apply(AddField(CONFIG, "extra", "int", 3))
    execute(upstream, "@dataclass\nclass Coming: ...")
    waiting = upstream.module.Waiting
    assert waiting(config={"extra": 4}, other={}).config.extra == 4
    undo()
    assert refused(waiting, config={"extra": 4}, other={})
    assert waiting(config={}, other={}).config.size == 1


def test_undo_of_a_validator_that_a_late_subclass_inherits(upstream: Upstream) -> None:
    """An added validator goes from a subclass made while it was there, too."""
    undo = upstream.apply(Add(f"{CONFIG}.further", by="elsewhere"))
    execute(upstream, LATE)
    assert upstream.module.LateHeir(size=2).size == 20
    undo()
    assert upstream.module.LateHeir(size=2).size == 2


def test_undo_of_classes_of_a_module_that_is_gone(upstream: Upstream) -> None:
    """Undo restores the very objects, though the module is not in `sys.modules` any more."""
    classes = classes_of(upstream)
    before = held(*classes)
    undo = upstream.apply(AddField(CONFIG, "extra", "int", 3))
    del sys.modules["upstream"]
    undo()
    sys.modules["upstream"] = upstream.module
    assert_same(before, held(*classes))


def test_undo_again_changes_nothing(upstream: Upstream) -> None:
    """The second time there is nothing to take back."""
    before = held(*classes_of(upstream))
    undo = upstream.apply(AddField(CONFIG, "extra", "int", 3))
    undo()
    undo()
    assert_same(before, held(*classes_of(upstream)))
