"""To which classes a field can be added: what the process refuses is a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, codes, only_finding, subject

if TYPE_CHECKING:
    from support.packages import World

SOURCE = """
import dataclasses
from dataclasses import dataclass
from outside import Lazy
from typing import ClassVar
@dataclass
class Counted:
    count: ClassVar[int]
    size: int = 1
@dataclass
class Named:
    size: int = 1
    @classmethod
    def name(cls):
        cls._fields = ("size",)
def config(cls):
    for name in names_of(cls):
        setattr(cls, name, 1)
    return cls
@config
@dataclass
class Configured:
    size: int = 1
class Plain:
    count: ClassVar[int]
@dataclass
class OfPlain(Plain):
    size: int = 1
@dataclass
class OfCounted(Counted):
    depth: int = 1
"""


@pytest.mark.parametrize(
    ("target", "name", "expected"),
    [
        ("Counted", "extra", []),
        ("Counted", "count", ["PK104"]),
        ("OfCounted", "count", ["PK104"]),
        ("OfPlain", "count", ["PK104"]),
        ("Named", "_fields", ["PK104"]),
        ("Named", "extra", []),
        ("Lazy", "extra", ["PK104"]),
        ("Configured", "extra", []),  # as vLLM's configurations are
    ],
)
def test_a_field_is_added_where_python_makes_room(
    world: World, target: str, name: str, expected: list[str]
) -> None:
    """What may be a field, as a `ClassVar` without a value, or no dataclass, is left open."""
    change = f"AddField('up.mod:{target}', {name!r}, int, 0)"
    world.pack(row("p", "patch_a", change), patch_a="")
    assert codes(checked([subject("1.0", mod=SOURCE)])) == expected


@pytest.mark.parametrize(
    ("target", "expected", "fix"),
    [
        ("Plain", "a dataclass or a pydantic dataclass", "name a dataclass"),
        ("f", "a class", "name a dataclass"),
        ("Slotted", "a dataclass without slots", "name a dataclass"),
        ("Own", "a dataclass with the __init__", "Wrap its __init__ instead"),
    ],
)
def test_the_fix_speaks_of_the_target_as_the_row_has_no_body(
    world: World, target: str, expected: str, fix: str
) -> None:
    """An AddField names no object of a body that could be changed."""
    source = (
        "from dataclasses import dataclass\ndef f(): ...\nclass Plain: ...\n"
        "@dataclass(slots=True)\nclass Slotted:\n    size: int = 1\n"
        "@dataclass\nclass Own:\n    size: int = 1\n    def __init__(self): ...\n"
    )
    change = f"AddField('up.mod:{target}', 'extra', int, 0)"
    world.pack(row("p", "patch_a", change), patch_a="")
    finding = only_finding(checked([subject("1.0", mod=source)]), "PK102")
    assert f"expected {expected}" in finding.message
    assert finding.fix.startswith(fix)
