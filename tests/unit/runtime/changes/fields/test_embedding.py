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
    """The names of the classes that are to be rebuilt with some, in their order."""
    return [cls.__qualname__ for cls in dependents(changed)]


@pytest.mark.parametrize(
    "name",
    [
        "Plain",
        "Union",
        "Containers",
        "Noted",
        "Model",
        "Variable",
        "AsText",
        "Outer.Inner",
        "ThroughStandard",
        "ThroughTyped",
        "ThroughTuple",
        "ThroughAlias",
        "ThroughNew",
        "Part",
        "Derived",
        "Further",
        "OfDerived",
    ],
)
def test_who_embeds_a_class_is_found(upstream: Upstream, name: str) -> None:
    """`dependents` finds it, however its fields name the class, also at second hand."""
    assert name in names(upstream.module.Part)


def test_every_class_whose_schema_holds_a_class_is_found(upstream: Upstream) -> None:
    """`dependents` has each class whose schema holds the class; for a stranger only itself."""
    module = upstream.module
    built = [
        value
        for value in vars(module).values()
        if hasattr(value, "__pydantic_core_schema__")
    ]
    built.append(module.Outer.Inner)
    for part in (module.Part, module.Plain, module.Ring, module.Stranger):
        holders = {
            cls.__qualname__
            for cls in built
            if mentions(cls.__pydantic_core_schema__, part)
        }
        heirs = {cls.__qualname__ for cls in built if issubclass(cls, part)}
        assert set(names(part)) >= holders | heirs
    assert names(module.Stranger) == ["Stranger"]


def mentions(schema: Any, cls: type) -> bool:
    """Whether a class occurs anywhere in a schema."""
    if isinstance(schema, dict):
        return any(value is cls or mentions(value, cls) for value in schema.values())
    return isinstance(schema, list) and any(mentions(entry, cls) for entry in schema)


def test_what_is_needed_comes_first(upstream: Upstream) -> None:
    """Bases come before subclasses, parts before what embeds them; a ring ends."""
    order = names(upstream.module.Part)
    for first, second in (("Part", "Derived"), ("Part", "Plain"), ("Plain", "Further")):
        assert order.index(first) < order.index(second)
    assert names(upstream.module.Ring) == ["Ring"]


def test_a_standard_dataclass_is_looked_for_too(upstream: Upstream) -> None:
    """`dependents` has the classes that embed it, not itself, which has no schema."""
    assert names(upstream.module.Standard) == ["ThroughStandard"]
