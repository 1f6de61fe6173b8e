"""What tells the classes that are built from their members; light, since every group asks."""

from __future__ import annotations

from typing import Any

FIELDS = "__dataclass_fields__"
"""In the dict of every dataclass, pydantic's included: its fields by name."""

DECORATORS = "__pydantic_decorators__"
"""In the dict of every pydantic dataclass and model, and of nothing else."""


def is_pydantic(cls: type) -> bool:
    """Whether pydantic built this very class, and not only a base of it."""
    return DECORATORS in vars(cls)


def is_decorated(value: Any) -> bool:
    """Whether it carries the mark of pydantic's `@field_validator` and the like."""
    return "decorator_info" in getattr(value, "__dict__", ())


def is_built(owner: Any) -> bool:
    """Whether it is a class that was built from its members."""
    return isinstance(owner, type) and (FIELDS in vars(owner) or is_pydantic(owner))
