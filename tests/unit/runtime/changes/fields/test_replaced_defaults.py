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


def test_a_default_acts(upstream: Upstream) -> None:
    """On the class, its subclasses and what embeds it; then not any more."""
    classes, signature = classes_of(upstream), inspect.signature(upstream.module.Config)
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


def test_upstream_still_checks_the_values(upstream: Upstream) -> None:
    """What else the field's `Field(…)` says stays."""
    upstream.apply(Replace(f"{CONFIG}.size", by="SIZE"))
    assert refused(upstream.module.Config, size=0)


def test_a_standard_dataclass(upstream: Upstream) -> None:
    """Its `__init__` and those of its subclasses, but not where a subclass has its own default."""
    execute(upstream, HEIRS)
    module = upstream.module
    classes = (module.Standard, module.Inherits, module.Overrides)
    before = held(*classes)
    undo = upstream.apply(Replace("upstream:Standard.limit", by="SIZE"))
    assert [cls().limit for cls in classes] == [5, 5, 9]
    assert [dataclasses.fields(cls)[0].default for cls in classes] == [5, 5, 9]
    undo()
    assert_same(before, held(*classes))


def test_a_mutable_default_is_copied(upstream: Upstream) -> None:
    """Each instance has its own."""
    upstream.apply(Replace("upstream:Standard.limit", by="NUMBERS"))
    one, other = upstream.module.Standard(), upstream.module.Standard()
    one.limit.append(3)
    assert (other.limit, upstream.body.NUMBERS) == ([1, 2], [1, 2])


def test_two_patches_of_one_default(upstream: Upstream) -> None:
    """The later row's counts, and the earlier's once that is taken back."""
    before = held(upstream.module.Standard)
    first = upstream.apply(Replace("upstream:Standard.limit", by="SIZE"))
    second = upstream.apply(Replace("upstream:Standard.limit", by="NUMBERS"))
    assert upstream.module.Standard().limit == [1, 2]
    second()
    assert upstream.module.Standard().limit == 5
    first()
    assert_same(before, held(upstream.module.Standard))
