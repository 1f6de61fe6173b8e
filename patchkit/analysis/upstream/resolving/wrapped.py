"""Finds code that a target runs and that stands outside its own definition.

`x = lru_cache(f)` runs f, `x = make()` runs the function that `make` defines, `@x.register` adds a
function to x, `C.run = f` makes f a method of C, and `torch.ops.vllm.x` runs the function that is
registered for it. A function that a body calls by name is a helper, and not part of the target.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    Def,
    argument_values,
    dotted,
    signature_of,
    statements,
    walk,
)
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Scope,
    Value,
    Values,
    undecided,
)

_OPERATORS = "torch.ops."
_ARGUMENTS_OF_SETATTR = 3
_DEPTH = 4
"""How many names, one leading to the next, are followed."""


class WrappedCode(NamedTuple):
    """A piece of code that a target runs.

    Args:
        node: The definition or the statement.
        tree: The module that it stands in.
    """

    node: ast.AST
    tree: ModuleTree


def wrapped_by(lookup: Lookup, value: Value) -> list[WrappedCode]:
    """List the code that a value runs outside its own definition.

    Args:
        lookup: The release.
        value: The value.

    Returns:
        Each definition or statement once, in the order in which they are found.
    """
    by_node = {id(code.node): code for code in _code_of_value(lookup, value, _DEPTH)}
    for node in value.nodes:  # its own definition
        by_node.pop(id(node), None)
    return list(by_node.values())


def _code_of_value(lookup: Lookup, value: Value, depth: int) -> Iterator[WrappedCode]:
    """List the code that a value is made of by a call, and that is added to its definition later.

    Args:
        lookup: The release.
        value: The value.
        depth: How many more names are followed.
    """
    if value.scope is None:
        return
    if isinstance(value.expression, ast.Call):
        yield from _code_of_expression(lookup, value.expression, value.scope, depth)
    definition = value.nodes[0] if value.nodes else None
    for node in value.nodes[1:]:  # later statements, which modify it
        assigned = _assigned_to_attribute(node)
        if assigned is not None and isinstance(node, ast.stmt):
            at_statement = Scope(value.module_tree, until=node)
            yield from _code_of_expression(lookup, assigned, at_statement, depth)
    if isinstance(definition, SCOPES):
        yield from _code_added_to(lookup, definition, value.scope, depth)


def _assigned_to_attribute(node: ast.AST) -> ast.expr | None:
    """Return `f` for `C.run = f` and `setattr(C, "run", f)`, which are part of what `run` is.

    None for any other statement.
    """
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
        return node.value
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        arguments = node.value.args
        is_setattr = dotted(node.value.func) == "setattr"
        if is_setattr and len(arguments) == _ARGUMENTS_OF_SETATTR:
            return arguments[-1]
    return None


def _code_added_to(
    lookup: Lookup, definition: Def | ast.ClassDef, scope: Scope, depth: int
) -> Iterator[WrappedCode]:
    """List the code that other statements add to a function or class.

    Args:
        lookup: The release.
        definition: The function or class.
        scope: The scope that it stands in.
        depth: How many more names are followed.
    """
    is_class = isinstance(definition, ast.ClassDef)
    for statement in _additions(scope).get(definition.name, ()):
        # `C.run = f` counts for classes only, `@f.register` and the like for functions only.
        is_assignment = isinstance(statement, ast.Assign)
        if is_assignment != is_class:
            continue
        yield WrappedCode(statement, scope.tree)
        if isinstance(statement, ast.Assign):
            at_statement = Scope(scope.tree, until=statement)
            yield from _code_of_expression(lookup, statement.value, at_statement, depth)


def _code_of_expression(
    lookup: Lookup, node: ast.expr, scope: Scope, depth: int
) -> Iterator[WrappedCode]:
    """List the code that an expression names: f for `f`, f and what `make` defines for `make(f)`.

    Args:
        lookup: The release.
        node: The expression.
        scope: Its scope.
        depth: How many more names are followed.
    """
    if isinstance(node, ast.Call):
        yield from _code_of_factory(lookup, node.func, scope, depth)
        for argument in argument_values(node):
            yield from _code_of_expression(lookup, argument, scope, depth)
    elif isinstance(node, (ast.Name, ast.Attribute)) and depth:
        for value in lookup.evaluate(node, scope):
            yield from _definition(value)
            yield from _code_of_value(lookup, value, depth - 1)


def _code_of_factory(
    lookup: Lookup, node: ast.expr, scope: Scope, depth: int
) -> Iterator[WrappedCode]:
    """List the definitions of what is called, if that is a factory: if it defines functions.

    Args:
        lookup: The release.
        node: What is called; it may be a call itself, as in `make(x)(f)`.
        scope: Its scope.
        depth: How many more names are followed.
    """
    if isinstance(node, ast.Call):
        yield from _code_of_expression(lookup, node, scope, depth)
        return
    for value in lookup.evaluate(node, scope):
        for code in _definition(value):
            if _makes_functions(code.node):
                yield code


def _makes_functions(function: ast.AST) -> bool:
    """Whether a function defines functions inside it, which it may return."""
    for node in walk(function):
        if node is not function and isinstance(node, (*DEFS, ast.Lambda)):
            return True
    return False


def _definition(value: Value) -> Iterator[WrappedCode]:
    """List the `def` of a function and the statements that modify it; nothing for others."""
    if value.tree is not None and value.nodes and isinstance(value.nodes[0], DEFS):
        for node in value.nodes:
            yield WrappedCode(node, value.tree)


def _additions(scope: Scope) -> dict[str, list[ast.stmt]]:
    """Return the statements of a scope that add code to a function or class, by its name.

    Those of a module are searched once for all releases that have the same file.
    """
    if scope.classes:
        return _additions_by_name(scope.classes[-1].body)
    body = scope.tree.tree.body
    return scope.tree.remember_with_file("additions", lambda: _additions_by_name(body))


def _additions_by_name(body: Sequence[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """Find the statements of a body that add code to a function or class, by its name."""
    additions: dict[str, list[ast.stmt]] = {}
    for statement in statements(body):
        for name in _names_added_to(statement):
            additions.setdefault(name, []).append(statement)
    return additions


def _names_added_to(statement: ast.stmt) -> Iterator[str]:
    """List the names to which a statement adds code.

    `@x.register` adds to x, `C.run = f` to C, and `direct_register_custom_op("x", f)` to f.
    """
    if isinstance(statement, DEFS):
        for decorator in statement.decorator_list:
            function = decorator.func if isinstance(decorator, ast.Call) else decorator
            owner, _, method = dotted(function).partition(".")
            if method.startswith("register"):
                yield owner
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                yield target.value.id
    else:
        call = operator_call(statement)
        if call is not None:
            for argument in argument_values(call):
                if isinstance(argument, ast.Name):
                    yield argument.id


def operator_call(node: ast.AST) -> ast.Call | None:
    """Return the call of a statement that registers a function as an operator of torch.

    Args:
        node: The statement. Calls of names that end in `custom_op` count, such as those of vLLM's
            `direct_register_custom_op`.

    Returns:
        None for any other statement.
    """
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return None
    if dotted(node.value.func).endswith("custom_op"):
        return node.value
    return None


def operator_values(lookup: Lookup, module: str, value: Value) -> Values:
    """Return the function behind a name such as `torch.ops.vllm.x`.

    Args:
        lookup: The release.
        module: The module of the target; only operators that it registers are found.
        value: What the name was resolved to.

    Returns:
        The function that the operator runs; the value as it was if it is no operator.
    """
    tree = lookup.modules.get(module)
    if tree is None or not value.dotted.startswith(_OPERATORS):
        return (value,)
    names = value.dotted.removeprefix(_OPERATORS).split(".")
    if len(names) != 2:  # the namespace and the name of the operator
        return (value,)
    package = module.partition(".")[0]
    operator = "::".join(names)
    for statement in statements(tree.tree.body):
        function = _function_of_operator(statement, package, operator)
        if function is not None:
            functions = lookup.evaluate(function, Scope(tree))
            return tuple(map(_as_operator, functions))
    reason = f"{module} does not register the operator {value.dotted}; name the module that does"
    return (undecided(reason, Kind.OUTSIDE, value.dotted),)


def _as_operator(function: Value) -> Value:
    """Return an operator as called like its function, whatever its decorator returns."""
    if not function.nodes:
        return function
    node = function.nodes[0]
    if not isinstance(node, ast.FunctionDef):
        return function
    signature = signature_of(node.args)
    return replace(
        function, kind=Kind.FUNCTION, signature=signature, is_sure=True, reason=""
    )


def _function_of_operator(
    statement: ast.stmt,
    package: str,
    operator: str,
) -> ast.expr | None:
    """Return the function that a statement makes an operator of.

    Args:
        statement: The statement: a `def` below `@custom_op("ns::x")`, or a call that registers.
        package: The package of the module, whose name is the namespace if none is spelled out.
        operator: The operator, as `namespace::name`.

    Returns:
        The expression for the function; None if the statement does not make this operator.
    """
    if isinstance(statement, ast.FunctionDef):
        if any(_text(node) == operator for node in _operators_of_decorators(statement)):
            return ast.Name(statement.name, ast.Load())
        return None
    call = operator_call(statement)
    if call is None:
        return None
    # The first two parameters of `direct_register_custom_op`; either may be passed by keyword.
    arguments = dict(zip(("op_name", "op_func"), call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg:
            arguments[keyword.arg] = keyword.value
    name = _text(arguments.get("op_name"))
    if "::" not in name:
        name = f"{package}::{name}"
    # Another `target_lib` has another namespace.
    if name != operator or "target_lib" in arguments:
        return None
    return arguments.get("op_func")


def is_of_operator(function: Value) -> bool:
    """Whether a module makes a function an operator of the same name, on any platform.

    Args:
        function: The function, or any other value.
    """
    name = function.qualname
    if not name or function.tree is None or b"custom_op" not in function.tree.source:
        return False
    package = function.module.partition(".")[0]
    operator = f"{package}::{name.strip('_').removesuffix('_impl')}"
    return any(
        isinstance(statement, ast.Expr)
        and dotted(_function_of_operator(statement, package, operator)) == name
        for statement in function.tree.tree.body
    )


def _operators_of_decorators(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """List the first argument of each `@custom_op(…)`, which names the operator."""
    for decorator in function.decorator_list:
        if not isinstance(decorator, ast.Call) or not decorator.args:
            continue
        if dotted(decorator.func).endswith("custom_op"):
            yield decorator.args[0]


def _text(node: ast.expr | None) -> str:
    """Return the value of a string constant; '' for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ""
