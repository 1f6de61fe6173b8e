"""Lets functions that move into a body read names of their old module where they are.

`from up.lib import provider` in a body binds what the name stood for as the body was loaded. A
function of `up.lib` itself reads what the module has whenever it is called, also after another
function has set the name with `global provider`. In the body, it reads `lib_module.provider`.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator

from patchkit.analysis.upstream.resolving.syntax import DEFS, SCOPES, dotted
from patchkit.authoring.scaffold.source_edits import TextChange, rewritten, span
from patchkit.authoring.source.definitions import (
    IMPORTS,
    Definitions,
    is_for_types,
    names_in,
)
from patchkit.authoring.source.loops import made_in

_OBJECTS = (ast.Dict, ast.List, ast.Set, ast.Lambda)
"""Values of which each is an object of its own, whose copies patchkit finds and repoints."""
_MAKERS = re.compile(r"[A-Z_]*[A-Z]\w*|\w*logger|\w*Logger|compile")
"""Matches the names of what makes such an object when it is called: of classes, mostly."""
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def rebindable_names(module: Definitions) -> set[str]:
    """Return the names of a module whose objects may be others later.

    A name that `def`, `class`, an import or one plain assignment of an object binds is none of
    them: patchkit finds copies of the object, and repoints them. A copy of a number or of None
    cannot be told from others.

    Args:
        module: The module.
    """
    names = names_set_as_global(module)
    for name, statements in module.binders.items():
        is_of_class = "." in name
        if not name or is_of_class:
            continue
        at_run_time = [node for node in statements if not is_for_types(node)]
        is_one_object = len(at_run_time) == 1 and _binds_object(at_run_time[0])
        are_definitions = all(map(_is_definition, at_run_time))
        if not is_one_object and not are_definitions:
            names.add(name)
    return names


def _binds_object(node: ast.stmt) -> bool:
    """Whether an assignment sets an object that patchkit finds wherever a copy of it is."""
    value = getattr(node, "value", None)
    if isinstance(value, ast.Call):
        maker = dotted(value.func).rpartition(".")[2]
        return _MAKERS.fullmatch(maker) is not None
    return isinstance(value, (*_OBJECTS, *_COMPREHENSIONS))


def _is_definition(node: ast.stmt) -> bool:
    """Whether a statement is a definition or an import, and under no condition."""
    return isinstance(node, (*SCOPES, *IMPORTS))


def names_set_as_global(module: Definitions) -> set[str]:
    """Return the names that functions of a module set with `global`.

    Args:
        module: The module.
    """
    names: set[str] = set()
    for node in ast.walk(module.tree.tree):
        if isinstance(node, ast.Global):
            names.update(node.names)
    return names


def name_for_module(module: Definitions) -> str:
    """Return a name for a module that means nothing else in its own text.

    Args:
        module: The module.
    """
    last_part = module.tree.name.rpartition(".")[2]
    name = f"{last_part}_module"
    text = module.tree.source.decode(errors="replace")
    while name in text:
        name += "_"
    return name


def reading_at_calls(text: str, names: Collection[str], module: str) -> str:
    """Return a definition whose functions read names as attributes of a module, at each call.

    What runs as the definition is made, such as the default of a parameter, is left as it is.

    Args:
        text: The definition, as it stands in a body.
        names: The names.
        module: The name of the module in the body.
    """
    tree = ast.parse(text)
    if not list(_reads(tree, names)):
        return text
    # What the changed text has to mean, without its layout and comments.
    transformer = _Attributes(names, module)
    changed_tree = transformer.visit(tree)
    expected = ast.unparse(changed_tree)

    def changes(content: bytes) -> Iterator[TextChange]:
        original = ast.parse(content)
        for node in _reads(original, names):
            start, end = span(content, node)
            attribute = f"{module}.{node.id}"
            yield start, end, attribute

    content = text.encode()
    changed_content = rewritten(content, changes)
    result = changed_content.decode(errors="replace")
    # Before Python 3.12, the parser does not tell where exactly a name in an f-string is.
    if _is_code(result, expected):
        return result
    return expected


def _is_code(text: str, expected: str) -> bool:
    """Whether a text is the same code as another one."""
    try:
        return ast.unparse(ast.parse(text)) == expected
    except SyntaxError:
        return False


class _Attributes(ast.NodeTransformer):
    """Turns the names that functions read from their module into attributes of it.

    Args:
        names: The names.
        module: The name of the module.
    """

    def __init__(self, names: Collection[str], module: str) -> None:
        self._names = names
        self._module = module
        self._nodes: set[ast.Name] = set()

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """Change the names in code."""
        self._nodes = set(_reads(node, self._names))
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Change a name, unless it means something else where it stands."""
        if node not in self._nodes:
            return node
        owner = ast.Name(self._module, ast.Load())
        return ast.copy_location(ast.Attribute(owner, node.id, node.ctx), node)


