"""Packages that put a `_LazyModule` in their place, as those of transformers do."""

from __future__ import annotations

import pytest

from analysis.upstream.memory import resolve
from patchkit.analysis.upstream.resolving.values import Kind

PACKAGE = """
import sys
from typing import TYPE_CHECKING
from .utils import _LazyModule, is_there, Missing

_import_structure = {"cache": ["Cache", "Gone", "_hidden"], "plain": []}
_import_structure["utils.dummy_objects"] = ["Trainer"]
try:
    if not is_there():
        raise Missing()
except Missing:
    from .utils import dummy_objects
    _import_structure["utils.dummy_objects"] = [name for name in dir(dummy_objects)]
else:
    _import_structure["trainer"] = ["Trainer"]
    _import_structure["trainer"] += ["Callback"]
    _import_structure["trainer"].extend(["State"])

if TYPE_CHECKING:
    from .cache import Cache, Declared as Told
    from .utils.dummy_objects import *
else:
    sys.modules[__name__] = _LazyModule(__name__, globals()["__file__"], _import_structure)
"""
MODULES = {
    "utils__": "class _LazyModule: ...",
    "cache": "class Cache: ...\nclass Declared: ...\nclass Unlisted: ...\n_hidden = 1",
    "plain": "",
    "trainer": "class Trainer: ...\nclass Callback: ...\nclass State: ...",
    "utils__dummy_objects": "class Trainer: ...\nclass Other: ...",
}


@pytest.mark.parametrize(
    ("name", "defined"),
    [
        ("Cache", "up.cache:Cache"),
        ("Told", "up.cache:Declared"),
        ("Trainer", "up.trainer:Trainer"),
        ("Callback", "up.trainer:Callback"),
        ("State", "up.trainer:State"),
    ],
)
def test_a_listed_name_leads_to_its_definition(name: str, defined: str) -> None:
    """What a table lists, or type checkers are told, is found; never a stand-in."""
    resolution = resolve(PACKAGE, name, **MODULES)
    assert (resolution.state, str(resolution.defined)) == ("present", defined)
    assert resolution.kind is Kind.CLASS


def test_a_finder_that_makes_modules_takes_no_name_away() -> None:
    """What it makes is imported by name; a class is none of that."""
    package = PACKAGE + "    sys.meta_path.append(Finder())\n"
    for name in ("Cache", "Told", "Trainer"):
        assert resolve(package, name, **MODULES).state == "present"
    assert resolve(package, "Unlisted", **MODULES).state == "absent"
    assert resolve(package, "made", **MODULES).state == "undecidable"
    open_package = package.replace("from .utils.dummy_objects", "from .others")
    modules = MODULES | {"others": "class Other: ..."}
    assert resolve(open_package, "Other", **modules).state == "present"


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("plain", "present"),
        ("Unlisted", "absent"),
        ("is_there", "absent"),
        ("Gone", "undecidable"),
        ("_modules", "undecidable"),
        ("_hidden", "present"),
    ],
)
def test_a_name_that_no_table_lists(name: str, state: str) -> None:
    """Submodules are there; what the file itself binds is not, it was replaced."""
    assert resolve(PACKAGE, name, **MODULES).state == state


FROM_FILES = """
from typing import TYPE_CHECKING
from ..utils import _LazyModule, define_import_structure
if TYPE_CHECKING:
    from .qwen2_vl import *
    from .other import *
else:
    import sys
    _file = globals()["__file__"]
    sys.modules[__name__] = _LazyModule(__name__, _file, define_import_structure(_file))
"""


def test_a_name_of_a_file_that_is_listed_by_code() -> None:
    """A star import for type checkers tells that it is there; none is surely absent."""
    modules = {
        "models__": FROM_FILES,
        "models__qwen2_vl": "__all__ = ['Qwen2VLModel']\nclass Qwen2VLModel: ...\nhidden = 1",
        "models__other": "__all__ = []",
    }
    source = "from .models import Qwen2VLModel as Model, hidden"
    resolution = resolve(source, "Model", **modules)
    assert str(resolution.defined) == "up.models.qwen2_vl:Qwen2VLModel"
    assert resolve(source, "hidden", **modules).state == "undecidable"
    star = "from .models import *"
    assert resolve(star, "Qwen2VLModel", **modules).state == "present"


def test_of_many_modules_only_those_are_read_that_a_name_begins_with() -> None:
    """The four hundred packages of models are not read for one name."""
    stars = "\n    ".join(f"from .m{number} import *" for number in range(40))
    more = "from .auto import *\n    from .qwen2_5 import *\n    "
    package = FROM_FILES.replace("from .other import *", more + stars)
    modules = {
        "models__": package,
        "models__qwen2_vl": "__all__ = ['Qwen2VLModel']\nclass Qwen2VLModel: ...",
        "models__qwen2_5": "__all__ = ['Qwen2_5Model']\nclass Qwen2_5Model: ...",
        "models__auto": "__all__ = ['A_MAPPING']\nA_MAPPING = {}",
        "models__m7": "__all__ = ['Far']\nclass Far: ...",
    }
    source = "from .models import Qwen2VLModel, Qwen2_5Model, A_MAPPING, Far"
    for name in ("Qwen2VLModel", "Qwen2_5Model", "A_MAPPING"):
        assert resolve(source, name, **modules).state == "present"
    assert resolve(source, "Far", **modules).state == "undecidable"


@pytest.mark.parametrize(
    "source",
    [
        "TEXT = 'sys.modules[__name__] = _LazyModule()'\nname = 1",
        "import sys\nsys.modules[__name__].other = 1\nname = 1",
    ],
)
def test_a_text_puts_nothing_in_the_place_of_a_module(source: str) -> None:
    """A template of a package is no package."""
    assert resolve(source, "name").state == "present"


@pytest.mark.parametrize("place", ["__name__", "'up.old'"])
def test_a_module_may_put_another_in_its_place(place: str) -> None:
    """What the other one has counts, and not what the file of the module binds."""
    old = f"import sys\nimport up.new\nown = 1\nsys.modules[{place}] = up.new"
    modules = {"old": old, "new": "def f(): ..."}
    assert str(resolve("from .old import f", "f", **modules).defined) == "up.new:f"
    assert resolve("from .old import own", "own", **modules).state == "absent"
    other = old.replace(place, "'up.elsewhere'")
    modules["old"] = other
    assert resolve("from .old import own", "own", **modules).state == "present"
