"""The modules of a release: how they are read, named and told apart."""

from __future__ import annotations

from analysis.upstream.memory import Memory
from patchkit.analysis.upstream.reading.files import Files
from patchkit.analysis.upstream.resolving.module_tree import Modules, module_name


def test_reads_a_module_once_and_only_when_asked() -> None:
    """A module's file is read at the first question about it, and kept."""
    source = Memory({"up.": "", "up.a": "x = 1", "up.b": "y = 1"})
    modules = Modules(Files(source))
    assert source.read_paths == []
    first = modules.get("up.a")
    assert first is not None
    assert modules.get("up.a") is first
    assert source.read_paths == ["up/a.py"]


def test_a_folder_without_init_is_an_empty_package() -> None:
    """A folder with modules and no `__init__.py` is a package with an empty body."""
    modules = Modules(Files(Memory({"up.": "", "up.space.deep": "x = 1"})))
    space = modules.get("up.space")
    assert space is not None
    assert (space.is_package, space.path, space.tree.body) == (True, "", [])
    assert "up.space.deep" in modules
    assert "up.space.none" not in modules


def test_a_module_that_cannot_be_parsed_says_why() -> None:
    """Source that this Python cannot parse is a fault with a text, not an exception."""
    tree = Modules(Files(Memory({"up.": "def ("}))).get("up")
    assert tree is not None
    assert "cannot parse" in tree.fault


def test_an_invalid_escape_in_upstreams_source_warns_nobody() -> None:
    """A module with an invalid escape is parsed without a warning, and has no fault."""
    tree = Modules(Files(Memory({"up.": r"x = '\d'"}))).get("up")
    assert tree is not None
    assert not tree.fault


def test_relative_imports_are_made_absolute() -> None:
    """The dots of an import count from the package; beyond the top there is no absolute name."""
    modules = Modules(Files(Memory({"up.": "", "up.a.": "", "up.a.b": ""})))
    package = modules.get("up.a")
    module = modules.get("up.a.b")
    assert package is not None
    assert module is not None
    assert package.absolute("x", 1) == "up.a.x"
    assert module.absolute("x", 1) == "up.a.x"
    assert module.absolute(None, 2) == "up"
    assert module.absolute("x", 4) is None


def test_names_modules_by_their_paths() -> None:
    """A module is named by its path, and an `__init__.py` by its folder."""
    assert module_name("up/a/__init__.py") == "up.a"
    assert module_name("up/a/b.py") == "up.a.b"


def test_finds_what_functions_bind_globally() -> None:
    """A name that a function declares global is listed with that function."""
    text = """
    def start():
        global made
        made = other
    """
    tree = Modules(Files(Memory({"up.": text}))).get("up")
    assert tree is not None
    assert tree.rebound_in_functions() == {"made": {"start"}}
