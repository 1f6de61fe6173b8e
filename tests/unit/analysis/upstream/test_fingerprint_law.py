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
    """The source of a standard module."""
    module = __import__(name)
    return Path(module.__file__).read_text()


def _targets(tree: ast.Module) -> list[str]:
    """The qualnames of a module's functions and classes, and of the methods of the latter."""
    qualnames: list[str] = []
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            qualnames.append(statement.name)
        elif isinstance(statement, ast.ClassDef):
            qualnames.append(statement.name)
            methods = [
                member
                for member in statement.body
                if isinstance(member, ast.FunctionDef)
            ]
            qualnames += [f"{statement.name}.{method.name}" for method in methods]
    return list(dict.fromkeys(qualnames))


@lru_cache(maxsize=len(STANDARD))
def _original(name: str) -> dict[str, str | None]:
    """The fingerprints of a standard module that is not edited, by target."""
    return _fingerprints(_source(name), _targets(ast.parse(_source(name))))


def _fingerprints(source: str, targets: list[str]) -> dict[str, str | None]:
    """The fingerprint of each target in a source."""
    resolver = Resolver(Memory({"up.": source}))
    return {
        qualname: fingerprint.of_resolution(resolver.resolve(Target("up", qualname)))
        for qualname in targets
    }


def _spaced(source: str, chance: random.Random) -> str:
    """Comments and blank lines anywhere between statements."""
    columns: dict[int, int] = {}  # of the statement that begins on a line
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt):
            decorators = getattr(node, "decorator_list", ())
            columns[node.lineno - len(decorators)] = node.col_offset
    lines = source.splitlines()
    places = [
        number
        for number in sorted(columns)
        if _may_follow_a_remark(lines[number - 1], columns[number])
    ]
    chosen = chance.sample(places, min(5, len(places)))
    for number in sorted(chosen, reverse=True):
        is_continued = number > 1 and lines[number - 2].rstrip().endswith("\\")
        if not is_continued:
            lines.insert(number - 1, " " * columns[number] + "# a remark\n")
    return "\n".join(lines)


def _may_follow_a_remark(line: str, column: int) -> bool:
    """Whether a line begins with the statement at this column, and with no branch of another."""
    is_branch = line.lstrip().startswith(("else", "elif", "except", "finally"))
    return not line[:column].strip() and bool(line.strip()) and not is_branch


def _reformatted(source: str, _: random.Random) -> str:
    """Everything as Python itself writes it: quotes, brackets, blank lines, docstrings."""
    return ast.unparse(ast.parse(source))


def _reordered(source: str, chance: random.Random) -> str:
    """Functions of the module in another order, before all other statements."""
    tree = ast.parse(source)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    names = [function.name for function in functions]
    movable = [
        function
        for function in functions
        if not function.decorator_list and names.count(function.name) == 1
    ]
    fixed = [statement for statement in tree.body if statement not in movable]
    chance.shuffle(movable)
    return ast.unparse(ast.Module([*movable, *fixed], []))


def _documented(source: str, _: random.Random) -> str:
    """Other docstrings, annotated parameters."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            node.body.insert(0, ast.Expr(ast.Constant("Another text.")))
        if isinstance(node, ast.FunctionDef):
            node.returns = ast.Name("int", ast.Load())
            for argument in node.args.args:
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
    """Editing comments, layout, order or documentation of a module changes no fingerprint."""
    source = _source(name)
    targets = _targets(ast.parse(source))
    assert _fingerprints(HARMLESS[edit](source, chance), targets) == _original(name)


class _Change(ast.NodeTransformer):
    """Changes one place of a tree.

    Args:
        place: which of the places that can be changed, counted in order.
    """

    def __init__(self, place: int) -> None:
        self.places_before = place
        self.is_done = False

    def generic_visit(self, node: ast.AST) -> ast.AST:
        changed = super().generic_visit(node)
        if self.is_done or not _can_change(changed):
            return changed
        self.places_before -= 1
        if self.places_before < 0:
            self.is_done = True
            return _changed(changed)
        return changed


def _can_change(node: ast.AST) -> bool:
    """Whether `_changed` knows a change of a node."""
    if isinstance(node, ast.arguments):
        return bool(node.defaults)
    return isinstance(
        node, (ast.BinOp, ast.Compare, ast.BoolOp, ast.Return, ast.Call, ast.Name)
    )


def _changed(node: ast.AST) -> Any:
    """The node, with another default, operator, result, argument or name."""
    if isinstance(node, ast.arguments):
        node.defaults[0] = ast.Constant("another default")
    elif isinstance(node, ast.BinOp):
        node.op = ast.Sub() if isinstance(node.op, ast.Mult) else ast.Mult()
    elif isinstance(node, ast.Compare):
        is_inequality = isinstance(node.ops[0], ast.NotEq)
        node.ops[0] = ast.Eq() if is_inequality else ast.NotEq()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
    elif isinstance(node, ast.Return):
        value = node.value or ast.Constant(None)
        node.value = ast.Tuple([value, ast.Constant(7)], ast.Load())
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
    """Changing a default, operator, call, name or result is drift of that target and its class."""
    source = _source(name)
    tree = ast.parse(source)
    qualname, function = chance.choice(_functions(tree))
    targets = _targets(tree)
    change = _Change(place % 25)
    for index, statement in enumerate(function.body):
        function.body[index] = change.visit(statement)
    if not change.is_done:
        change.places_before = 0
        change.visit(function.args)
    before = _original(name)
    after = _fingerprints(ast.unparse(ast.fix_missing_locations(tree)), targets)
    drifted = {target for target in targets if before[target] != after[target]}
    owner = qualname.rpartition(".")[0]
    assert drifted <= {qualname, owner}
    assert (qualname in drifted) is change.is_done


def _functions(tree: ast.Module) -> list[tuple[str, ast.FunctionDef]]:
    """Functions and methods whose qualname is theirs alone."""
    functions = [
        (node.name, node) for node in tree.body if isinstance(node, ast.FunctionDef)
    ]
    for owner in tree.body:
        if isinstance(owner, ast.ClassDef):
            methods = [node for node in owner.body if isinstance(node, ast.FunctionDef)]
            functions += [(f"{owner.name}.{node.name}", node) for node in methods]
    qualnames = [qualname for qualname, _ in functions]
    return [pair for pair in functions if qualnames.count(pair[0]) == 1]


@given(st.sampled_from(STANDARD), st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None)
def test_a_renamed_target_is_no_longer_present_under_its_old_name(
    name: str, chance: random.Random
) -> None:
    """The old name is no longer present; the new one has the same fingerprint, its name aside."""
    tree = ast.parse(_source(name))
    definitions = [
        node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    ]
    definition = chance.choice(definitions)
    old_name = definition.name
    names = [getattr(statement, "name", "") for statement in tree.body]
    if names.count(old_name) > 1:
        return
    before = fingerprint.of_nodes([definition], named=False)
    definition.name = "renamed_here"
    resolver = Resolver(Memory({"up.": ast.unparse(tree)}))
    renamed = resolver.resolve(Target("up", "renamed_here"))
    assert resolver.resolve(Target("up", old_name)).state != "present"
    assert fingerprint.of_nodes(renamed.nodes, named=False) == before


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
            completed = subprocess.run(
                [f"python{version}", "-c", script, root, *paths],
                capture_output=True,
                text=True,
                check=False,
                cwd=tmp_path,
                timeout=30,
            )
        except FileNotFoundError:
            continue
        if completed.returncode == 0:
            assert completed.stdout.split() == ours, version
