"""Reads the dialect of SGLang's hook registry: hooks before, after, around or in place of a target.

A plugin of SGLang registers hooks, by `HookRegistry.register("sglang.module.Class.method", hook,
HookType.AFTER)` or by the decorator `@plugin_hook("…", type=HookType.AFTER)`. SGLang puts them in
place once all plugins have run. A hook becomes a row: in place of a target a Replace, else a
Decorate, whose decorator calls the hook as the registry does.
"""

import ast
import functools
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import decode_source
from typing import NamedTuple, TypeGuard

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import SCOPES, Def, dotted
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.placements import Placement, StatementContext
from patchkit.authoring.source.calls_at_import import called_at_import
from patchkit.authoring.source.definitions import names_in

BEFORE = "before"
AFTER = "after"
AROUND = "around"
REPLACE = "replace"
_TYPES = (BEFORE, AFTER, AROUND, REPLACE)

_REGISTER = "HookRegistry.register"
_DECORATOR = "plugin_hook"

_NO_TARGET = "its target is no text that can be read"
_NO_TYPE = "its hook type is none that can be read"
_CLASS_AS_HOOK = "a class is a hook of the type REPLACE only: SGLang refuses it"
HOOK_OF_CLASS = "SGLang hooks no class but by REPLACE: name a method of it"

_HEAD = '''def {name}(original):
    """Call {hook} {type} what it is a hook of, as SGLang's registry does."""
    from functools import wraps

    @wraps(original)
    def hooked(*args, **kwargs):
'''
_CALLS = {
    BEFORE: """\
        changed_arguments = {hook}(*args, **kwargs)
        if changed_arguments is not None:
            args, kwargs = changed_arguments
        return original(*args, **kwargs)
""",
    AFTER: """\
        original_result = original(*args, **kwargs)
        changed_result = {hook}(original_result, *args, **kwargs)
        if changed_result is None:
            return original_result
        return changed_result
""",
    AROUND: """\
        return {hook}(original, *args, **kwargs)
""",
}
_END = """
    return hooked
"""


def decorator_text(hook_type: str, name: str, hook: str) -> str:
    """Write the decorator that a body has for a hook.

    Args:
        hook_type: The type of the hook, but for `replace`.
        name: The name of the decorator.
        hook: The name of the hook in the body.

    Returns:
        The text of its definition.
    """
    head = _HEAD.format(name=name, hook=hook, type=hook_type)
    calls = _CALLS[hook_type].format(hook=hook)
    return head + calls + _END


def is_in_registry(target: str) -> bool:
    """Return whether a target is of SGLang's registry itself, which keeps the hooks until it acts.

    Args:
        target: The target.
    """
    module, _, qualname = target.partition(":")
    is_in_class = qualname.startswith("HookRegistry.")
    return module.endswith(".hook_registry") and is_in_class


class _Registration(NamedTuple):
    """A registration of a hook.

    Args:
        call: The call that names the target and the type.
        hook: The hook; None where it is not told.
        type_node: The type, as an expression; None for the default.
        node: The code that is replaced in the body.
        text: The code that replaces it.
    """

    call: ast.Call
    hook: ast.expr | None
    type_node: ast.expr | None
    node: ast.AST
    text: str

    @property
    def type(self) -> str:
        """The type of the hook; '' where it cannot be read."""
        if self.type_node is None:
            return AFTER
        name = dotted(self.type_node).rpartition(".")[2].lower()
        if name in _TYPES:
            return name
        return ""


def hooked(
    reader: PileReader, node: ast.stmt, context: StatementContext
) -> Iterator[Placement]:
    """Yield the placements of the hooks that a statement registers.

    Args:
        reader: The reader of the module.
        node: The statement.
        context: The code around it.
    """
    for registration in _registrations(node):
        target_node = _argument(registration.call, 0, "target")
        targets = list[str]()
        if target_node is not None:
            targets = context.scope.strings_of(target_node)
        if registration.hook is None:
            continue
        placement = reader.make_placement(
            node,
            targets,
            registration.hook,
            registration.node,
            registration.text,
            context,
        )
        placement.hook = registration.type or REPLACE
        placement.rebinds = True
        placement.key = _key(reader, placement)
        # A class comes first: SGLang looks for methods in the class that replaces another.
        is_class = _is_class(reader, registration.hook)
        placement.priority = 0 if is_class else 1
        if _is_plain_registration(reader.module.tree, registration, context):
            placement.function = ""
            placement.is_plain = True
            placement.reason = ""
        if is_class and placement.hook != REPLACE:
            placement.reason = _CLASS_AS_HOOK
        if not registration.type:
            placement.reason = _NO_TYPE
        if not targets:
            placement.reason = _NO_TARGET
        yield placement


def _key(reader: PileReader, placement: Placement) -> str:
    """Return a key that no hook of the module has, so that each gets a row of its own."""
    first_key = f"{'-'.join(placement.dotted_names)}-{placement.hook}"
    taken = {other.key for other in reader.placements}
    key = first_key
    number = 2
    while key in taken:
        key = f"{first_key}-{number}"
        number += 1
    return key


def _is_class(reader: PileReader, hook: ast.expr) -> bool:
    """Return whether a hook is a class of its module."""
    name = dotted(hook)
    for node in ast.walk(reader.module.tree):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return True
    return False


