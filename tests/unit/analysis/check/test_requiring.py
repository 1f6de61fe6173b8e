"""Rows that require nothing of the distribution that they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, codes, only_finding, subject
from patchkit.analysis.check.packs import read_packs
from patchkit.analysis.check.requiring import slips
from patchkit.core.versions.installed import Versions
from patchkit.settings import Settings

if TYPE_CHECKING:
    from support.packages import World

    from patchkit.analysis.check.releases import CheckedRelease

WRAP = "Wrap('up.mod:f', by='w')"
BODY = "def w(wrapped, instance, args, kwargs): ...\ndef call(module): ...\n"
UP = subject("1.0", mod="def f(): ...")


@pytest.mark.parametrize(
    ("requires", "expected"),
    [
        ("('up>=1,<2',)", []),
        ("('other', 'UP<2')", []),
        ("('other<2',)", ["PK306"]),
        ("('upp>=1,<2',)", ["PK301"]),
        ("('pu>=1,<2',)", ["PK301"]),
        ("('up-cpu>=1,<2',)", ["PK306"]),
    ],
)
def test_a_requirement_names_the_distribution(
    world: World, requires: str, expected: list[str]
) -> None:
    """A slip is an error, as no process has that distribution; another one is a warning."""
    world.pack(row("p", "patch_a", WRAP, requires=requires), patch_a=BODY)
    assert codes(checked([UP])) == expected


def test_a_slip_is_told_with_the_name_that_was_meant(world: World) -> None:
    """The message and the fix have the near name, and the grid is broken."""
    world.pack(row("p", "patch_a", WRAP, requires="('upp>=1,<2',)"), patch_a=BODY)
    report = checked([UP])
    finding = only_finding(report, "PK301")
    assert "did you mean up by upp?" in finding.message
    assert finding.fix == "write up in place of upp"
    assert report.grid["p"] == {"up 1.0": "broken"}


@pytest.mark.parametrize(
    ("requires", "fix"),
    [
        (
            "('unseen-up<2',)",
            "require the distribution that provides down; if that is uns",
        ),
        # Of `up` the packages are known: none is `down`.
        ("('up<2',)", "require it: requires=('down>=…,<…',)"),
    ],
)
def test_a_distribution_of_which_nothing_is_read_may_be_the_one(
    world: World, requires: str, fix: str
) -> None:
    """As `scikit-learn` is, which provides `sklearn`: the name of the package may be wrong."""
    change = "Wrap('down.mod:f', by='w')"
    world.pack(row("p", "patch_a", change, requires=requires), patch_a=BODY)
    assert only_finding(checked([UP]), "PK306").fix.startswith(fix)


@pytest.mark.parametrize("releases", [[], [UP]])
@pytest.mark.parametrize(
    "change", ["Wrap('uup.mod:f', by='w')", "AfterImport('uup.mod', call='call')"]
)
def test_a_misspelled_target_is_told_as_such(
    world: World,
    change: str,
    releases: list[CheckedRelease],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the distribution is there (checked or installed), and no such package is anywhere."""
    if not releases:
        world.module("up.mod", "def f(): ...")
        monkeypatch.setattr(Versions, "find", lambda _, name: name == "up" or None)
    world.pack(row("p", "patch_a", change, requires="('up>=1,<2',)"), patch_a=BODY)
    (finding,) = (
        finding for finding in checked(releases).findings if finding.severity == "error"
    )
    assert finding.code.code == "PK101"
    assert finding.message == (
        "found no package uup, which it changes; it requires up, which is there: did you mean that?"
    )
    assert finding.fix == "write up in place of uup in the targets"


@pytest.mark.parametrize("is_here", [True, False])
def test_a_package_with_a_longer_name_is_no_misspelled_one(
    world: World, is_here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As torchao is none of torch, which is there: the row has to require both."""
    if is_here:
        world.module("upstreamao.mod", "def f(): ...")
    monkeypatch.setattr(Versions, "find", lambda _, name: name == "upstream" or None)
    change = "Wrap('upstreamao.mod:f', by='w')"
    world.pack(
        row("p", "patch_a", change, requires="('upstream>=1,<2',)"), patch_a=BODY
    )
    finding = only_finding(checked([]), "PK306")
    assert finding.message == (
        "no requirement names upstreamao, which it changes; found upstream"
    )
    assert finding.fix == "require it: requires=('upstreamao>=…,<…',)"


def test_a_requirement_of_the_change_counts(world: World) -> None:
    """A change may require what its row does not."""
    change = "Wrap('up.mod:f', by='w', requires=('up<2',))"
    world.pack(row("p", "patch_a", change, requires="('other<2',)"), patch_a=BODY)
    assert codes(checked([UP])) == []


def test_a_change_that_waits_for_an_import_requires_nothing(world: World) -> None:
    """Who only wants to hear of a module may know nothing of its releases."""
    changes = [WRAP, "AfterImport('torch', call='call')"]
    world.pack(row("p", "patch_a", *changes, requires="('up<2',)"), patch_a=BODY)
    assert codes(checked([UP])) == []


@pytest.mark.parametrize(
    ("requires", "of_change", "meant"),
    [
        ("('up>=1', 'ppa')", "", ""),
        ("('upstream>=1',)", "upstraem>=1", "upstream"),
        ("('upstream>=1',)", "upstrem>=1", "upstream"),
        ("('upstream>=1',)", "upstream-extra>=1", ""),
        ("('upstream>=1', 'packaging')", "packagin>=1", "packaging"),
        ("('upstream>=1', 'pakcaging>=2')", "", "packaging"),
        ("('upstream>=1', 'vlml>=2')", "", "vllm"),
        ("('upstream>=1', 'vllm>=2')", "", ""),
        ("('upstream>=1', 'packagings>=2')", "", ""),
        ("('upstream>=1', 'packagin>=2')", "", ""),
    ],
)
def test_a_slip_of_another_requirement_is_told(
    world: World, requires: str, of_change: str, meant: str
) -> None:
    """In a change as in a row; a name that is like no other may be of what is not here.

    Of what the row does not name, only the order of the letters may differ.
    """
    narrowed = f", requires=({of_change!r},)" if of_change else ""
    change = f"Wrap('upstream.mod:f', by='w'{narrowed})"
    world.pack(row("p", "patch_a", change, requires=requires), patch_a=BODY)
    rows, _ = read_packs(Settings(), ["pack"])
    (patch,) = rows
    assert [slip.meant for slip in slips(patch)] == ([meant] if meant else [])
