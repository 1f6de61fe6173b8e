"""Rewrites functions of a pile that call the original that they replace as bodies of a Wrap.

`def step(self, x): return original_step(self, x)` becomes a function of
`(wrapped, self, args, kwargs)` that calls `wrapped(x)`.
"""

import ast
import copy
from collections.abc import Iterable, Iterator, Sequence
from textwrap import indent

from patchkit.analysis.upstream.reading.files import parse
from patchkit.analysis.upstream.resolving.syntax import DEFS, Def, dotted
from patchkit.analysis.uses.scopes import stored
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.placements import Placement
from patchkit.authoring.scaffold.source_edits import TextChange, offset
from patchkit.authoring.source.definitions import names_in
from patchkit.authoring.source.text_changes import applied, span

_PLAIN = (ast.Constant, ast.UnaryOp)
"""Defaults that are the same whenever they are evaluated; a name may be set anew in between."""


def wrapper(
    reader: PileReader, source: bytes, placement: Placement, *, is_method: bool
) -> Iterator[TextChange]:
    """Yield the change of a module's text that turns a replacement function into a wrapper.

    Args:
        reader: The reader of the module.
        source: The text of the module.
        placement: The placement by which the function replaces its original.
        is_method: Whether the original is a method.

    Yields:
        One change; none where the function cannot be a wrapper.

    Raises:
        SyntaxError: The function's header and its body are on one line.
    """
    function = _function_of(reader, placement)
    # Unless it is plain, the placement replaces the original only under a condition.
    if function is None or not placement.is_plain:
        return
    dotted_names = [*placement.dotted_names]
    names_of_original = [
        name
        for name, original in reader.saved.items()
        if [original.dotted_name] == dotted_names
    ]
    # What a wrapper calls as `wrapped` is one original, which the module saves under one name.
    if len(names_of_original) != 1:
        return
    (name,) = names_of_original
    owner = ""  # the name of its `self`
    if is_method:
        # In `def m(*args)`, `args` has `self`, and that of a wrapper has not.
        if not function.args.args or function.args.posonlyargs:
            return
        owner = function.args.args[0].arg
    calls = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and dotted(node.func) == name
    ]
    if not calls:  # it replaces the original, and does not wrap it
        return
    # `wrapped` is bound to `self`: a call with another instance is not possible.
    if is_method and not _pass_owner(calls, owner):
        return
    is_private = _are_private(reader, function, name, len(calls))
    if not is_private or _clashes(function, name, owner):
        return
    inner_changes: list[TextChange] = []
    for call in calls:
        inner_changes += _call_changes(source, call, owner)
    start, end = span(source, function)
    text = _wrapper_text(source, function, inner_changes, owner)
    yield start, end, text


def _function_of(reader: PileReader, placement: Placement) -> Def | None:
    """Find the function that a placement sets.

    Returns:
        The function; None where the value is no function of the module, or where it replaces
        another original, too.
    """
    name = dotted(placement.value)
    dotted_names = [*placement.dotted_names]
    for other in reader.placements:
        has_other_target = [*other.dotted_names] != dotted_names
        if has_other_target and dotted(other.value) == name:
            return None
    functions = {
        node.name: node for node in reader.module.tree.body if isinstance(node, DEFS)
    }
    return functions.get(name)


def _pass_owner(calls: Iterable[ast.Call], owner: str) -> bool:
    """Return whether each call of an original method passes `self` as its first argument.

    Args:
        calls: The calls.
        owner: The name of the function's `self`.
    """
    for call in calls:
        first_argument = ""
        if call.args:
            first_argument = dotted(call.args[0])
        if first_argument != owner:
            return False
    return True


def _are_private(reader: PileReader, function: Def, name: str, call_count: int) -> bool:
    """Return whether a module uses a function and its original only to replace the latter.

    Other code of the module needs both as they are, and not a wrapper.

    Args:
        reader: The reader of the module.
        function: The function.
        name: The name under which the module saves the original.
        call_count: How often the function calls the original.
    """
    decorators = []
    for node in function.decorator_list:
        decorator = ast.unparse(node)
        decorators.append(decorator.removeprefix("functools."))
    # The wrapper does without `wraps(original)`; it would lose any other decorator.
    if any(decorator != f"wraps({name})" for decorator in decorators):
        return False
    tree = reader.module.tree
    assignment = 1  # `name = lib.f`
    known_uses = call_count + len(decorators) + assignment
    if _count_uses(tree, name) != known_uses:
        return False
    placements = [
        placement
        for placement in reader.placements
        if dotted(placement.value) == function.name
    ]
    return _count_uses(tree, function.name) == len(placements)


def _count_uses(tree: ast.AST, name: str) -> int:
    """Count how often code reads or binds a name."""
    uses = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name
    ]
    return len(uses)


