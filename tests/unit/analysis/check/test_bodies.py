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
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.packages import packages_of
from patchkit.analysis.check.packs import PackSource, read_packs
from patchkit.analysis.uses.files import uses_of
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
    """What the body of each row uses, asked for by one or several threads at once."""
    rows, _ = read_packs(Settings(), packs)
    sources = {row.pack: PackSource(row.pack) for row in rows}
    body_uses = BodyUses(packages_of(rows), sources)

    def ask(_: int) -> list[list[Use]]:
        return [body_uses.of(row) for row in rows]

    with ThreadPoolExecutor(threads) as pool:
        answers = list(pool.map(ask, range(threads)))
    return {row.name: uses for row, uses in zip(rows, answers[-1], strict=True)}


def test_a_helper_is_read_once(
    world: World, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """A helper module is read once, however many bodies import it or threads ask for it."""
    reads: list[str] = []

    def counted(trees: Iterable[ModuleTree], roots: frozenset[str]) -> list[Use]:
        (tree,) = trees
        reads.append(tree.name)
        return uses_of([tree], roots)

    monkeypatch.setattr(bodies, "uses_of", counted)
    switch_interval = sys.getswitchinterval()
    request.addfinalizer(lambda: sys.setswitchinterval(switch_interval))
    sys.setswitchinterval(1e-6)  # so that threads meet where they can
    body = "from pack.help import x\ndef w(wrapped, instance, args, kwargs): ..."
    rows = [
        row(name, f"patch_{name}", f"Wrap('up.mod:{name}', by='w')") for name in NAMES
    ]
    bodies_of_rows = {f"patch_{name}": body for name in NAMES}
    world.pack(
        *rows,
        **bodies_of_rows,
        help="from up.lib import gone\nx = 1",
    )
    uses = uses_of_rows(["pack"], threads=8)
    targets: list[str] = []
    for name in NAMES:
        targets += [str(use.target) for use in uses[name]]
    assert targets == ["up.lib:gone"] * 3
    reads_in_pack = [module for module in reads if module.startswith("pack.")]
    modules_of_bodies = [f"pack.patch_{name}" for name in NAMES]
    assert sorted(reads_in_pack) == sorted(["pack.help", *modules_of_bodies])


def test_reading_patchkits_own_modules_would_find_no_more_uses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Modules of patchkit beside its packs are not read, which loses no use of upstream.

    Their tables have names of upstream as texts, for whichever release has them.
    """
    monkeypatch.setattr("patchkit.analysis.uses.texts.object_named", lambda *_: None)
    uses = uses_of_rows(OPTIONAL_PACKS)
    monkeypatch.setattr(bodies, "_may_use_upstream", lambda _: True)
    assert uses_of_rows(OPTIONAL_PACKS) == uses
    assert any(uses.values())


def test_the_number_of_questions_grows_with_the_number_of_rows(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice as many rows make a check ask twice as often what is due, not four times."""
    asked_rows: list[str] = []
    due = Coverage.due

    def counted(coverage: Coverage, row: Row, release: CheckedRelease) -> list[Change]:
        asked_rows.append(row.name)
        return due(coverage, row, release)

    monkeypatch.setattr(Coverage, "due", counted)
    monkeypatch.setattr("patchkit.registry.OWN_PACKS", ())

    def questions_for(row_count: int) -> int:
        names = [f"p{number}" for number in range(row_count)]
        sources = [
            row(name, "patch_a", f"Wrap('up.mod:{name}', by='w')") for name in names
        ]
        pack = f"pack{row_count}"
        body = "def w(wrapped, instance, args, kwargs): ..."
        world.pack(*sources, name=pack, patch_a=body)
        rows, _ = read_packs(Settings(), [pack])
        releases = [subject("1.0", mod=""), subject("2.0", mod="")]
        asked_rows.clear()
        Check(list(rows), releases, Lock(), {}).run()
        return len(asked_rows)

    assert questions_for(40) < 2.5 * questions_for(20)