def _registrations(node: ast.stmt) -> Iterator[_Registration]:
    """Yield the registrations in a statement, the lowest decorator first, as Python runs them."""
    if isinstance(node, SCOPES):
        for decorator in reversed(node.decorator_list):
            if _is_call_of(decorator, _DECORATOR):
                name = ast.Name(node.name, ast.Load())
                type_node = _argument(decorator, 1, "type")
                yield _Registration(decorator, name, type_node, decorator, text="")
    elif isinstance(node, ast.Expr):
        call = node.value
        if _is_call_of(call, _REGISTER):
            hook = _argument(call, 1, "hook")
            type_node = _argument(call, 2, "hook_type")
            text = ""
            if hook is not None:
                text = f"{{}} = {ast.unparse(hook)}"
            yield _Registration(call, hook, type_node, node, text)
        elif isinstance(call, ast.Call) and _is_call_of(call.func, _DECORATOR):
            # `plugin_hook(…)(hook)`
            hook = _argument(call, 0, "hook")
            type_node = _argument(call.func, 1, "type")
            text = ""
            if hook is not None:
                text = f"{{}} = {ast.unparse(hook)}"
            yield _Registration(call.func, hook, type_node, node, text)


def _is_call_of(node: ast.expr, name: str) -> TypeGuard[ast.Call]:
    """Return whether an expression calls a function of the registry."""
    if not isinstance(node, ast.Call):
        return False
    return f".{dotted(node.func)}".endswith(f".{name}")


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """Return an argument of a call, by its position or its name; None where it has none."""
    if position < len(call.args):
        return call.args[position]
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return None


def with_plugin_calls(module: ModuleTree) -> ModuleTree:
    """Return a module that calls its plugin functions itself, as SGLang does.

    Those that only register functions of the module, under no condition, need no call: what they
    register is known without one.

    Args:
        module: A module of a pile.

    Returns:
        The module, with calls at its end; the same module where there is nothing to call.
    """
    definitions = _definitions(module.tree)
    calls = list[str]()
    for name, function in _plugin_functions(module.tree).items():
        if not _registers_plainly(function, definitions):
            calls.append(f"\n\n{name}()\n")
    if not calls:
        return module
    source = decode_source(module.source).rstrip() + "\n" + "".join(calls)
    # The text may declare another encoding than that of the new bytes.
    tree = ast.parse(source)
    return replace(
        module,
        tree=tree,
        source=source.encode(_encoding(module.source)),
        conclusions={},
        file_conclusions={},
    )


def _encoding(source: bytes) -> str:
    """Return the encoding of a module's text."""
    import tokenize  # noqa: PLC0415 - few piles have hooks
    from io import BytesIO  # noqa: PLC0415

    return tokenize.detect_encoding(BytesIO(source).readline)[0]


def _plugin_functions(tree: ast.Module) -> dict[str, Def]:
    """Return the functions of a module that register hooks and that only a loader may call.

    They need no arguments, and nothing in the module names them.
    """
    functions = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)
    }
    registering = _registering(functions)
    if not registering:
        return {}
    named = called_at_import(tree)
    for name, function in functions.items():
        named |= names_in(function) - {name}
    return {
        name: function
        for name, function in functions.items()
        if name in registering
        and name not in named
        and not function.decorator_list
        and not _needs_arguments(function)
    }


def _registering(functions: dict[str, ast.FunctionDef]) -> set[str]:
    """Return the functions that register hooks, themselves or by another of the functions."""
    registering = {
        name
        for name, function in functions.items()
        if next(_registrations_within(function), None)
    }
    size = -1
    while len(registering) != size:
        size = len(registering)
        for name, function in functions.items():
            if registering & names_in(function):
                registering.add(name)
    return registering


def _registrations_within(function: Def) -> Iterator[_Registration]:
    """Yield the registrations in the body of a function, at any depth."""
    for part in ast.walk(function):
        if isinstance(part, ast.stmt) and part is not function:
            yield from _registrations(part)


def _needs_arguments(function: ast.FunctionDef) -> bool:
    """Return whether nobody can call a function without arguments."""
    parameters = function.args
    positional = len(parameters.posonlyargs) + len(parameters.args)
    has_required_keyword = any(default is None for default in parameters.kw_defaults)
    return positional > len(parameters.defaults) or has_required_keyword


def _definitions(tree: ast.Module) -> set[str]:
    """Return the functions and classes that a module defines."""
    return {node.name for node in tree.body if isinstance(node, SCOPES)}


def _registers_plainly(function: Def, definitions: set[str]) -> bool:
    """Return whether a function registers definitions of the module only, under no condition.

    Args:
        function: The function.
        definitions: What the module defines.
    """
    all_registrations = list(_registrations_within(function))
    plain = 0
    for statement in function.body:
        if isinstance(statement, ast.Expr):
            for registration in _registrations(statement):
                if dotted(registration.hook) in definitions:
                    plain += 1
    leaves_early = any(isinstance(part, ast.Return) for part in ast.walk(function))
    return plain > 0 and plain == len(all_registrations) and not leaves_early


@functools.lru_cache(maxsize=1)
def _plain_functions(tree: ast.Module) -> frozenset[str]:
    """Return the plugin functions of a module whose registrations are known without a call."""
    definitions = _definitions(tree)
    return frozenset(
        name
        for name, function in _plugin_functions(tree).items()
        if _registers_plainly(function, definitions)
    )


def _is_plain_registration(
    tree: ast.Module, registration: _Registration, context: StatementContext
) -> bool:
    """Return whether a registration in a plugin function is known without a call of that."""
    if not context.function or context.conditions:
        return False
    is_definition = dotted(registration.hook) in _definitions(tree)
    return is_definition and context.function in _plain_functions(tree)
