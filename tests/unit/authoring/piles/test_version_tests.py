"""Tests of upstream's version in a pile: as requirements, as conditions, or listed."""

from __future__ import annotations

import sys

import pytest

from patchkit.cli import main
from authoring.piles.pile_of_up import World, adopt, here, kinds, world
from patchkit.runtime.testing import applied

__all__ = ["here", "world"]

PATCH = "from up.lib import C\nC.new_{0} = '{0}'\n"
HEAD = """\
import importlib.metadata
from importlib import metadata
from importlib.metadata import version as lookup
import pkg_resources
import packaging.version
from packaging import version
from packaging.version import Version, parse
import up
from up import __version__ as V
from up import __version_tuple__

PARSED = Version(up.__version__)
LEAST = "0.8"
def up_version_is(text): return text == V
def is_up_version_at_least(text): return True
"""


def requirements(
    here: World, capsys: pytest.CaptureFixture[str], test: str
) -> tuple[tuple[str, ...], str | None, list[str]]:
    """Adopt a module that is imported if a test holds: the row's `requires`, `when`, the list."""
    here.module("pile.__init__", f"{HEAD}\nif {test}:\n    from pile import patch_a\n")
    report = adopt(here, capsys, {"patch_a": PATCH.format("a")}, "--no-observe")
    assert list(kinds(report)) == ["a"]
    sys.path_importer_cache.clear()
    sys.modules.pop("mine", None)
    (row,) = (row for row in __import__("mine").PATCHES if row.name == "a")
    return tuple(row.requires), row.when, [left["code"] for left in report["left"]]


@pytest.mark.parametrize(
    ("test", "bounds"),
    [
        ("up.__version__ < '2.0'", "<2.0"),
        ("V >= '0.8'", ">=0.8"),
        ("V == '1.0'", "==1.0"),
        ("V != '1.0'", "!=1.0"),
        ("not V == '1.0'", "!=1.0"),
        ("'0.8' <= V < '2.0'", ">=0.8,<2.0"),
        ("V.startswith('1.0')", "==1.0.*"),
        ("up.__version__.startswith('1.')", "==1.*"),
        ("version.parse(up.__version__) >= version.parse('0.8')", ">=0.8"),
        ("parse(V) > parse('0.8')", ">0.8"),
        ("packaging.version.parse(V) <= packaging.version.Version('0.30')", "<=0.30"),
        ("Version(metadata.version('up')) < Version('0.30')", "<0.30"),
        ("Version(importlib.metadata.version('up')) < Version('0.30')", "<0.30"),
        ("lookup('up') == '1.0'", "==1.0"),
        ("pkg_resources.get_distribution('up').version == '1.0'", "==1.0"),
        ("PARSED >= Version(LEAST)", ">=0.8"),
        ("Version(PARSED.base_version) >= Version('0.8')", ">=0.8"),
        ("PARSED.release >= (0, 30)", ">=0.30"),
        ("not PARSED >= Version('0.8')", "<0.8"),
        ("PARSED >= Version('0.8') and PARSED < Version('2')", ">=0.8,<2"),
        ("Version('0.8') <= PARSED < Version('2')", ">=0.8,<2"),
        ("__version_tuple__ >= (0, 30)", ">=0.30"),
        ("__version_tuple__ > (0, 30)", ">=0.30"),
        ("__version_tuple__ <= (0, 30)", "<0.30"),
        ("up.__version_tuple__[:2] == (0, 30)", "==0.30.*"),
        ("up.__version_tuple__[:2] > (0, 30)", ">=0.31"),
        ("__version_tuple__[:2] <= (0, 30)", "<0.31"),
        ("__version_tuple__[:3] <= (0, 30, 1)", "<=0.30.1"),
        ("tuple(int(x) for x in V.split('.')[:2]) >= (0, 30)", ">=0.30"),
        ("tuple(map(int, V.split('.')[:2])) < (0, 30)", "<0.30"),
        ("up_version_is('1.0')", "==1.0"),
        ("not up_version_is('1.0')", ">=1.0,!=1.0"),
    ],
)
def test_a_known_form_is_a_requirement(
    here: World, capsys: pytest.CaptureFixture[str], test: str, bounds: str
) -> None:
    """The row has no condition then, and nothing is listed."""
    assert requirements(here, capsys, test) == ((f"up{bounds}",), None, [])


@pytest.mark.parametrize(
    "test",
    [
        "V < '1.0.0'",  # as texts, 1.0 is before it
        "V in ('1.0', '1.1')",
        "PARSED.minor >= 8",
        "__version_tuple__[1] >= 8",
        "__version_tuple__[:2] >= (0, 30, 1)",
        "is_up_version_at_least('0.8')",
        "PARSED >= Version('0.8') or V in ('1.0', '1.1')",
    ],
)
def test_an_unknown_form_is_listed(
    here: World, capsys: pytest.CaptureFixture[str], test: str
) -> None:
    """The row asks it at run time, as the pile does."""
    assert requirements(here, capsys, test) == (("up==1.0",), "when", [test])


@pytest.mark.parametrize(
    "test",
    [
        "up_version_is('1.0') or up_version_is('1.1')",
        "PARSED < Version('0.8') or PARSED >= Version('0.9')",
        "LEAST == '0.8'",
        "metadata.version('torch') >= '2'",
    ],
)
def test_another_condition_is_asked_at_run_time(
    here: World, capsys: pytest.CaptureFixture[str], test: str
) -> None:
    """Several ranges, and what is no version of upstream, are not listed."""
    assert requirements(here, capsys, test) == (("up==1.0",), "when", [])


def test_a_version_beside_another_condition(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The version is a requirement, the other one a `when`."""
    test = "LEAST and PARSED >= Version('0.8')"
    assert requirements(here, capsys, test) == (("up>=0.8",), "when", [])


def test_statements_under_a_version_narrow_their_changes(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a module, a change for the release has the versions that its statement runs for."""
    text = """\
from importlib.metadata import version
from packaging.version import Version
from up import lib
V = version("up")
if Version(V) < Version("0.30"):
    lib.C.new = "old"
else:
    lib.C.new = "new"
if V == "1.0":
    lib.C.also = 1
"""
    here.module("pile.__init__", "import pile.patch_a\n")
    adopt(here, capsys, {"patch_a": text}, "--no-observe")
    sys.path_importer_cache.clear()
    sys.modules.pop("mine", None)
    (row,) = (row for row in __import__("mine").PATCHES if row.name == "a")
    assert [tuple(change.requires) for change in row.changes] == [
        (),
        ("up>=0.30",),
        ("up==1.0",),
    ]
    capsys.readouterr()
    assert main(["check", "--patches", "mine", "--releases", "up==1.0"]) == 0
