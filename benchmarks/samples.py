"""Modules and packs that are generated for a measurement, in a folder that goes with it."""

from __future__ import annotations

import importlib
import sys
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLASS = '''
class Holder{number}:
    """Holds what it is given, and tells what comes of it."""

    limit = {number}

    def __init__(self, one, two=None, *, three=()):
        self.one = one
        self.two = two if two is not None else self.limit
        self.three = tuple(item for item in three if item is not None)

    def total(self, scale=1):
        """Add up all that is held, each part as often as the scale says."""
        return scale * (self.one + self.two + sum(self.three))

    @property
    def is_full(self):
        return self.total() > self.limit

    @classmethod
    def of(cls, text):
        one, two, *three = (int(word) for word in text.split(","))
        return cls(one, two, three=three)


def function_{number}(holder, *more, default=None):
    """Work on a holder and on what else there is."""
    found = [holder.total(), *(one.total(scale=2) for one in more)]
    if not any(found):
        return default
    return {{"least": min(found), "most": max(found), "count": len(found)}}

'''
_CLASSES = 10
"""Makes a source file of 9 KB, as the median one of vLLM."""

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
    """Write a package of modules of an ordinary size and return their names."""
    home = place / package
    home.mkdir()
    (home / "__init__.py").touch()
    source = "".join(_CLASS.format(number=number) for number in range(_CLASSES))
    for number in range(count):
        (home / f"module_{number}.py").write_text(source)
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
