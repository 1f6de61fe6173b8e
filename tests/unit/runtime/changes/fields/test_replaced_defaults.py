from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING

from patchkit import Replace
from runtime.changes.fields import configs
from runtime.changes.fields.configs import CONFIG, classes_of, execute, refused
from runtime.changes.fields.groups import assert_same, held

if TYPE_CHECKING:
    from runtime.changes.fields.groups import Upstream

upstream = configs.upstream

HEIRS = """
@dc.dataclass
class Inherits(Standard):
    more: int = 1
@dc.dataclass
class Overrides(Standard):
    limit: int = 9
"""


def test_a_replaced_default_acts(upstream: Upstream) -> None:
    """It acts in the class, its subclass and what embeds it, until undo."""
    classes = classes_of(upstream)
    signature = inspect.signature(upstream.module.Config)
    before = held(*classes)
    undo = upstream.apply(Replace(f"{CONFIG}.size", by="SIZE"))
    module = upstream.module
    assert [module.Config().size, module.Derived().size] == [5, 5]
    assert module.Outer(config={}).config.size == 5
    assert inspect.signature(module.Config).parameters["size"].default == 5
    undo()
    assert module.Outer(config={}).config.size == 1
    assert inspect.signature(module.Config) == signature
    assert_same(before, held(*classes))


def test_a_field_with_a_replaced_default_still_checks_values(
    upstream: Upstream,
) -> None:
    """The bounds of the field's `Field(…)` stay when its default is replaced."""
    upstream.apply(Replace(f"{CONFIG}.size", by="SIZE"))
    assert refused(upstream.module.Config, size=0)


def test_a_replaced_default_of_a_standard_dataclass(upstream: Upstream) -> None:
    """It acts in the class and its subclasses, except in one that has its own default."""
    execute(upstream, HEIRS)
    module = upstream.module
    classes = (module.Standard, module.Inherits, module.Overrides)
    before = held(*classes)
    undo = upstream.apply(Replace("upstream:Standard.limit", by="SIZE"))
    assert [cls().limit for cls in classes] == [5, 5, 9]
    assert [dataclasses.fields(cls)[0].default for cls in classes] == [5, 5, 9]
    undo()
    assert_same(before, held(*classes))


def test_a_mutable_replaced_default_is_copied(upstream: Upstream) -> None:
    """Each instance gets its own copy, and the body's object stays as it is."""
    upstream.apply(Replace("upstream:Standard.limit", by="NUMBERS"))
    first = upstream.module.Standard()
    second = upstream.module.Standard()
    first.limit.append(3)
    assert (second.limit, upstream.body.NUMBERS) == ([1, 2], [1, 2])


def test_two_patches_of_one_default(upstream: Upstream) -> None:
    """The later row's default counts, and the earlier row's once that is undone."""
    before = held(upstream.module.Standard)
    undo_first = upstream.apply(Replace("upstream:Standard.limit", by="SIZE"))
    undo_second = upstream.apply(Replace("upstream:Standard.limit", by="NUMBERS"))
    assert upstream.module.Standard().limit == [1, 2]
    undo_second()
    assert upstream.module.Standard().limit == 5
    undo_first()
    assert_same(before, held(upstream.module.Standard))


CLASS_VARIABLE = """
from typing import ClassVar
@dc.dataclass
class Counted:
    table: ClassVar[list] = []
    first: int = 1
"""


def test_a_class_variable_is_replaced_as_it_is(upstream: Upstream) -> None:
    """A mutable one is shared by all instances, and no default of a field."""
    execute(upstream, CLASS_VARIABLE)
    cls = upstream.module.Counted
    before = held(cls)
    undo = upstream.apply(Replace("upstream:Counted.table", by="NUMBERS"))
    assert cls(first=2).table is upstream.body.NUMBERS
    undo()
    assert_same(before, held(cls))
