"""Has a body wait for the modules that its conditions ask.

A pile is a package that patches upstream as it is imported, and imports upstream first. Its rows
are applied as soon as the module of their target has executed, maybe in the middle of the import of
`up`: then `hasattr(up, "f")` is false, and `try: from up import f` fails, though both hold later.
"""

import ast
import sys
from collections.abc import Iterator, Sequence

from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.scaffold.source_edits import TextChange
from patchkit.authoring.source.definitions import names_in
from patchkit.authoring.source.text_changes import span

_WAIT = '''\
def {name}(*modules):
    """Have patchkit load this body again once modules are whole that conditions below ask."""
    import sys

    frame = sys._getframe()
    while frame is not None:
        module = frame.f_globals.get("__name__")
        if frame.f_code.co_name == "<module>" and module in modules:
            raise ImportError(f"{{module}} is being imported", name=module)
        frame = frame.f_back


{name}({modules})

'''


def waiting(
    reader: PileReader, source: bytes, conditional: Sequence[ast.stmt], name: str
) -> list[TextChange]:
    """Write the code by which a body waits for the modules that its conditions ask.

    Args:
        reader: The reader of the module that the body is made of.
        source: The text of the module.
        conditional: The statements that become changes with a condition.
        name: The name of the function that waits.

    Returns:
        The change of the text; none if no condition asks a module of upstream.
    """
    tree = reader.module.tree
    upstream: set[str] = set()
    for placement in reader.placements:
        upstream.update(each.partition(".")[0] for each in placement.dotted_names)
    modules = _asked_modules(tree, conditional)
    texts = [f'"{each}"' for each in modules if each.partition(".")[0] in upstream]
    if not texts:
        return []
    start = 0
    for statement in tree.body:
        start, _ = span(source, statement)
        is_text = isinstance(statement, ast.Expr)
        is_future = getattr(statement, "module", "") == "__future__"
        if not is_text and not is_future:
            break
    text = _WAIT.format(name=name, modules=", ".join(texts))
    return [(start, start, text)]


def waiting_of_guard(statements: Sequence[str]) -> str:
    """Return the code by which the body of a guard waits for the modules that its test asks.

    Args:
        statements: The statements that bind the names of the test.

    Returns:
        The code; '' if none of them imports a module that is not Python's own.
    """
    modules: dict[str, None] = {}
    for statement in statements:
        for node in ast.walk(ast.parse(statement)):
            for _bound, names in _imported(node):
                modules.update(dict.fromkeys(names))
    texts = [
        f'"{name}"'
        for name in modules
        if name.partition(".")[0] not in sys.stdlib_module_names
    ]
    if not texts:
        return ""
    text = _WAIT.format(name="wait_for", modules=", ".join(texts))
    return f"{text}\n"


def _asked_modules(tree: ast.Module, conditional: Sequence[ast.stmt]) -> list[str]:
    """List the modules that conditions of statements ask, by imports in them or above them.

    Args:
        tree: The module.
        conditional: The statements.

    Returns:
        The dotted names; some may be those of functions and classes.
    """
    lines = {statement.lineno for statement in conditional}
    used: set[str] = set()
    inside: set[ast.AST] = set()
    for node in _asking(tree.body, lines):
        used |= names_in(node)
        inside.update(ast.walk(node))
    modules: dict[str, None] = {}
    for node in ast.walk(tree):
        for bound, names in _imported(node):
            if node in inside or bound in used:
                modules.update(dict.fromkeys(names))
    return list(modules)


def _asking(statements: Sequence[ast.stmt], lines: set[int]) -> Iterator[ast.AST]:
    """Yield the code that decides whether what is on some lines runs.

    Of an `if`, that is its test; a `try`, a function or a loop may be left at each of its names.

    Args:
        statements: The statements of a block.
        lines: The lines.
    """
    for statement in statements:
        end = statement.end_lineno or statement.lineno
        if lines.isdisjoint(range(statement.lineno, end + 1)):
            continue
        if isinstance(statement, ast.If):
            yield statement.test
            yield from _asking([*statement.body, *statement.orelse], lines)
        elif hasattr(statement, "body"):
            yield statement


def _imported(node: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Yield the names that an absolute import binds, each with the modules that it may stand for.

    `import a.b` binds `a`, and `a.b` is reached by it.

    Args:
        node: Any node.
    """
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.partition(".")[0]
            if alias.asname:
                yield alias.asname, [alias.name]
            else:
                yield top, list(dict.fromkeys([top, alias.name]))
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        for alias in node.names:
            names = [node.module, f"{node.module}.{alias.name}"]
            yield alias.asname or alias.name, names
