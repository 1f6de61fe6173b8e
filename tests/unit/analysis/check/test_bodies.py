"""What bodies use of upstream: each file is read once, whoever asks, and patchkit itself is not."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from support.packages import row

from analysis.check.released import subject
from patchkit.analysis.check import bodies
from patchkit.analysis.check.bodies import BodyUses
from patchkit.analysis.check.checking import Check
from patchkit.analysis.check.coverage import Coverage, packages_of
from patchkit.analysis.check.packs import PackSource, read_packs
from patchkit.analysis.uses.reader import uses_of
from patchkit.core.lock.format import Lock
from patchkit.registry import OPTIONAL_PACKS
from patchkit.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pytest
    from support.packages import World

    from patchkit.analysis.check.releases import CheckedRelease
    from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
    from patchkit.analysis.uses.use import Use
    from patchkit.core.rows.declaration import Change, Row

NAMES = ("a", "b", "c")


def uses_of_rows(packs: Sequence[str], threads: int = 1) -> dict[str, list[Use]]:
    """What the body of each row uses, asked for by several threads at once."""
    rows, _ = read_packs(Settings(), packs)
    uses = BodyUses(packages_of(rows), {row.pack: PackSource(row.pack) for row in rows})
    with ThreadPoolExecutor(threads) as pool:
        answers = list(
            pool.map(lambda _: [uses.of(row) for row in rows], range(threads))
        )
    return {row.name: found for row, found in zip(rows, answers[-1], strict=True)}


def test_a_helper_is_read_once(
    world: World, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """However many bodies import it, and however many threads ask for what they use."""
    reads: list[str] = []

    def counted(trees: Iterable[ModuleTree], roots: frozenset[str]) -> list[Use]:
        (tree,) = trees
        reads.append(tree.name)
        return uses_of([tree], roots)

    monkeypatch.setattr(bodies, "uses_of", counted)
    switched = sys.getswitchinterval()
    request.addfinalizer(lambda: sys.setswitchinterval(switched))
    sys.setswitchinterval(1e-6)  # so that threads meet where they can
    body = "from pack.help import x\ndef w(wrapped, instance, args, kwargs): ..."
    world.pack(
        *(
            row(name, f"patch_{name}", f"Wrap('up.mod:{name}', by='w')")
            for name in NAMES
        ),
        **{f"patch_{name}": body for name in NAMES},
        help="from up.lib import gone\nx = 1",
    )
    found = uses_of_rows(["pack"], threads=8)
    assert [str(use.target) for name in NAMES for use in found[name]] == [
        "up.lib:gone"
    ] * 3
    assert sorted(name for name in reads if name.startswith("pack.")) == sorted(
        ["pack.help", *(f"pack.patch_{name}" for name in NAMES)]
    )


def test_what_patchkit_itself_uses_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its modules beside its packs are not read, since nothing of upstream would be found."""
    quick = uses_of_rows(OPTIONAL_PACKS)
    monkeypatch.setattr(bodies, "_may_use_upstream", lambda _: True)
    assert uses_of_rows(OPTIONAL_PACKS) == quick
    assert any(quick.values())


def test_what_rows_make_is_asked_once_a_release(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice as many rows make a check ask twice as often what is due, not four times."""
    asked: list[str] = []
    due = Coverage.due

    def counted(coverage: Coverage, row: Row, release: CheckedRelease) -> list[Change]:
        asked.append(row.name)
        return due(coverage, row, release)

    monkeypatch.setattr(Coverage, "due", counted)
    monkeypatch.setattr("patchkit.registry.OWN_PACKS", ())

    def times(count: int) -> int:
        names = [f"p{at}" for at in range(count)]
        rows = [
            row(name, "patch_a", f"Wrap('up.mod:{name}', by='w')") for name in names
        ]
        pack = f"pack{count}"
        world.pack(
            *rows, name=pack, patch_a="def w(wrapped, instance, args, kwargs): ..."
        )
        read, _ = read_packs(Settings(), [pack])
        asked.clear()
        Check(
            list(read), [subject("1.0", mod=""), subject("2.0", mod="")], Lock(), {}
        ).run()
        return len(asked)

    assert times(40) < 2.5 * times(20)
