"""Finds classes that an entry of a registry names in the pack, and that are not there.

A registry such as vLLM's holds texts, `"my_pack.llama:MyLlama"` or the module and the class apart,
and imports the class late: a slip is an error of the first request.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.text_names import may_set
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


class Absence(NamedTuple):
    """A name that a module of the pack does not have.

    Args:
        name: The name.
        message: What was found and what was expected.
    """

    name: str
    message: str


Group = list[tuple[str, str]]
"""The texts in one container, each with its key, such as `("cls", "MyLlama")`.

The key is '' for the elements of a list or a tuple, whose places decide what they are.
"""

_CLASS_KEYS = ("class", "cls", "qualname", "attr")
"""Parts of keys whose values name the class of a module."""


def missing_classes(row: Row, pack: PackSource) -> Iterator[MissingClass]:
    """Find classes that entries of a row name in the row's own package, and that are not there.

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
    text = file.read_text("utf-8")
    for name, value in _assigned(text):
        if name not in entries:
            continue
        absences: list[Absence] = []
        for group in _groups(value):
            absences += _missing(group, pack)
        for absence in dict.fromkeys(absences):
            if may_set(text, absence.name):
                continue  # the body itself may put it there
            yield MissingClass(name, absence.message)


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


def _groups(node: ast.expr, key: str = "") -> Iterator[Group]:
    """Yield the texts in a value, those of one container together.

    Only texts that are values themselves: what an expression makes of others is not known.

    Args:
        node: The value: one text, or a container, which may hold others.
        key: The key that the value has in the container around it; '' for none.
    """
    parts = list(_parts(node))
    if isinstance(node, ast.Constant):  # the entry is one text, in no container
        parts = [(key, node)]
    group = [
        (name, part.value)
        for name, part in parts
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    if group:
        yield group
    for name, part in parts:
        if not isinstance(part, ast.Constant):
            yield from _groups(part, name)


def _parts(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the values in a container, or the arguments of a call, each with its key."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            # `{**others}` has no key for the others.
            yield ast.unparse(key) if key is not None else "**", value
    elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        for element in node.elts:
            yield "", element
    elif isinstance(node, ast.Call):
        for argument in node.args:
            yield "", argument
        for keyword in node.keywords:
            yield keyword.arg or "**", keyword.value


def _missing(group: Group, pack: PackSource) -> Iterator[Absence]:
    """Say which classes the texts of one container name in the pack's package, and are not there.

    A text names a class as `my_pack.llama:MyLlama` or `my_pack.llama.MyLlama`, or only its module,
    `my_pack.llama`: then another text of the container may name the class.
    """
    package = pack.name.partition(".")[0]
    for index, (_, text) in enumerate(group):
        dotted = text.replace(":", ".", 1)
        if not dotted.startswith(f"{package}.") or not _is_dotted(dotted):
            continue
        module, colon, name = text.partition(":")
        if not colon:
            if pack.as_release.state(Target(text)) == "present":
                # A module: the class is in another text.
                name = _class_beside(group, index)
            else:
                module, _, name = text.rpartition(".")
        if not name:
            continue
        if pack.as_release.state(Target(module)) == "present":
            yield from _absence(module, name, pack)
        # A text with dots may be a label; one that ends like a class is hardly that.
        elif _is_class_name(name) and not _is_in_class(module, name, pack):
            message = f"{text!r} names {module}, and there is no such module"
            yield Absence(name, message)


def _class_beside(group: Group, index: int) -> str:
    """Return the text that names the class of a module in the same container; '' if unknown.

    Args:
        group: The texts of the container.
        index: Which of them is the module.
    """
    names = [pair for pair in group if pair[1].isidentifier()]
    if len(names) != 1:
        return ""
    key, name = names[0]
    if key:  # `dict(module="my_pack.llama", cls="MyLlama")`: the key tells
        is_class = any(part in key.lower() for part in _CLASS_KEYS)
    else:  # `("my_pack.llama", "MyLlama")`: it is the text just behind the module
        following = group[index + 1 : index + 2]
        is_class = following == names
    if is_class:
        return name
    return ""


def _is_dotted(text: str) -> bool:
    """Whether a text consists of names with dots between them."""
    return all(word.isidentifier() for word in text.split("."))


def _is_class_name(name: str) -> bool:
    """Whether a name is written as classes are; else it may be anything, such as a label."""
    last = name.rpartition(".")[2]
    if last.isupper():
        return False
    return last[:1].isupper()


def _is_in_class(module: str, name: str, pack: PackSource) -> bool:
    """Whether what was taken for a module is a class in one, or may be."""
    outer, _, cls = module.rpartition(".")
    if not outer:
        return False
    member = Target(outer, f"{cls}.{name}")
    state = pack.as_release.state(member)
    return state in ("present", "undecidable")


def _absence(module: str, name: str, pack: PackSource) -> Iterator[Absence]:
    """Say that a module of the pack has no such name, if that is sure."""
    if pack.as_release.state(Target(module, name)) != "absent":
        return
    path = pack.as_release.facts(Target(module)).path
    question = _question(pack, path, name)
    # A text with dots may be a label; one that is nearly a name of the module is a slip.
    if question or _is_class_name(name):
        yield Absence(name, f"{module} has no {name}{question}")


def _question(pack: PackSource, path: str, name: str) -> str:
    """Ask whether a class or function in a file of the pack was meant; '' if none is similar."""
    try:
        tree = ast.parse((pack.root / path).read_text("utf-8"))
    except (OSError, SyntaxError, ValueError):
        return ""
    definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    names = [node.name for node in tree.body if isinstance(node, definitions)]
    return near(name, names)
