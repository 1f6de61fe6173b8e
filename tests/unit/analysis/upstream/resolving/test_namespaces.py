"""Code that binds names of its module: lazy loaders, `globals()` and `exec`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.upstream.memory import resolve
from analysis.upstream.resolving.real import RealPackage
from patchkit.analysis.upstream.resolving.namespace_words import may_reach

if TYPE_CHECKING:
    from pathlib import Path

LOADERS = """
import importlib
import types


class LazyLoader(types.ModuleType):
    def __init__(self, local_name, parent_module_globals: dict, name):
        self._local_name = local_name
        self._parent_module_globals = parent_module_globals
        super().__init__(str(name))

    def _load(self):
        module = importlib.import_module(self.__name__)
        self._parent_module_globals[self._local_name] = module
        self.__dict__.update(module.__dict__)
        return module

    def __getattr__(self, item):
        return getattr(self._load(), item)


class Eager(LazyLoader):
    def __init__(self, local_name, parent_module_globals, name):
        self._local_name = local_name
        self._namespace = parent_module_globals
        self._namespace.update(vars(importlib.import_module(name)))


class Both:
    def __init__(self, local_name, parent_module_globals, name):
        self._local_name = local_name
        self._namespace = parent_module_globals
        self._load(importlib.import_module(name))

    def _load(self, module):
        self._namespace[self._local_name] = module
        self._namespace.update(vars(module))


class Direct:
    def __init__(self, local_name, parent_module_globals, name):
        self._local_name = local_name
        self._namespace = parent_module_globals
        parent_module_globals.update(vars(importlib.import_module(name)))

    def _load(self, module):
        self._namespace[self._local_name] = module
"""
USERS = """
from up.loaders import LazyLoader

json = LazyLoader("json", globals(), "json")
there = 1
decoder = LazyLoader(
    "json_decoder", globals(), "json.decoder"
)
"""
EAGER = """
from up.loaders import {0}

json = {0}("json", globals(), "json")
"""


def test_a_lazy_loader_sets_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leaves all other names of the module decided, and that one open until it has loaded."""
    package = RealPackage(tmp_path, monkeypatch, loaders=LOADERS, users=USERS)
    for name in ("there", "json", "decoder", "gone", "dumps"):
        state = package.resolve("users", name).state
        assert (state == "present") is package.has("users", name)
        assert state != "undecidable"
    assert package.resolve("users", "json_decoder").state == "undecidable"
    assert not package.has("users", "json_decoder")
    assert package.modules["users"].decoder.JSONDecoder
    assert package.has("users", "json_decoder")


@pytest.mark.parametrize("cls", ["Eager", "Both", "Direct"])
def test_a_class_that_does_more_with_a_namespace_opens_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cls: str
) -> None:
    """Such as one that updates it: then any name may be bound."""
    package = RealPackage(
        tmp_path, monkeypatch, loaders=LOADERS, eager=EAGER.format(cls)
    )
    assert package.has("eager", "dumps")
    assert package.resolve("eager", "dumps").state == "undecidable"


@pytest.mark.parametrize(
    ("source", "state"),
    [
        ("class X:\n    exec('q = 1')\n", "absent"),
        ("class X:\n    if True:\n        exec('q = 1')\n", "absent"),
        ("exec('q = 1')\n", "undecidable"),
        ("if True:\n    exec('q = 1')\n", "undecidable"),
        ("exec('q = 1; x = 2; del x')\n", "undecidable"),
        (
            "class X:\n    def m():\n        exec('global q; q = 1')\n    m()\n",
            "undecidable",
        ),
    ],
)
def test_exec_binds_names_of_the_scope_that_it_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, state: str
) -> None:
    """In the body of a class those of the class, elsewhere those of the module."""
    package = RealPackage(tmp_path, monkeypatch, a=source)
    assert package.resolve("a", "q").state == state
    assert package.has("a", "q") is (state == "undecidable")


REACHES = re.compile(
    rb"\b(?:globals|locals)\(|\bvars\(\s*\)|(?<![\w.])(?:builtins\.)?exec\("
    rb"|\bmodules\[\s*(?:__name__|[\"'])|(?:__\w*|import_module)\(__name__\)"
    rb"|global_enum|_convert_\(|\bexec_\("
)
"""As one pattern, what is searched for in parts."""
PARTS = (
    *(
        "globals",
        "locals",
        "vars",
        "exec",
        "exec_",
        "modules",
        "builtins",
        "import_module",
    ),
    *(
        "__import__",
        "__name__",
        "get__logger",
        "(__name__)",
        "global_enum",
        "_convert_",
        "(",
        ")",
        "[",
        "'",
        '"',
    ),
    *(".", " ", "\n", "a", "_"),
)


@given(st.lists(st.sampled_from(PARTS), max_size=8).map("".join))
def test_the_search_of_a_text_finds_what_one_pattern_finds(text: str) -> None:
    """Its parts begin with a fixed text, and look back, as such searches are fastest."""
    source = text.encode()
    assert bool(may_reach(source)) == bool(REACHES.search(source))


def test_a_star_import_of_a_package_may_bring_its_submodules() -> None:
    """It brings those that are imported by then, unless an `__all__` says what it brings."""
    modules = {"pkg__": "", "pkg__deep": "found = 1"}
    assert resolve("from .pkg import *", "deep", **modules).state == "undecidable"
    assert resolve("from .pkg import *", "gone", **modules).state == "absent"
    modules["pkg__"] = "__all__ = []"
    assert resolve("from .pkg import *", "deep", **modules).state == "absent"
