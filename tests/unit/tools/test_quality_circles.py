"""`make quality`: which modules import one another in a circle, imports by string included."""

from __future__ import annotations

import pytest
from quality.circles import circles, module_arrows, room_arrows, wing_arrows
from quality.source import Module


def package(**texts: str) -> list[Module]:
    """The modules of a package; `__` in a name is a folder's end."""
    modules = [Module("patchkit", "__init__.py", "")]
    for name, text in texts.items():
        dotted = name.replace("__", ".")
        modules.append(
            Module(f"patchkit.{dotted}", f"{name.replace('__', '/')}.py", text)
        )
    return modules


@pytest.mark.parametrize(
    "text",
    [
        "import patchkit.core.second",
        "from patchkit.core import second",
        "from patchkit.core.second import name",
        "from . import second",
        "from .second import name",
        "def function():\n    import patchkit.core.second",
        "if TYPE_CHECKING:\n    from patchkit.core.second import name",
        "importlib.import_module('patchkit.core.second')",
        "__import__('patchkit.core.second')",
        "import_module(f'patchkit.core.{name}')",
        "NAME = 'patchkit.core.second'\nimport_module(NAME)",
        "NAMES = ('patchkit.core.second',)\nfor name in NAMES:\n    import_module(name)",
    ],
)
def test_an_import_is_seen_however_it_is_written(text: str) -> None:
    """Statements, imports for types, and names that are given to an import function all count."""
    modules = package(core__first=text, core__second="", runtime__third="")
    assert module_arrows(modules)["patchkit.core.first"] == {"patchkit.core.second"}


@pytest.mark.parametrize(
    "text",
    [
        "import json",
        "from patchkit import Patch",
        "NAME = 'patchkit.core.second'",
        "importlib.import_module('json')",
        "PACKS = ('patchkit.platform',)\nfor name in PACKS:\n    import_module(name)",
    ],
)
def test_what_is_no_import_of_a_module_is_no_arrow(text: str) -> None:
    """Other packages, the package itself, a string alone and packs in a table do not count."""
    modules = package(core__first=text, core__second="", platform="")
    assert module_arrows(modules)["patchkit.core.first"] == set()


def test_a_relative_import_of_a_package_counts_from_its_folder() -> None:
    """`from .second` in an `__init__.py` names a module beside it."""
    modules = package(core__second="")
    modules.append(
        Module("patchkit.core", "core/__init__.py", "from .second import name")
    )
    assert module_arrows(modules)["patchkit.core"] == {"patchkit.core.second"}


@pytest.mark.parametrize(
    "text",
    [
        "import_module('patchkit.platform.processes')",
        "NAME = 'patchkit.platform.processes'\nimport_module(NAME)",
    ],
)
def test_a_circle_by_string_through_a_pack_is_seen(text: str) -> None:
    """What imports a module of a pack by its name imports it."""
    modules = package(
        core__processes=text,
        platform__processes="from patchkit.core.processes import ProcessRow",
    )
    arrows = module_arrows(modules)
    expected = ["patchkit.core.processes", "patchkit.platform.processes"]
    assert circles(arrows) == [expected]
    assert circles(wing_arrows(modules, arrows)) == [["core", "platform"]]


def test_rooms_have_a_circle_where_their_modules_have_none() -> None:
    """Two rooms that import from one another are a circle, even if no two modules do."""
    modules = package(
        core__rows__first="import patchkit.core.lock.first",
        core__lock__first="",
        core__lock__second="import patchkit.core.rows.second",
        core__rows__second="",
    )
    arrows = module_arrows(modules)
    assert circles(arrows) == []
    assert circles(room_arrows(modules, arrows)) == [["core.lock", "core.rows"]]
    assert circles(wing_arrows(modules, arrows)) == []


def test_a_wing_imports_what_its_doors_import() -> None:
    """A flat module is no way around the order of wings."""
    modules = package(
        core__rows="import patchkit.auto",
        auto="import patchkit.ray",
        ray="import patchkit.runtime.reach",
        runtime__reach="import patchkit.core.rows",
    )
    arrows = wing_arrows(modules, module_arrows(modules))
    assert arrows == {"core": {"runtime"}, "runtime": {"core"}}


def test_a_circle_is_a_group_in_which_all_lead_to_all() -> None:
    """Two circles stay two, and who only leads to one is not in it."""
    arrows = {
        "a": {"b"},
        "b": {"c"},
        "c": {"b", "d"},
        "d": set(),
        "e": {"f"},
        "f": {"e", "a"},
    }
    assert circles(arrows) == [["b", "c"], ["e", "f"]]
