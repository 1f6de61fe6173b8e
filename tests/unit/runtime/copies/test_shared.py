"""What nobody refers to after an import was kept by no decorator, so that none is searched for."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.one_patch import MAIN, load
from support.packages import World, row

from patchkit.runtime.changes import owners
from patchkit.runtime.copies import repointing

if TYPE_CHECKING:
    from collections.abc import Collection

world = packages.world

KEEPERS = {
    "nothing": "def keep(value): return value\n",
    "a list": "KEPT = []\ndef keep(value):\n    KEPT.append(value)\n    return value\n",
    "a dict of a class": (
        "class Table:\n    kept = {}\n"
        "def keep(value):\n    Table.kept['f'] = value\n    return value\n"
    ),
    "a global": "def keep(value):\n    globals()['kept'] = value\n    return value\n",
    "a function made of it": (
        "def made_of(value):\n    def inner(): return value\n    return inner\n"
        "def keep(value):\n    globals()['inner'] = made_of(value)\n    return value\n"
    ),
    "a partial": (
        "import functools\n"
        "def keep(value):\n    globals()['part'] = functools.partial(value)\n    return value\n"
    ),
    "a weak set": (
        "import weakref\nKEPT = weakref.WeakSet()\n"
        "def keep(value):\n    KEPT.add(value)\n    return value\n"
    ),
    "its wrapper": (
        "import functools\nKEPT = []\n"
        "def keep(value):\n    @functools.wraps(value)\n"
        "    def wrapper(*args): return value(*args)\n"
        "    KEPT.append(wrapper)\n    return wrapper\n"
    ),
}
TARGETS = {
    "f": "@keep\ndef f(): return 'old'\n",
    "Kind.f": "class Kind:\n    @keep\n    def f(self): return 'old'\n",
    "Kind.g": "class Kind:\n    @staticmethod\n    @keep\n    def g(): return 'old'\n",
    "Kind.h": "class Kind:\n    @property\n    @keep\n    def h(self): return 'old'\n",
    "Act": "@keep\nclass Act: ...\n",
}
BODY = "def around(wrapped, instance, args, kwargs): return wrapped(*args, **kwargs)\n"
CLASS_BODY = "from up.{} import Act as Old\nclass Act(Old): ...\n"


def told(world: World, keeper: str, target: str, module: str) -> list[str]:
    """What the journal says of the copies of a target that its decorator may have kept."""
    world.module(f"up.{module}_keeper", KEEPERS[keeper])
    imports = f"from up.{module}_keeper import keep\n"
    world.module(f"up.{module}", imports + TARGETS[target])
    change, body = f"Wrap('up.{module}:{target}', by='around')", BODY
    if target == "Act":
        change, body = (
            f"Replace('up.{module}:Act', by='Act')",
            CLASS_BODY.format(module),
        )
    world.pack(row("one", "patch_a", change), name=f"pack_{module}", patch_a=body)
    session = world.session(f"pack_{module}")
    session.arm(MAIN)
    load(
        f"up.{module}_keeper"
    )  # one that is loaded with the target is searched in any case
    load(f"up.{module}")
    (entry,) = (each for each in session.journal.entries if "out_of_reach" in each)
    copies = [*entry["rebound"], "--", *entry["out_of_reach"]]
    return [text.replace(module, "mod") for text in copies]


@pytest.mark.parametrize(
    ("keeper", "target"),
    sorted({*product(KEEPERS, TARGETS)} - {("its wrapper", "Act")}),
)
def test_what_a_decorator_has_kept_is_found(
    world: World, monkeypatch: pytest.MonkeyPatch, keeper: str, target: str
) -> None:
    """The report is the same as if every decorator's module were searched."""
    found = told(world, keeper, target, "one")
    monkeypatch.setattr(owners, "_is_shared", lambda *_: True)
    assert found == told(world, keeper, target, "two")


@pytest.mark.parametrize(
    ("keeper", "target", "is_searched"),
    [
        ("nothing", "f", False),
        ("nothing", "Kind.f", False),
        ("a list", "f", True),
        ("a weak set", "Kind.f", True),
        ("nothing", "Act", True),
    ],
)
def test_the_modules_of_decorators_are_searched_only_for_what_is_shared(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    keeper: str,
    target: str,
    is_searched: bool,
) -> None:
    """A function that the import has left to its owner alone spares the search."""
    asked: list[Any] = []
    search = repointing._defining_modules

    def noted(sites: Collection[Any]) -> frozenset[str]:
        asked.extend(sites)
        return search(sites)

    monkeypatch.setattr(repointing, "_defining_modules", noted)
    told(world, keeper, target, "one")
    assert bool(asked) is is_searched
