"""What a diff makes of a release, it makes of it as patchkit does, or says that it does not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from random import Random
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import no_own_packs
from support.packages import World, row, world
from support.programs import program

from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["world"]

UPSTREAM = program(__file__, "law_upstream")
OTHER = "def deep(n):\n    return f'deep {n}'\n"
BODY = program(__file__, "law_body")
CHANGES = (
    "Replace('up.lib:LIMIT', by='limit')",
    "Replace('up.lib:LIMIT', by='FACTOR')",
    "Replace('up.lib:SIZES', by='sizes')",
    "Replace('up.lib:HERE', by='PAIRED')",
    "Replace('up.lib:CHOSEN', by='PAIRED')",
    "Replace('up.lib:plain', by='plain')",
    "Replace('up.lib:plain', by='calling_upstream')",
    "Replace('up.lib:plain', by='typed')",
    "Replace('up.lib:plain', by='recursive')",
    "Replace('up.lib:plain', by='using_alias')",
    "Replace('up.lib:plain', by='using_module')",
    "Replace('up.lib:marked', by='marked')",
    "Replace('up.lib:cached', by='cached')",
    "Replace('up.lib:context', by='context')",
    "Replace('up.lib:later', by='later')",
    "Replace('up.lib:counting', by='counting')",
    "Replace('up.lib:joined', by='joined')",
    "Replace('up.lib:deep', by='fixed')",
    "Add('up.lib:added', by='helper')",
    "Add('up.lib:NEW', by='text')",
    "Wrap('up.lib:plain', by='around')",
    "Edit('up.lib:plain', old='a + b', new='a - b')",
    "Edit('up.lib:Worker.run', old='self.SCALE', new='self.SCALE + 1')",
    "Replace('up.lib:TABLE[\"a\"]', by='FACTOR')",
    "Add('up.lib:TABLE[\"c\"]', by='text')",
    "Replace('up.lib:Worker.SCALE', by='FACTOR')",
    "Replace('up.lib:Worker.run', by='method')",
    "Replace('up.lib:Worker.greet', by='calling_super')",
    "Replace('up.lib:Worker.inherited', by='method')",
    "Replace('up.lib:Worker.width', by='getter')",
    "Replace('up.lib:Worker.width', by='Holder.width')",
    "Edit('up.lib:Worker.width.fset', old='= value', new='= value + 1')",
    "Replace('up.lib:Worker.fixed', by='fixed')",
    "Replace('up.lib:Worker.fixed', by='alias')",
    "Replace('up.lib:cached', by='short')",
    "Replace('up.lib:Worker.made', by='builder')",
    "Replace('up.lib:Worker.kept', by='getter')",
    "Replace('up.lib:Worker.Inner.depth', by='method')",
    "Add('up.lib:Worker.extra', by='Holder.extra')",
    "Add('up.lib:Worker.still', by='Holder.still')",
    "Add('up.lib:Worker.WORDS', by='text')",
    "Replace('up.lib:Worker', by='Plain')",
    "Replace('up.lib:Worker', by='Calling')",
    "Replace('up.lib:Worker', by='Initialized')",
    "Replace('up.lib:Worker', by='Secretive')",
    "Replace('up.lib:Worker', by='ByModule')",
    "Replace('up.lib:Worker', by='WithMeta')",
    "Replace('up.lib:Worker', by='Unrelated', unrelated=True)",
    "Replace('up.lib:Config', by='Undecorated')",
    "Replace('up.lib:Config', by='OnlyMethods')",
    "Replace('up.lib:Config', by='Decorated')",
    "AddField('up.lib:Config', name='many', type='list[int]', default=[1])",
    "Replace('up.lib:Slotted', by='Roomy')",
)
OBSERVE = """
import asyncio, json, sys
import up.lib as m
with_setter = m.Worker(1)
def set_width():
    with_setter.width = 7
    return with_setter.width, with_setter.size
def entered():
    with m.context() as value:
        return value
def shown(table):
    return [callable(value) or value for value in table]
