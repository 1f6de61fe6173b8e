"""Patched objects stay what they were: copied, pickled, spawned, sent over Ray, looked at.

Takes about 4 s.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from patchkit_lab import processes, scenario

if TYPE_CHECKING:
    from patchkit_lab.cluster import Cluster

DRIVER = Path(__file__).with_name("harmless_driver.py")

UPSTREAM = '''
import dataclasses
import enum
import functools

def scale(x: int, *, by: int = 2) -> int:
    """Scale it."""
    return x * by

def shift(x: int, by: int = 1) -> int:
    """Shift it."""
    return x + by

alias = scale

@functools.lru_cache(maxsize=7)
def cached(x: int) -> int:
    return x

class Base:
    def __init__(self, x: int) -> None:
        self.x = x

    def run(self) -> int:
        return self.x

class Child(Base):
    def run(self) -> int:
        """Run it."""
        return super().run() + 1

    @property
    def size(self) -> int:
        return self.x

    @classmethod
    def make(cls, x: int) -> "Child":
        return cls(x)

    @staticmethod
    def half(x: int) -> int:
        return x // 2

class Thing:
    def tell(self) -> str:
        return "old"

@dataclasses.dataclass
class Data:
    a: int

class Color(enum.Enum):
    RED = "red"

def entry() -> str:
    return "entry"

TABLE = {"entry": entry}
'''

PACK = """
from patchkit import Add, AddField, AfterImport, Edit, Patch, Replace, Role, Wrap

UP = "acme_up:"
PATCHES = (
    Patch(
        name="every-kind", body="patch_acme", requires=("ray>=2",), roles=set(Role),
        changes=(
            Replace(UP + "scale", by="scale"),
            Edit(UP + "shift", old="x + by", new="x + by + 100"),
            Edit(UP + "Child.run", old="+ 1", new="+ 1000"),
            Wrap(UP + "Child.size", by="tenfold"),
            Wrap(UP + "Child.make", by="same"),
            Wrap(UP + "Child.half", by="tenfold"),
            Wrap(UP + "cached", by="tenfold"),
            Replace(UP + "Thing", by="Thing"),
            AddField(UP + "Data", "b", "int", 7),
            AfterImport("acme_up", call="add_green"),
            Add(UP + "added", by="added"),
            Wrap(UP + "TABLE['entry']", by="upper"),
        ),
    ),
)
"""

BODY = '''
import acme_up

def add_green(module):
    color = module.Color
    member = object.__new__(color)
    member._name_, member._value_ = "GREEN", "green"
    color._member_map_["GREEN"] = color._value2member_map_["green"] = member
    color._member_names_.append("GREEN")
    type.__setattr__(color, "GREEN", member)

def scale(x: int, *, by: int = 2) -> int:
    """Scale it."""
    return x * by * 10

class Thing(acme_up.Thing):
    def tell(self):
        return "new, " + super().tell()

def added():
    return "added"

def tenfold(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs) * 10

def upper(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs).upper()

def same(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs)
'''

EXPECTED = {
    "function": 40,
    "edited": 103,
    "imported": 40,
    "method": 1003,
    "property": 30,
    "inherited": True,
    "classmethod": [1005, True],
    "static": 40,
    "replaced class": ["new, old", "new, old"],
    "data": "Data(a=1, b=7)",
    "enum": [True, "GREEN"],
    "added": "added",
    "entry": "ENTRY",
    "cached": [20, 7],
}


@pytest.fixture(scope="module")
def seen(python: Path, ray: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the driver saw, armed by `patchkit run --`."""
    home = tmp_path_factory.mktemp("harmless")
    (home / "acme_up.py").write_text(UPSTREAM)
    (home / "acme_plain.py").write_text(UPSTREAM)
    (home / "acme_pack").mkdir()
    (home / "acme_pack" / "__init__.py").write_text(PACK)
    (home / "acme_pack" / "patch_acme.py").write_text(BODY)
    path = f"{home}:{DRIVER.parent}"
    own = {"PYTHONPATH": path, "PATCHKIT_PATCHES": "acme_pack"}
    env = processes.environment(scenario.MACHINE, ray.environment, own)
    command = [str(python.with_name("patchkit")), "run", "--", str(python), str(DRIVER)]
    outcome = processes.run(command, env, 600, home / "log")
    assert outcome.status == 0, outcome.tail()
    seen = outcome.said("here")
    assert seen, outcome.tail()
    return seen


@pytest.mark.parametrize("place", ["here", "copied", "pickled", "spawned", "ray"])
def test_every_kind_acts_there(seen: Any, place: str) -> None:
    """What was sent does what the patches say, in whatever process it arrives."""
    assert seen[place] == EXPECTED


def test_introspection_sees_what_was_there(seen: Any) -> None:
    """Signatures, type hints, names, docs and bases are those of the unpatched source."""
    assert seen["shape"] == seen["plain shape"]
    assert seen["plain"] == 4
