"""Tells dataclasses and pydantic's classes, which are generated from their members."""

from typing import Any

FIELDS = "__dataclass_fields__"
"""In the dict of every dataclass, pydantic's included: its fields by name."""

DECORATORS = "__pydantic_decorators__"
"""In the dict of every pydantic dataclass and model, and of nothing else."""


def is_pydantic(cls: type) -> bool:
    """Whether pydantic built this very class, and not only a base of it.

    Args:
        cls: Any class.
    """
    return DECORATORS in vars(cls)


def is_decorated(value: Any) -> bool:
    """Whether an object was made by pydantic's `@field_validator` and the like.

    Args:
        value: The value of an attribute of a class.
    """
    attributes = getattr(value, "__dict__", ())
    return "decorator_info" in attributes


def is_built(owner: Any) -> bool:
    """Whether an object is a dataclass or a pydantic class, which is generated from its members.

    Args:
        owner: Any object.
    """
    if not isinstance(owner, type):
        return False
    is_dataclass = FIELDS in vars(owner)
    return is_dataclass or is_pydantic(owner)


def subclasses_with(cls: type, key: str) -> list[type]:
    """Return the subclasses of a class that have an attribute of their own, and do not inherit it.

    Args:
        cls: The class.
        key: The name of the attribute, such as `__dataclass_fields__`.

    Returns:
        The subclasses, also indirect ones, bases first: those have a shorter `__mro__`.
    """
    subclasses: dict[type, None] = {}
    pending = [cls]
    while pending:
        parent = pending.pop()
        children: list[type] = type.__subclasses__(parent)
        for child in children:
            if child not in subclasses:
                subclasses[child] = None
                pending.append(child)
    having = [subclass for subclass in subclasses if key in vars(subclass)]
    return sorted(having, key=lambda subclass: len(subclass.__mro__))