EXPRESSIONS = (
    "shown(m.TABLE.values()), list(m.TABLE)",
    "shown(m.SHORT.values()), list(m.SHORT)",
    "shown(m.EMPTY.values()), list(m.EMPTY)",
    "m.ROWS, m.FILLED, m.MADE",
    "m.LIMIT",
    "m.SIZES",
    "m.HERE, m.THERE",
    "m.CHOSEN",
    "m.plain(4)",
    "m.plain(2, b=5)",
    "m.marked()",
    "getattr(m.marked, 'mark', None)",
    "m.cached(1) is m.cached(1), m.cached(1)",
    "entered()",
    "asyncio.run(m.later())",
    "list(m.counting())",
    "m.joined('a')",
    "m.deep(2)",
    "m.added(2)",
    "m.NEW",
    "m.caller()",
    "m.Worker.SCALE",
    "m.Worker(2).run(3)",
    "m.Worker(2).greet()",
    "m.Worker(2).inherited()",
    "m.Base().greet()",
    "m.Base().inherited()",
    "m.Worker(2).width",
    "set_width()",
    "m.Worker.fixed(1), m.Worker(1).fixed(2)",
    "vars(m.Worker.made(4))",
    "m.Worker.made(4)[0].size",
    "(lambda w: (w.kept, w.kept is w.kept))(m.Worker(5))",
    "m.Worker(1).secret()",
    "m.Worker(1).reveal()",
    "m.Worker.Inner().depth()",
    "m.Worker(3).extra()",
    "m.Worker.still(1)",
    "m.Worker.WORDS",
    "m.Worker.NEW",
    "asyncio.run(m.Worker(1).awaited())",
    "m.Worker(1).more",
    "type(m.Worker).__name__",
    "repr(m.Config())[-60:].partition('(')[2]",
    "m.Config().shown()",
    "m.Config(2, 'b').shown()",
    "m.Config(many=[2]).many",
    "m.Config().more",
    "m.Slotted().get()",
    "len({id(m.Config().many), id(m.Config().many)})",
)
seen = {}
for expression in EXPRESSIONS:
    try:
        seen[expression] = repr(eval(expression))
    except Exception as error:
        seen[expression] = type(error).__name__
print(json.dumps(seen))
"""


@pytest.fixture
def tree(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source tree of upstream, beside the packs."""
    no_own_packs(monkeypatch)
    monkeypatch.chdir(world.folder)
    write_tree(world.folder)
    return world.folder


def write_tree(folder: Path) -> None:
    """Write the package `up` as it is released."""
    package = folder / "up"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("")
    (package / "_version.py").write_text("__version__ = '1.0'\n")
    (package / "lib.py").write_text(UPSTREAM)
    (package / "other.py").write_text(OTHER)


def sample(random: Random) -> list[str]:
    """Draw changes of different targets, those of a class before those of its members."""
    chosen: dict[str, str] = {}
    # Another class has none of the members that further changes name.
    related = [change for change in CHANGES if "unrelated" not in change]
    for change in random.sample(related, random.randint(1, 12)):
        target = change.split("'")[1]
        chosen.setdefault(target, change)
    # An Edit of what another change replaces is refused.
    for target in list(chosen):
        for part in list(chosen):
            if part.startswith(f"{target}.") and chosen[part].startswith("Edit"):
                del chosen[part]
    return [chosen[target] for target in sorted(chosen)]


def target_of(change: str) -> str:
    """Return the target that a change names."""
    return change.split("'")[1]


def export(capsys: pytest.CaptureFixture[str], folder: Path) -> tuple[int, str, str]:
    """Run `export` of the pack on the tree."""
    capsys.readouterr()
    code = main(["export", "--patches", "pack", "--path", str(folder)])
    return code, *capsys.readouterr()


def write_rows(world: World, changes: list[str], first_row: int) -> None:
    """Write a pack of two rows, the first with so many of the changes."""
    rows: list[str] = []
    for name, part in (("one", changes[:first_row]), ("two", changes[first_row:])):
        if part:
            rows.append(row(name, "patch_lib", *part))
    world.pack(*rows, patch_lib=BODY)


def assert_same_behaviour(
    changes: list[str],
    tree: Path,
    world: World,
    capsys: pytest.CaptureFixture[str],
    first_row: int = 1,
) -> None:
    """Assert that the diff makes of the tree what the rows make of it, without what is left out."""
    write_rows(world, changes, first_row)
    code, diff, errors = export(capsys, tree)
    left_out = set(re.findall(r": (\S+) is (?:not )?in the diff", errors))
    assert code == bool(left_out), errors
    kept = [change for change in changes if target_of(change) not in left_out]
    assert bool(diff) == bool(kept), errors
    apart = tree / "apart"
    write_tree(apart)
    if diff:
        command = ["git", "apply", "-"]
        subprocess.run(command, cwd=apart, input=diff.encode(), check=True, timeout=30)
    command = [sys.executable, "-c", OBSERVE]
    done = subprocess.run(
        command, cwd=apart, capture_output=True, check=True, timeout=30
    )
    exported = json.loads(done.stdout)
    if not kept:
        kept = ["Add('up.lib:nobody_has_it', by='FACTOR')"]
    first_kept = [change for change in changes[:first_row] if change in kept]
    write_rows(world, kept, len(first_kept))
    patched = world.answer(f"import patchkit.auto\n{OBSERVE}")
    assert exported == patched, f"{kept}\n{diff}\n{errors}"


@pytest.mark.processes
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_alone(
    change: str, tree: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each change has the same effect in a diff, or is left out with a reason."""
    assert_same_behaviour([change], tree, world, capsys)


@pytest.mark.processes
@pytest.mark.parametrize("seed", range(12))
def test_changes_together(
    seed: int, tree: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Changes of one row and of two have the same effect in a diff, or are left out."""
    random = Random(seed)
    changes = sample(random)
    first_row = random.randint(0, len(changes))
    assert_same_behaviour(changes, tree, world, capsys, first_row)
