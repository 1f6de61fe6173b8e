"""Pydantic dataclasses and models that hold each other, and bodies for their members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pydantic
import pytest
from support.programs import program

from runtime.changes.fields.groups import Upstream, upstream_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

UPSTREAM = program(__file__, "configs")
BODY = program(__file__, "configs_body")
CONFIG = "upstream:Config"
CLASSES = (
    "Config",
    "Derived",
    "Outer",
    "Outermost",
    "Model",
    "Heir",
    "Holder",
    "HoldsStandard",
)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """The module of configs, which can be imported, and bodies for its members."""
    yield from upstream_of(UPSTREAM, BODY)


def classes_of(upstream: Upstream) -> list[Any]:
    """The classes of the module that a change of one of them may have rebuilt."""
    return [getattr(upstream.module, name) for name in CLASSES]


def refused(call: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    """Whether pydantic finds the values wrong."""
    try:
        call(*args, **kwargs)
    except pydantic.ValidationError:
        return True
    return False


def execute(upstream: Upstream, source: str) -> None:
    """Execute more of the upstream module."""
    exec(compile(source, "upstream", "exec", dont_inherit=True), vars(upstream.module))
