"""Submodules of a package that puts another object in its place, compared with what is imported."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

from patchkit.analysis.upstream.reading.tree import open_installed
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from pathlib import Path

REPLACES = """
import sys
from types import ModuleType

class Lazy(ModuleType):
    shadow = 1
    def __getattr__(self, name):
        if name in {"spelled": "kept_by.other"}:
            return 2
        raise AttributeError(name)

old = sys.modules[__name__]
new = sys.modules[__name__] = Lazy(__name__)
new.__dict__.update({"__path__": __path__, "__file__": __file__})
"""


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("plain", "present"),
        ("shadow", "undecidable"),
        ("spelled", "undecidable"),
        ("nothing", "undecidable"),
    ],
)
def test_a_submodule_that_the_object_cannot_have_is_told(
    name: str, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python imports it, unless the code of the object names it anywhere."""
    folder = tmp_path / "kept_by"
    folder.mkdir()
    (folder / "__init__.py").write_text(REPLACES)
    for module in ("plain", "shadow", "spelled"):
        (folder / f"{module}.py").write_text("value = 1\n")
    resolver = Resolver(open_installed("kept_by", [str(tmp_path)]))
    assert resolver.resolve(Target("kept_by", name)).state == state
    if state == "present":
        monkeypatch.syspath_prepend(tmp_path)
        source = f"from kept_by import {name}"
        names: dict[str, object] = {}
        exec(source, names)
        assert names[name] is importlib.import_module(f"kept_by.{name}")


def test_without_a_path_nothing_is_told(tmp_path: Path) -> None:
    """An object that does not say where its submodules are may have none."""
    folder = tmp_path / "kept_by"
    folder.mkdir()
    text = REPLACES.replace('"__path__": __path__, ', "")
    (folder / "__init__.py").write_text(text)
    (folder / "plain.py").write_text("value = 1\n")
    resolver = Resolver(open_installed("kept_by", [str(tmp_path)]))
    assert resolver.resolve(Target("kept_by", "plain")).state == "undecidable"