def _reads(tree: ast.Module, names: Collection[str]) -> Iterator[ast.Name]:
    """Yield the names that functions of code read from its module, sooner or later."""
    for statement in tree.body:
        yield from _reads_in(statement, frozenset(names), is_in_function=False)


def _reads_in(
    node: ast.AST, names: frozenset[str], *, is_in_function: bool
) -> Iterator[ast.Name]:
    """Yield the names that a part of code reads from its module when it is called.

    Args:
        node: The part.
        names: The names that mean those of the module there.
        is_in_function: Whether the part runs when a function is called.
    """
    if isinstance(node, ast.Name):
        is_read = isinstance(node.ctx, ast.Load)
        if is_in_function and is_read and node.id in names:
            yield node
        return
    if isinstance(node, (*DEFS, ast.Lambda)):
        yield from _reads_of_function(node, names, is_in_function=is_in_function)
        return
    names_of_body: frozenset[str] = frozenset()
    if isinstance(node, ast.ClassDef):
        names_of_body = names_of_body.union(made_in(node.body))
    if isinstance(node, _COMPREHENSIONS):
        for generator in node.generators:
            names = names - names_in(generator.target)  # its variables are its own
    for part in _parts_without_annotations(node):
        # What the body of a class binds hides names of the module, but not for its methods.
        is_method = isinstance(part, DEFS)
        visible_names = names if is_method else names - names_of_body
        yield from _reads_in(part, visible_names, is_in_function=is_in_function)


def _reads_of_function(
    node: _Function, names: frozenset[str], *, is_in_function: bool
) -> Iterator[ast.Name]:
    """Yield the names that a function reads from its module.

    Its header runs where the function is made, and its body at calls.

    Args:
        node: The function.
        names: The names that mean those of the module around it.
        is_in_function: Whether it is made when another function is called.
    """
    decorators = getattr(node, "decorator_list", ())
    defaults = [*node.args.defaults, *node.args.kw_defaults]
    header: list[ast.AST] = list(decorators)
    header += filter(None, defaults)
    for part in header:
        yield from _reads_in(part, names, is_in_function=is_in_function)
    body: list[ast.AST] = []
    if isinstance(node, ast.Lambda):
        body.append(node.body)
    else:
        body += node.body
    # In the body, a name that the function binds for itself is none of the module's.
    names_in_body = names - _local_names(node)
    for part in body:
        yield from _reads_in(part, names_in_body, is_in_function=True)


def _local_names(node: _Function) -> set[str]:
    """Return the names that a function binds for itself: parameters, and what its body binds."""
    local_names: set[str] = set()
    for part in ast.walk(node.args):
        if isinstance(part, ast.arg):
            local_names.add(part.arg)
    if not isinstance(node, ast.Lambda):
        local_names |= made_in(node.body)
        local_names -= _globals_of(node.body)
    return local_names


def _parts_without_annotations(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of code; annotations are text in a body, which nobody evaluates there."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        parts = value if isinstance(value, list) else [value]
        for part in parts:
            if isinstance(part, ast.AST):
                yield part


def _globals_of(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that the statements of a function declare as `global`."""
    names: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Global):
                names.update(node.names)
    return names
