"""Modules and packs that are generated for a measurement, in a folder that goes with it."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

_MODULE = '''"""One of many."""

LIMIT = {number}


def function(one, two=LIMIT):
    return one + two


class Holder:
    def method(self, one):
        return function(one)
'''

_ROW = """    Patch(
        name="sample-{number}",
        body="patch_{number}",
        requires=("vllm>=0.11,<0.34", "ray"),
        roles={{Role.MAIN, Role.ENGINE_CORE}},
        changes=({change}),
        why="A sample of an ordinary length, so that reading it costs what reading a row costs.",
        upstream="none: nobody runs this",
        sunset="the measurement has ended",
    ),
"""
_CHANGES = (
    'Replace("sample_upstream.module_{number}:Holder", by="Holder"),',
    'Wrap("sample_upstream.module_{number}:Holder.method", by="around"),',
    'AfterImport("sample_upstream.module_{number}", call="begin"),',
)


@contextmanager
def folder() -> Iterator[Path]:
    """Make a folder on `sys.path`, for as long as the context lasts."""
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
        sys.path.insert(0, name)
        try:
            yield Path(name)
        finally:
            sys.path.remove(name)


def write_modules(place: Path, package: str, count: int) -> list[str]:
    """Write a package of small modules and return their names."""
    home = place / package
    home.mkdir()
    (home / "__init__.py").touch()
    for number in range(count):
        (home / f"module_{number}.py").write_text(_MODULE.format(number=number))
    importlib.invalidate_caches()
    return [f"{package}.module_{number}" for number in range(count)]


def write_pack(place: Path, pack: str, rows: int) -> None:
    """Write a pack of ordinary rows, each with its body; Replace, Wrap and AfterImport in turn."""
    home = place / pack
    home.mkdir()
    texts = []
    for number in range(rows):
        (home / f"patch_{number}.py").touch()
        change = _CHANGES[number % len(_CHANGES)].format(number=number)
        texts.append(_ROW.format(number=number, change=change))
    (home / "__init__.py").write_text(
        "from patchkit import AfterImport, Patch, Replace, Role, Wrap\n\n"
        f"PATCHES = (\n{''.join(texts)})\n"
    )


def has_module(name: str) -> bool:
    """Whether a package can be imported here."""
    return find_spec(name) is not None
