"""The law: an edit that changes what a target does is seen, any other is not."""

from __future__ import annotations

import ast
import subprocess
import textwrap
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.upstream.memory import Memory
from patchkit.analysis.upstream import fingerprint
from patchkit.analysis.upstream.reading.files import parse
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

STANDARD = ("textwrap", "queue", "sched", "shlex", "string", "fnmatch", "cmd")


# --- the law: an edit that changes what a target does is seen, any other is not


def _source(name: str) -> str:
    module = __import__(name)
    return Path(module.__file__).read_text()


def _targets(tree: ast.Module) -> list[str]:
    found = []
    for one in tree.body:
        if isinstance(one, (ast.FunctionDef, ast.ClassDef)):
            found.append(one.name)
            found += [
                f"{one.name}.{inner.name}"
                for inner in getattr(one, "body", ())
                if isinstance(one, ast.ClassDef) and isinstance(inner, ast.FunctionDef)
            ]
    return list(dict.fromkeys(found))


@lru_cache(maxsize=len(STANDARD))
def _original(name: str) -> dict[str, str | None]:
    return _prints(_source(name), _targets(ast.parse(_source(name))))


def _prints(source: str, targets: list[str]) -> dict[str, str | None]:
    resolver = Resolver(Memory({"up.": source}))
    return {
        one: fingerprint.of_resolution(resolver.resolve(Target("up", one)))
        for one in targets
    }


def _spaced(source: str, chance: random.Random) -> str:
    """Comments and blank lines anywhere between statements."""
    tree = ast.parse(source)
    starts = {
        one.lineno - len(getattr(one, "decorator_list", ())): one.col_offset
        for one in ast.walk(tree)
        if isinstance(one, ast.stmt)
    }
    single = {at for at in starts if sum(one == at for one in starts) == 1}
    lines = source.splitlines()
    alone = [
        at
        for at in sorted(single)
        if lines[at - 1][: starts[at]].strip() == ""
        and lines[at - 1].strip()
        and not lines[at - 1].lstrip().startswith(("else", "elif", "except", "finally"))
    ]
    for at in sorted(chance.sample(alone, min(5, len(alone))), reverse=True):
        if lines[at - 2].rstrip().endswith("\\") if at > 1 else False:
            continue
        lines.insert(at - 1, " " * starts[at] + "# a remark\n")
    return "\n".join(lines)


def _reformatted(source: str, _: random.Random) -> str:
    """Everything as Python itself writes it: quotes, brackets, blank lines, docstrings."""
    return ast.unparse(ast.parse(source))


def _reordered(source: str, chance: random.Random) -> str:
    """Functions of the module in another order, behind all other statements."""
    tree = ast.parse(source)
    names = [one.name for one in tree.body if isinstance(one, ast.FunctionDef)]
    loose = [
        one
        for one in tree.body
        if isinstance(one, ast.FunctionDef) and not one.decorator_list
        if names.count(one.name) == 1
    ]
    fixed = [one for one in tree.body if one not in loose]
    chance.shuffle(loose)
    return ast.unparse(ast.Module([*loose, *fixed], []))


def _documented(source: str, _: random.Random) -> str:
    """Other docstrings, annotated parameters."""
    tree = ast.parse(source)
    for one in ast.walk(tree):
        if isinstance(one, (ast.FunctionDef, ast.ClassDef)):
            one.body.insert(0, ast.Expr(ast.Constant("Another text.")))
        if isinstance(one, ast.FunctionDef):
            one.returns = ast.Name("int", ast.Load())
            for argument in one.args.args:
                argument.annotation = ast.Name("str", ast.Load())
    return ast.unparse(ast.fix_missing_locations(tree))


HARMLESS: dict[str, Callable[[str, random.Random], str]] = {
    "spaced": _spaced,
    "reformatted": _reformatted,
    "reordered": _reordered,
    "documented": _documented,
}


@given(
    st.sampled_from(STANDARD),
    st.sampled_from(sorted(HARMLESS)),
    st.randoms(use_true_random=False),
)
@settings(max_examples=20, deadline=None)
def test_an_edit_that_changes_nothing_is_no_drift(
    name: str, edit: str, chance: random.Random
) -> None:
    """Comments, layout, order and documentation leave every fingerprint of a module."""
    source = _source(name)
    targets = _targets(ast.parse(source))
    assert _prints(HARMLESS[edit](source, chance), targets) == _original(name)


class _Change(ast.NodeTransformer):
    """Changes one place of a tree.

    Args:
        at: which of the places that can be changed, counted in order.
    """

    def __init__(self, at: int) -> None:
        self.left = at
        self.done = ""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        changed = super().generic_visit(node)
        if self.done or not _can_change(changed):
            return changed
        self.left -= 1
        if self.left < 0:
            self.done = type(changed).__name__
            return _changed(changed)
        return changed


