"""Finds classes that an entry of a registry names in the pack, and that are not there.

A registry such as vLLM's holds texts, `"my_pack.llama:MyLlama"` or the module and the class apart,
and imports the class late: a slip is an error of the first request.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from patchkit.analysis.check.packs import PackSource
from patchkit.core.rows.declaration import Add, Replace, Row
from patchkit.core.rows.target import Target
from patchkit.errors import near


class MissingClass(NamedTuple):
    """What an entry names, and the pack does not have.

    Args:
        by: The name of the entry in the body.
        message: What was found and what was expected.
    """

    by: str
    message: str


def missing_classes(row: Row, pack: PackSource) -> Iterator[MissingClass]:
    """Find what entries of a row name in the row's own package, and is not there.

    Args:
        row: The row.
        pack: Its pack.

    Yields:
        Each once; none for an entry that is not written as a value in the body.
    """
    entries = {
        change.by for change in row.patch.changes if isinstance(change, (Replace, Add))
    }
    file = pack.bodies.get(row.patch.body or "")
    if file is None or not entries:
        return
    for name, value in _assigned(file.read_text("utf-8")):
        if name not in entries:
            continue
        texts = list(_texts(value))
        for message in dict.fromkeys(_missing(texts, pack)):
            yield MissingClass(name, message)


def _assigned(text: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a module gives to values, with the values."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return  # another rule tells of it
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield target.id, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            name = ast.unparse(statement.target)
            yield name, statement.value


def _texts(node: ast.AST) -> Iterator[str]:
    """Yield the texts in a value; not the keys of dicts, which name nothing."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    children: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Dict):
        children = list(node.values)
    for child in children:
        yield from _texts(child)


def _missing(texts: list[str], pack: PackSource) -> Iterator[str]:
    """Say what texts of an entry name in the pack's package, and is not there."""
    package = pack.name.partition(".")[0]
    for text in texts:
        dotted = text.replace(":", ".")
        if not dotted.startswith(f"{package}.") or not _is_dotted(dotted):
            continue
        if pack.as_release.state(Target(dotted)) == "present":
            # A module: the class is in another text, which is one word.
            words = [other for other in texts if other.isidentifier()]
            if len(words) == 1:
                yield from _absence(dotted, words[0], pack)
            continue
        module, _, name = dotted.rpartition(".")
        if pack.as_release.state(Target(module)) == "present":
            yield from _absence(module, name, pack)
        else:
            yield f"{text!r} names {module}, and there is no such module"


def _is_dotted(text: str) -> bool:
    """Whether a text consists of names with dots between them."""
    return all(word.isidentifier() for word in text.split("."))


def _absence(module: str, name: str, pack: PackSource) -> Iterator[str]:
    """Say that a module of the pack has no such name, if that is sure."""
    if pack.as_release.state(Target(module, name)) != "absent":
        return
    path = pack.as_release.facts(Target(module)).path
    yield f"{module} has no {name}{_question(pack, path, name)}"


def _question(pack: PackSource, path: str, name: str) -> str:
    """Ask whether a class or function in a file of the pack was meant; '' if none is similar."""
    try:
        tree = ast.parse((pack.root / path).read_text("utf-8"))
    except (OSError, SyntaxError, ValueError):
        return ""
    definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    names = [node.name for node in tree.body if isinstance(node, definitions)]
    return near(name, names)
