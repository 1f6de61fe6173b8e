from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.programs import program

from patchkit.runtime.changes.fields.pydantic_classes import dependents
from runtime.changes.fields.groups import Upstream, upstream_of

if TYPE_CHECKING:
    from collections.abc import Iterator

UPSTREAM = program(__file__, "embedding")


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    yield from upstream_of(UPSTREAM)


def names(*changed: Any) -> list[str]:
    return [one.__qualname__ for one in dependents(changed)]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "Plain",
            "Union",
            "Containers",
            "Noted",
            "Model",
            "Variable",
            "AsText",
            "Outer.Inner",
        ),
        *(
            "ThroughStandard",
            "ThroughTyped",
            "ThroughTuple",
            "ThroughAlias",
            "ThroughNew",
        ),
        *("Part", "Derived", "Further", "OfDerived"),
    ],
)
def test_who_embeds_a_class_is_found(upstream: Upstream, name: str) -> None:
    """However its fields name it, and through whatever pydantic looks into."""
    assert name in names(upstream.module.Part)


def test_the_schemas_say_the_same(upstream: Upstream) -> None:
    """Whose schema holds the class is found, and nobody else: pydantic's own answer."""
    module = upstream.module
    built = [
        value
        for value in vars(module).values()
        if hasattr(value, "__pydantic_core_schema__")
    ]
    built.append(module.Outer.Inner)
    for part in (module.Part, module.Plain, module.Ring, module.Stranger):
        holders = {
            one.__qualname__
            for one in built
            if mentions(one.__pydantic_core_schema__, part)
        }
        heirs = {one.__qualname__ for one in built if issubclass(one, part)}
        assert set(names(part)) >= holders | heirs
    assert names(module.Stranger) == ["Stranger"]


def mentions(schema: Any, cls: type) -> bool:
    if isinstance(schema, dict):
        return any(value is cls or mentions(value, cls) for value in schema.values())
    return isinstance(schema, list) and any(mentions(one, cls) for one in schema)


def test_what_is_needed_comes_first(upstream: Upstream) -> None:
    """Bases before subclasses, parts before what embeds them; a ring ends."""
    order = names(upstream.module.Part)
    for first, second in (("Part", "Derived"), ("Part", "Plain"), ("Plain", "Further")):
        assert order.index(first) < order.index(second)
    assert names(upstream.module.Ring) == ["Ring"]


def test_a_standard_dataclass_is_looked_for_too(upstream: Upstream) -> None:
    """It has no schema to be rebuilt, those that embed it have."""
    assert names(upstream.module.Standard) == ["ThroughStandard"]
