"""What code that runs at import does to names and classes, beyond what statements say."""

from __future__ import annotations

import pytest

from analysis.upstream.memory import Memory, resolve
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.core.rows.target import Target

BUILT = (
    "_g = globals()\nbuild(_g)",
    "build(globals())",
    "build(vars())",
    "import sys\nbuild(sys.modules[__name__])",
    "def add(kind):\n from up import dtypes\n globals()[kind.name] = kind",
    "import sys\ndef add(n): setattr(sys.modules[__name__], n, 1)",
)


@pytest.mark.parametrize("source", BUILT)
def test_code_that_is_passed_a_namespace_may_bind_names(source: str) -> None:
    """Names are undecided once `globals()` is passed on, through a star import too."""
    assert resolve(source, "Language").state == "undecidable"
    assert resolve("from .a import *", "Language", a=source).state == "undecidable"


@pytest.mark.parametrize("source", ["x = globals().get('y')", "x = 'y' in globals()"])
def test_code_that_only_reads_a_namespace_binds_nothing(source: str) -> None:
    """A name that nothing binds stays absent."""
    assert resolve(source, "Language").state == "absent"


def test_a_global_that_a_function_binds_anew_is_not_sure() -> None:
    """A name that a function binds anew is present and not sure; the reason names the function."""
    resolution = resolve("x = None\ndef start():\n global x\n x = make()\n", "x")
    assert (resolution.state, resolution.is_sure) == ("present", False)
    assert "start() rebinds x" in resolution.reason


BOUND = """
class Api:
    def create(self, name): ...
    @classmethod
    def of(cls, name): ...
_api = Api()
create = _api.create
of = Api.of
raw = Api.create
"""


@pytest.mark.parametrize("name", ["create", "of", "raw"])
def test_a_method_that_a_module_gives_a_name_is_not_sure(name: str) -> None:
    """Such a name is a function without a signature, as `self` may be bound or not."""
    resolution = resolve(BOUND, name)
    assert str(resolution.kind) == "function"
    assert not resolution.is_sure
    assert resolution.signature is None


META = """
class Meta(type):
    def __new__(mcs, name, bases, namespace):
        namespace.pop("Options", None)
        namespace["wrapped"] = wrap(namespace["wrapped"])
        found = {key: one for key, one in namespace.items() if not hasattr(one, "contribute")}
        return super().__new__(mcs, name, bases, found)
class Keeps(type):
    def __new__(mcs, name, bases, namespace):
        cls = super().__new__(mcs, name, bases, namespace)
        cls.added = 1
        return cls
class C(metaclass=Meta):
    value = 1
    def method(self): ...
    def wrapped(self): ...
    class Options: ...
class D(metaclass=Keeps):
    value = 1
    def method(self): ...
Base = Meta("Base", (), {})
class E(Base):
    def method(self): ...
    def wrapped(self): ...
"""


@pytest.mark.parametrize(
    ("qualname", "state"),
    [
        ("C.method", "present"),
        ("C.wrapped", "undecidable"),
        ("C.Options", "undecidable"),
        ("D.value", "present"),
        ("D.method", "present"),
        ("D.added", "undecidable"),
        ("Base.method", "undecidable"),
        ("E.method", "present"),
        ("E.wrapped", "undecidable"),
    ],
)
def test_what_a_metaclass_may_take_away_is_undecidable(
    qualname: str, state: str
) -> None:
    """An attribute that is no function, or that the metaclass names, is undecidable."""
    assert resolve(META, qualname).state == state


FLAGS = """
import sys
import typing as t
from typing import TYPE_CHECKING as TC
from sys import version_info as vi
from .compat import platform
NEW = sys.version_info >= (3, 14)
if sys.version_info >= (3, 14):
    a = 1
else:
    def a(): ...
if t.TYPE_CHECKING:
    b = 1
if TC or sys.platform.startswith("win"):
    c = 1
if vi < (3, 99) and not TC:
    d = 1
if NEW:
    e = 1
if platform.system() == "Linux":
    f = 1
if vi[:2:2] == (3,):
    g = 1
"""


@pytest.mark.parametrize(
    ("name", "state", "kind"),
    [
        ("a", "present", "function"),
        ("b", "absent", "None"),
        ("c", "absent", "None"),
        ("d", "present", "constant"),
        ("e", "undecidable", "constant"),
        ("f", "undecidable", "constant"),
        ("g", "present", "constant"),
    ],
)
def test_names_that_stand_for_conditions(name: str, state: str, kind: str) -> None:
    """Aliases of typing and sys are followed; flags, and other modules of such a name, are not."""
    resolution = resolve(FLAGS, name, compat="")
    assert (resolution.state, str(resolution.kind)) == (state, kind)
    variant_count = 2 if name in ("e", "f") else 1
    assert len(resolution.variants) == variant_count


def test_the_python_that_is_asked_about_decides() -> None:
    """The same release on a newer Python has the other branch."""
    source = Memory({"up.": FLAGS, "up.compat": ""})
    resolution = Resolver(source, python=(3, 14)).resolve(Target("up", "a"))
    assert (resolution.state, str(resolution.kind)) == ("present", "constant")


@pytest.mark.parametrize(
    ("source", "state"),
    [
        ("x = y = 1\ndel (x, y)", "absent"),
        ("x = y = 1\ndel [y, (x,)]", "absent"),
        ("match a:\n case [x, *rest]: pass\n case _: x = 1", "undecidable"),
        ("match a:\n case {'k': 1, **x}: pass", "undecidable"),
        ("match a:\n case int() as x: pass", "undecidable"),
        (
            "try:\n if a:\n  x = 1\n  raise ImportError\nexcept ImportError: pass",
            "undecidable",
        ),
    ],
)
def test_names_in_del_match_and_raise(source: str, state: str) -> None:
    """`del` of several deletes each; `match` captures; a `raise` leaves what was bound."""
    assert resolve(source, "x").state == state
