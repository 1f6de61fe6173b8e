from __future__ import annotations

import sys

from changes.fields import configs
from changes.fields.configs import CONFIG, classes_of
from changes.fields.groups import Upstream, assert_same, held
from patchkit import Replace, Wrap

upstream = configs.upstream


def test_post_init_acts_without_rebuilding(upstream: Upstream) -> None:
    """Pydantic calls it by its name."""
    validator = vars(upstream.module.Config)["__pydantic_validator__"]
    upstream.apply(Replace(f"{CONFIG}.__post_init__", by="post"))
    assert upstream.module.Config().posted == "body"
    assert upstream.module.Outer(config={}).config.posted == "body"
    assert vars(upstream.module.Config)["__pydantic_validator__"] is validator


def test_a_plain_method_rebuilds_nothing(upstream: Upstream) -> None:
    """Nothing is built from it."""
    classes = classes_of(upstream)
    before = held(*classes)
    upstream.apply(Wrap(f"{CONFIG}.plain", by="by"))
    after = held(*classes)
    assert upstream.module.Config().plain() == "plain*"
    before[0].pop("plain"), after[0].pop("plain")
    assert_same(before, after)


def test_code_that_was_swapped_acts_without_rebuilding(upstream: Upstream) -> None:
    """Pydantic holds the function object: what Edit does to it is seen at once."""
    cls = upstream.module.Config
    cls.check_name.__func__.__code__ = upstream.body.check_name.__code__
    assert cls(name="a").name == "a?"
    assert upstream.module.Outer(config={"name": "a"}).config.name == "a?"


def test_nothing_of_pydantic_is_imported_for_others(upstream: Upstream) -> None:
    """A change of a plain class does not even load the module that knows pydantic."""
    name = "patchkit.changes.fields.pydantic_classes"
    former = sys.modules.pop(name, None)
    upstream.module.Ordinary = type("Ordinary", (), {"method": lambda self: "old"})
    upstream.apply(Wrap("upstream:Ordinary.method", by="by"))
    assert upstream.module.Ordinary().method() == "old*"
    assert name not in sys.modules
    if former is not None:
        sys.modules[name] = former
