"""Names that a module's `__getattr__` makes, from tables and without."""

from __future__ import annotations

import pytest

from analysis.upstream.memory import resolve
from patchkit.analysis.upstream.resolving.values import Kind

LAZY = """
from importlib import import_module
TABLE = {'Moved': '.a:There', 'Gone': '.a:Nowhere'}
if TYPE_CHECKING:
    from .a import There as Moved
else:
    def __getattr__(name):
        if name in TABLE:
            module, attribute = TABLE[name].split(':')
            return getattr(import_module(module, __package__), attribute)
        raise AttributeError(name)
"""
LAZY_SHAPES = (
    LAZY,
    """
_OF = {'Moved': 'up.a', 'Gone': 'up.b'}
import importlib
def __getattr__(name):
    if name in _OF:
        module = importlib.import_module(_OF[name])
        return getattr(module, name)
    raise AttributeError(f'no {name}')
""",
    """
_OF = {'Moved': (__spec__.parent, '.a')}
def __getattr__(name):
    if name not in _OF:
        raise AttributeError(name)
    return load(*_OF[name])
""",
    """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from up.a import There as Moved
else:
    def __getattr__(name):
        if name == 'Moved':
            return load('There')
        if name not in globals():
            raise AttributeError(name)
        return globals()[name]
""",
    """
_E = {'Moved': 'up.a:There'}
def __getattr__(name):
    spec = _E.get(name)
    if spec is None:
        return other(name)
    return load(spec)
""",
)


@pytest.mark.parametrize("source", LAZY_SHAPES)
def test_reads_lazy_tables(source: str) -> None:
    """Tables that a `__getattr__` reads, and what it tells type checkers, lead on."""
    a = "class There: ...\nMoved = There"
    resolution = resolve(source, "Moved", a=a)
    assert resolution.state == "present"
    assert resolution.kind is Kind.CLASS
    assert str(resolution.defined) == "up.a:There"
    expected = "absent" if "AttributeError" in source else "undecidable"
    assert resolve(source, "Other", a=a).state == expected


def test_a_lazy_name_may_be_broken() -> None:
    """A name that the table knows, but not the module it names, is absent."""
    assert resolve(LAZY_SHAPES[0], "Gone", a="class There: ...").state == "absent"


HANDED_ON = (
    "import sys\nsys.modules[__name__] = Lazy(__name__)\nanything = 1",
    "def __getattr__(name): return find(name)",
    "import up.a\ndef __getattr__(name): return getattr(up.a, name)",
    """
    def __getattr__(name):
        from up.a import other
        found = getattr(other, name, None)
        if found is None:
            raise AttributeError(name)
        return found
    """,
    "def __getattr__(name):\n if name in computed(): return 1\n raise AttributeError",
    "def __getattr__(name):\n try:\n  return T[name]\n except KeyError: raise AttributeError",
)


@pytest.mark.parametrize("source", HANDED_ON)
def test_a_lazy_name_that_is_handed_on_is_not_told(source: str) -> None:
    """A `__getattr__` that asks another object may have any name, and may lack it."""
    assert resolve(source, "anything", a="other = 1").state == "undecidable"


def test_a_computed_lazy_value_is_present() -> None:
    """It is known that a `__getattr__` returns something for a name, but not what it is."""
    source = "def __getattr__(name):\n if name == 'x': return compute()\n raise AttributeError"
    resolution = resolve(source, "x")
    assert (resolution.state, resolution.is_sure) == ("present", False)
    assert resolve(source, "y").state == "absent"