def _can_change(node: ast.AST) -> bool:
    if isinstance(node, ast.arguments):
        return bool(node.defaults)
    return isinstance(
        node, (ast.BinOp, ast.Compare, ast.BoolOp, ast.Return, ast.Call, ast.Name)
    )


def _changed(node: ast.AST) -> Any:
    if isinstance(node, ast.arguments):
        node.defaults[0] = ast.Constant("another default")
    elif isinstance(node, ast.BinOp):
        node.op = ast.Mult() if not isinstance(node.op, ast.Mult) else ast.Sub()
    elif isinstance(node, ast.Compare):
        node.ops[0] = (
            ast.NotEq() if not isinstance(node.ops[0], ast.NotEq) else ast.Eq()
        )
    elif isinstance(node, ast.BoolOp):
        node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
    elif isinstance(node, ast.Return):
        node.value = ast.Tuple(
            [node.value or ast.Constant(None), ast.Constant(7)], ast.Load()
        )
    elif isinstance(node, ast.Call):
        node.args = [*node.args, ast.Constant("one more")]
    elif isinstance(node, ast.Name):
        node.id = f"{node.id}_renamed"
    return node


@given(
    st.sampled_from(STANDARD), st.integers(0, 10_000), st.randoms(use_true_random=False)
)
@settings(max_examples=40, deadline=None)
def test_an_edit_that_changes_something_is_seen(
    name: str, place: int, chance: random.Random
) -> None:
    """A changed default, operator, call, name or result is drift of that target, of no other."""
    source = _source(name)
    tree = ast.parse(source)
    mine, edited = chance.choice(_functions(tree))
    targets = _targets(tree)
    change = _Change(place % 25)
    for at, statement in enumerate(edited.body):
        edited.body[at] = change.visit(statement)
    if not change.done:
        change.left = 0
        change.visit(edited.args)
    before = _original(name)
    after = _prints(ast.unparse(ast.fix_missing_locations(tree)), targets)
    around = {mine, mine.rpartition(".")[0]}
    differ = {one for one in targets if before[one] != after[one]}
    assert differ <= around
    assert (mine in differ) is bool(change.done)


def _functions(tree: ast.Module) -> list[tuple[str, ast.FunctionDef]]:
    """Functions and methods whose qualname is theirs alone."""
    found = [(one.name, one) for one in tree.body if isinstance(one, ast.FunctionDef)]
    found += [
        (f"{one.name}.{inner.name}", inner)
        for one in tree.body
        if isinstance(one, ast.ClassDef)
        for inner in one.body
        if isinstance(inner, ast.FunctionDef)
    ]
    names = [name for name, _ in found]
    return [(name, one) for name, one in found if names.count(name) == 1]


@given(st.sampled_from(STANDARD), st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None)
def test_a_target_that_is_renamed_or_moved_is_absent(
    name: str, chance: random.Random
) -> None:
    """Its old place is absent; the new one has the same source, its name aside."""
    tree = ast.parse(_source(name))
    choice = chance.choice(
        [one for one in tree.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))]
    )
    old = choice.name
    if sum(getattr(one, "name", "") == old for one in tree.body) > 1:
        return
    before = fingerprint.of_nodes([choice], named=False)
    choice.name = "renamed_here"
    moved = Resolver(Memory({"up.": ast.unparse(tree)}))
    found = moved.resolve(Target("up", "renamed_here"))
    assert moved.resolve(Target("up", old)).state != "present"
    assert fingerprint.of_nodes(found.nodes, named=False) == before


@pytest.mark.processes
def test_other_pythons_agree(tmp_path: Path) -> None:
    """Every other Python of this machine that can run patchkit hashes whole modules alike."""
    script = textwrap.dedent(
        """
        import sys
        sys.path.insert(0, sys.argv[1])
        from patchkit.analysis.upstream.fingerprint import of_nodes
        from patchkit.analysis.upstream.reading.files import parse
        for path in sys.argv[2:]:
            with open(path, 'rb') as file:
                print(of_nodes([parse(file.read())[0]]))
        """
    )
    paths = [str(Path(__import__(name).__file__)) for name in STANDARD]
    ours = [fingerprint.of_nodes([parse(Path(path).read_bytes())[0]]) for path in paths]
    root = str(Path(fingerprint.__file__).parents[3])
    for version in ("3.10", "3.11", "3.12", "3.13"):
        try:
            done = subprocess.run(
                [f"python{version}", "-c", script, root, *paths],
                capture_output=True,
                text=True,
                check=False,
                cwd=tmp_path,
                timeout=30,
            )
        except FileNotFoundError:
            continue
        if done.returncode == 0:
            assert done.stdout.split() == ours, version