def _clashes(function: Def, name: str, owner: str) -> bool:
    """Return whether a function would behave differently if it was rewritten as a wrapper.

    Args:
        function: The function.
        name: The name of the original that it calls.
        owner: The name of its `self`; '' where it is no method.
    """
    parameters = {
        node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)
    }
    bound_names = [node.arg for node in ast.walk(function) if isinstance(node, ast.arg)]
    bound_names += stored(function)
    owner_count = 0
    if owner:  # a method binds `self` once, as its parameter
        owner_count = 1
    # The function binds the name of the original, or `self`, to something else.
    if name in bound_names or bound_names.count(owner) > owner_count:
        return True
    # The wrapper has names of its own, which the function may use for something else. `args` and
    # `kwargs` may be the function's own parameters, as in `def f(*args, **kwargs)`, but not the
    # name of its `self`.
    new_names = {"wrapped", "call"}
    for name_of_wrapper in ("args", "kwargs"):
        if name_of_wrapper not in parameters or name_of_wrapper == owner:
            new_names.add(name_of_wrapper)
    used_names = names_in(function).union(bound_names)
    if new_names & used_names:
        return True
    return _has_long_texts(function) or _makes_defaults(function)


def _has_long_texts(function: Def) -> bool:
    """Return whether a function has a string of several lines, which indenting would change."""
    texts = [
        node
        for node in ast.walk(function)
        if isinstance(node, (ast.Constant, ast.JoinedStr))
        and node.lineno != node.end_lineno
    ]
    docstring_count = 0
    if ast.get_docstring(function) is not None:
        docstring_count = 1
    return len(texts) > docstring_count


def _makes_defaults(function: Def) -> bool:
    """Return whether a default, such as `[]`, would be made anew in each call of the wrapper."""
    defaults = (*function.args.defaults, *function.args.kw_defaults)
    return not all(
        default is None or isinstance(default, _PLAIN) for default in defaults
    )


def _call_changes(source: bytes, call: ast.Call, owner: str) -> Iterator[TextChange]:
    """Yield the changes that turn a call `original(self, x)` into `wrapped(x)`.

    Args:
        source: The text of the module.
        call: The call.
        owner: The name of `self`, which `wrapped` is bound to; '' where there is none.
    """
    start, end = span(source, call.func)
    yield start, end, "wrapped"
    if owner:
        start, end = span(source, call.args[0])
        other_arguments = (*call.args[1:], *call.keywords)
        other_starts = [span(source, argument)[0] for argument in other_arguments]
        # Up to the second argument, with the comma.
        end = min(other_starts, default=end)
        yield start, end, ""


def _wrapper_text(
    source: bytes, function: Def, changes: Iterable[TextChange], owner: str
) -> str:
    """Return the text of a function as a wrapper, `def f(wrapped, self, args, kwargs)`.

    If the function has parameters other than `*args, **kwargs`, it becomes an inner function `call`
    with these parameters, and the wrapper returns `call(*args, **kwargs)`.

    Args:
        source: The text of the module.
        function: The function.
        changes: The changes of its calls of the original.
        owner: The name of its `self`; '' where it is no method.

    Raises:
        SyntaxError: Its header and its body are on one line.
    """
    lines = _changed_lines(source, function, changes)
    body_lines = lines[_header_length(lines) :]
    parameters = copy.deepcopy(function.args)
    if owner:  # the wrapper has it as a parameter of its own
        del parameters.args[0]
    catch_alls = [node.arg for node in (parameters.vararg, parameters.kwarg) if node]
    plain_parameters = parameters.posonlyargs + parameters.args + parameters.kwonlyargs
    takes_anything = len(catch_alls) == 2 and not plain_parameters  # `*args, **kwargs`
    names = ["args", "kwargs"]
    if takes_anything:
        names = catch_alls
    header_parameters = ", ".join(["wrapped", owner or "_instance", *names])
    header = f"def {function.name}({header_parameters}):"
    is_async = isinstance(function, ast.AsyncFunctionDef)
    if takes_anything and not is_async:  # it needs no inner function
        return "\n".join([header, *body_lines])
    before_def = lines[0].partition("def")[0]  # `async `, or ''
    inner_parameters = ast.unparse(parameters)
    inner_header = f"{before_def}def call({inner_parameters}):"
    inner = indent("\n".join([inner_header, *body_lines]), "    ")
    return f"{header}\n{inner}\n\n    return call(*args, **kwargs)"


def _changed_lines(
    source: bytes, function: Def, changes: Iterable[TextChange]
) -> list[str]:
    """Return the lines of a function with changes of the module's text made, without decorators."""
    # From the `def` on: the decorator `wraps(original)` is dropped.
    start = offset(source, function.lineno, column=0)
    _, end = span(source, function)
    # The changes count from the start of the module; here, they have to from that of the function.
    shifted_changes = [
        (first - start, last - start, new) for first, last, new in changes
    ]
    text = applied(source[start:end], shifted_changes).decode()
    return text.split("\n")


def _header_length(lines: Sequence[str]) -> int:
    """Count the lines of a function before its body: decorators, and `def` with parameters.

    Raises:
        SyntaxError: The header and the body are on one line.
    """
    for length in range(1, len(lines)):
        with_empty_body = "\n".join([*lines[:length], "    pass", ""])
        _tree, fault = parse(with_empty_body.encode())
        if not fault:
            return length
    raise SyntaxError("its header shares a line with its body")
