"""Helps to read syntax trees: dotted names, statements in blocks, signatures of a `def`."""

import ast
import functools
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import Parameter
from typing import Any

Def = ast.FunctionDef | ast.AsyncFunctionDef
DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*DEFS, ast.ClassDef)

NODE_KINDS: tuple[type[ast.AST], ...] = tuple(
    kind
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
)
"""All kinds of nodes that this Python's parser may make."""
_PLAIN_FIELDS = frozenset({"arg", "attr", "ctx", "id", "kind", "level", "type_comment"})
"""Fields that hold names, numbers and the like, whatever the kind of the node."""
_FIELDS_WITH_NODES = {
    kind: tuple(field for field in kind._fields if field not in _PLAIN_FIELDS)
    for kind in NODE_KINDS
}
"""Those fields of each kind of nodes that may hold nodes."""


def child_nodes(node: ast.AST) -> list[ast.AST]:
    """List the nodes directly below a node, as `ast.iter_child_nodes` does, in a third of the time.

    Args:
        node: The node.

    Returns:
        The nodes in the order of its fields, without the context of a name (`ast.Load` and the
        like), which is a field of the name itself.
    """
    found: list[ast.AST] = []
    for field in _FIELDS_WITH_NODES[type(node)]:
        value = getattr(node, field, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [element for element in value if isinstance(element, ast.AST)]
    return found


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it, in the order of `ast.walk`; see `child_nodes`.

    Args:
        node: The node.

    Yields:
        The nodes, one level of the tree after the other.
    """
    pending = deque([node])
    while pending:
        part = pending.popleft()
        yield part
        pending += child_nodes(part)


def dotted(node: ast.AST | None) -> str:
    """Write a dotted name as text.

    Args:
        node: The expression, such as the tree of `a.b.c`.

    Returns:
        "a.b.c"; '' for any other expression, and for None.
    """
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join((node.id, *reversed(attributes)))


def shortened(node: ast.expr, limit: int = 60) -> str:
    """Write an expression on one line.

    Args:
        node: The expression.
        limit: The number of characters that it may have; a longer one is cut, and ends in "…".

    Returns:
        The expression as `ast.unparse` writes it, which may differ from its source.
    """
    text = " ".join(ast.unparse(node).split())
    if len(text) > limit:
        return f"{text[: limit - 1]}…"
    return text


def argument_values(call: ast.Call) -> list[ast.expr]:
    """List the expressions that a call passes.

    Args:
        call: The call.

    Returns:
        Positional arguments first, `*args` as a starred expression, then the values of keywords.
    """
    named = [keyword.value for keyword in call.keywords]
    return [*call.args, *named]


def truth_of(
    test: ast.expr,
    truth_of_part: Callable[[ast.expr], bool | None],
) -> bool | None:
    """Decide a condition that may be made with `and`, `or` and `not`.

    Args:
        test: The condition.
        truth_of_part: Decides an operand that has none of these; returns None if it cannot.

    Returns:
        Whether the condition holds; None if its operands do not decide it.
    """
    if isinstance(test, ast.BoolOp):
        parts = [truth_of(part, truth_of_part) for part in test.values]
        # One true operand decides an `or`, one false operand an `and`.
        decisive = isinstance(test.op, ast.Or)
        if decisive in parts:
            return decisive
        if None in parts:
            return None
        return not decisive
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        operand = truth_of(test.operand, truth_of_part)
        if operand is None:
            return None
        return not operand
    return truth_of_part(test)


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """List the statements of a body, and those in its blocks such as the branches of an `if`.

    Args:
        body: The body of a module, a class or a function.

    Yields:
        Each statement before those in its blocks. Definitions are listed, their bodies are not.
    """
    for statement in body:
        yield statement
        if isinstance(statement, SCOPES):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from statements(getattr(statement, field, ()))
        for part in (
            *getattr(statement, "handlers", ()),
            *getattr(statement, "cases", ()),
        ):
            yield from statements(part.body)


def expressions(statement: ast.AST) -> Iterator[ast.AST]:
    """Walk the expressions of a statement, without those of the statements in its blocks.

    Args:
        statement: The statement; the decorators of a definition are expressions of it.

    Yields:
        Each expression and its parts.
    """
    for child in child_nodes(statement):
        if isinstance(child, (ast.expr, ast.withitem)):
            yield from walk(child)


class _Default:
    """Stands for the default of a parameter, whatever it is."""

    def __repr__(self) -> str:
        return "…"


_DEFAULT = _Default()


def parameter(name: str, kind: int, has_default: object = False) -> Parameter:
    """Return a parameter; its default is shown as "…", whatever it is.

    Args:
        name: Its name.
        kind: One of the kinds of `inspect.Parameter`.
        has_default: Anything true, such as the expression of the default, if it has one.
    """
    default: object = Parameter.empty
    if has_default:
        default = _DEFAULT
    return Parameter(name, kind, default=default)  # type: ignore[arg-type]


class Signature(inspect.Signature):
    """The parameters of a callable in order, `self` and `cls` included.

    Args:
        parameters: The parameters. Their order is not checked, as `inspect.Signature` does.
    """

    def __init__(self, parameters: Iterable[Parameter] = ()) -> None:
        # A dataclass may have inherited fields in an order that Python refuses.
        super().__init__([*parameters], __validate_parameters__=False)

    def as_data(self) -> list[tuple[str, int, bool]]:
        """Return of each parameter its name, its kind and whether it has a default, for JSON."""
        data: list[tuple[str, int, bool]] = []
        for argument in self.parameters.values():
            has_default = argument.default is not argument.empty
            data.append((argument.name, argument.kind, has_default))
        return data

    @classmethod
    def of_data(cls, data: Iterable[Sequence[Any]]) -> "Signature":
        """Return the signature that `as_data` was called on.

        Args:
            data: What `as_data` returned, before or after it was written as JSON.
        """
        return _signature(tuple(map(tuple, data)))

    def bound(self) -> "Signature":
        """Return the signature without its first positional parameter, as of a bound method.

        Returns:
            The same signature if it has no such parameter, as `(*args)`.
        """
        parameters = [*self.parameters.values()]
        # Kinds are in order: positional-only ones are less, `*args` is more.
        if parameters and parameters[0].kind <= Parameter.POSITIONAL_OR_KEYWORD:
            return Signature(parameters[1:])
        return self

    def passes_all(self) -> bool:
        """Whether these are the parameters `*args, **kwargs`, which take any call."""
        kinds = [argument.kind for argument in self.parameters.values()]
        return kinds == [Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD]

    def covers(self, wrapped: "Signature") -> bool:
        """Whether a wrapper with these parameters takes the calls of what it wraps, and no others.

        Args:
            wrapped: The parameters of what it wraps.

        Returns:
            True for the same parameters, and for the first ones followed by `*args, **kwargs`.
        """
        own = [*self.parameters.values()]
        if self == wrapped:
            return True
        if not Signature(own[-2:]).passes_all():
            return False
        # The first one is mostly `self`, which nobody passes by its name.
        if any(argument.kind == Parameter.POSITIONAL_ONLY for argument in own[1:]):
            return False
        leading = [argument.name for argument in own[:-2]]
        return leading == [*wrapped.parameters][: len(leading)]

    def mangled(self, class_name: str) -> "Signature":
        """Return the signature as Python has it for a `def` in a class: `__x` becomes `_Class__x`.

        Args:
            class_name: The name of the class; one of underscores alone changes no names.
        """
        owner = class_name.lstrip("_")
        parameters: list[Parameter] = []
        for argument in self.parameters.values():
            if owner and is_private(argument.name):
                mangled = f"_{owner}{argument.name}"
                parameters.append(argument.replace(name=mangled))
            else:
                parameters.append(argument)
        return Signature(parameters)


@functools.lru_cache(maxsize=1 << 14)  # most releases have the same ones
def _signature(parameters: tuple[tuple[Any, ...], ...]) -> Signature:
    return Signature(parameter(*fields) for fields in parameters)


def is_private(name: str) -> bool:
    """Whether Python stores a name from the body of a class as `_Class__name`.

    Args:
        name: The name as it is written in the body.
    """
    return name.startswith("__") and not name.endswith("__")


def signature_of(arguments: ast.arguments) -> Signature:
    """Return the parameters of a `def` or a `lambda`.

    Args:
        arguments: Its arguments, as the syntax tree has them.
    """
    positional = [*arguments.posonlyargs, *arguments.args]
    # Defaults belong to the last of the positional parameters.
    required = len(positional) - len(arguments.defaults)
    parameters: list[Parameter] = []
    for index, argument in enumerate(positional):
        kind: int = Parameter.POSITIONAL_OR_KEYWORD
        if index < len(arguments.posonlyargs):
            kind = Parameter.POSITIONAL_ONLY
        has_default = index >= required
        parameters.append(parameter(argument.arg, kind, has_default))
    if arguments.vararg:
        parameters.append(parameter(arguments.vararg.arg, Parameter.VAR_POSITIONAL))
    for argument, default in zip(
        arguments.kwonlyargs, arguments.kw_defaults, strict=True
    ):
        parameters.append(parameter(argument.arg, Parameter.KEYWORD_ONLY, default))
    if arguments.kwarg:
        parameters.append(parameter(arguments.kwarg.arg, Parameter.VAR_KEYWORD))
    return Signature(parameters)


def spelled_keys(node: ast.expr) -> frozenset[str] | None:
    """Return the keys of a dict that is spelled out; None for any other expression.

    Args:
        node: The expression.
    """
    if not isinstance(node, ast.Dict):
        return None
    keys: set[str] = set()
    for key in node.keys:
        if not isinstance(key, ast.Constant):
            return None
        keys.add(str(key.value))
    return frozenset(keys)
