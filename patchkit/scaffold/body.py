"""A body to start from: what every change of a patch needs in it."""

from __future__ import annotations

import ast
import sys
import textwrap
from typing import TYPE_CHECKING

from patchkit.rows.declaration import Add, AfterImport, BeforeImport, Provide, Replace, Wrap
from patchkit.scaffold.text import INDENT, WIDTH, call, from_import, literal
from patchkit.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from patchkit.rows.declaration import Change
    from patchkit.scaffold.found import Found

    Import = tuple[str, str]
    Part = tuple[str, set[Import]]

_ANY = ("typing", "Any")
_WRAPPED = ("wrapped: Any", "_instance: Any", "args: Any", "kwargs: Any")
_CATCH_ALL = ("*args: Any", "**kwargs: Any")
_BOUND = frozenset(map(str, (Kind.METHOD, Kind.ASYNC_METHOD, Kind.PROPERTY)))
_TO_WRITE = "raise NotImplementedError"


def body_text(changes: Sequence[tuple[Found, Change]]) -> str:
    """Write the whole file; '' where no change names an object of it."""
    parts = [_PARTS[type(one)](found, one) for found, one in changes if one.body_field]
    if not parts:
        return ""
    imports = {one for _, needed in parts for one in needed}
    head = [_docstring([one for one, _ in changes]), "from __future__ import annotations"]
    text = "\n\n".join([*head, *_sections(imports)])
    for code, _ in parts:
        is_line = "\n" not in code  # which has one empty line around it
        text += ("\n\n" if is_line else "\n\n\n") + code
    return f"{text}\n"


def _is_its_def(found: Found) -> bool:
    """Whether a function of its name defines it, not one that makes it when it is asked for."""
    name = found.facts.qualname.rpartition(".")[2]
    return isinstance(found.node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (
        found.node.name == name
    )


def _docstring(founds: Sequence[Found]) -> str:
    lines = ["Upstream: say here what it does there, and since when.", ""]
    for found in founds:
        lines.append(str(found.target))
        if found.facts.lines:
            where = f"{found.facts.path}:{found.facts.lines[0]}"
            lines.append(f"    {where} in {found.subject.name}")
    return '"""\n' + "\n".join(lines) + '\n"""'


def _sections(imports: set[Import]) -> Iterator[str]:
    """Sort as import sorters do: the standard library first, names of a module on one line."""
    own = {one for one in imports if one[0].partition(".")[0] in sys.stdlib_module_names}
    for group in filter(None, (own, imports - own)):
        lines = []
        for module in sorted({module for module, _ in group}):
            names = sorted(name for there, name in group if there == module)
            if plain := [name for name in names if " as " not in name]:
                lines.append(from_import(module, plain))
            lines += [f"from {module} import {name}" for name in names if " as " in name]
        yield "\n".join(lines)


# --- what each kind of change needs


def _wrap(found: Found, change: Wrap) -> Part:
    kind, qualname = found.facts.kind, found.target.qualname
    whose = " and `_instance` its class" if kind == str(Kind.CLASSMETHOD) else ""
    if kind in _BOUND:
        whose = f" and `_instance` the {qualname.split('.')[-2]}"
    words = [f"Run around `{qualname}`; `wrapped` is upstream's{whose}."]
    if found.facts.signature:
        words.append(f"It is called as {found.facts.signature}.")
    return _function(change.by, _WRAPPED, words, "return wrapped(*args, **kwargs)"), {_ANY}


def _replace(found: Found, change: Replace) -> Part:
    target, facts = found.target, found.facts
    if facts.kind == str(Kind.CLASS):
        return _subclass(found, change)
    if _is_its_def(found) or facts.signature is not None or facts.kind == str(Kind.GENERATED):
        parameters = _parameters(found.node) if _is_its_def(found) else None
        words = [f"Take the place of `{target.qualname}`."]
        if facts.signature and not parameters:
            words.append(f"It is called as {facts.signature}.")
        word = "async def" if isinstance(found.node, ast.AsyncFunctionDef) else "def"
        given = _CATCH_ALL if parameters is None else parameters
        return _function(change.by, given, words, _TO_WRITE, word=word), {_ANY}
    return _value(found, change)


def _subclass(found: Found, change: Replace) -> Part:
    base = found.target.qualname
    head = f"class {change.by}({base}):  # type: ignore[misc, unused-ignore]"
    words = f'{INDENT}"""`{base}`, patched: override here what has to be another."""'
    return f"{head}\n{words}", {(found.target.module, base.partition(".")[0])}


def _parameters(node: Any) -> list[str] | None:
    """Write upstream's parameters; None where a default is more than a plain value."""
    given: ast.arguments = node.args
    places, defaults = [*given.posonlyargs, *given.args], given.defaults
    known = [None] * (len(places) - len(defaults)) + defaults
    if any(one and not isinstance(one, ast.Constant) for one in (*known, *given.kw_defaults)):
        return None
    texts = [_parameter(*one) for one in zip(places, known, strict=True)]
    if given.posonlyargs:
        texts.insert(len(given.posonlyargs), "/")
    if given.vararg or given.kwonlyargs:
        texts.append(f"*{given.vararg.arg}: Any" if given.vararg else "*")
    texts += [_parameter(*one) for one in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return [*texts, f"**{given.kwarg.arg}: Any"] if given.kwarg else texts


def _parameter(one: ast.arg, default: ast.expr | None) -> str:
    if not isinstance(default, ast.Constant):
        return f"{one.arg}: Any"
    return f"{one.arg}: Any = {literal(default.value)}"


def _value(found: Found, change: Replace) -> Part:
    """Start with upstream's own value: what it is made of is not to be copied."""
    first = found.target.qualname.partition(".")[0].partition("[")[0]
    rest = found.target.qualname.removeprefix(first)
    if '"' not in rest:
        rest = rest.replace("'", '"')
    alias = f"upstream_{first}" if first == change.by else first
    named = first if alias == first else f"{first} as {alias}"
    return f"{change.by}: Any = {alias}{rest}", {(found.target.module, named), _ANY}


def _add(found: Found, change: Add) -> Part:
    qualname = found.target.qualname
    if qualname.endswith("]") or change.by.isupper():
        return f"{change.by}: Any = None", {_ANY}
    words = [f"Be `{qualname}`, which upstream lacks."]
    given = ("self: Any", *_CATCH_ALL) if "." in qualname else _CATCH_ALL
    return _function(change.by, given, words, _TO_WRITE), {_ANY}


def _provide(_found: Found, _change: Provide) -> Part:
    return "__all__: list[str] = []", set()


def _before(_found: Found, change: BeforeImport) -> Part:
    words = [f"Run just before `{change.module}` executes."]
    return _function(change.call, (), words, "", "None"), set()


def _after(_found: Found, change: AfterImport) -> Part:
    words = [f"Run just after `{change.module}` has executed; may return what undoes it."]
    return _function(change.call, ("_module: Any",), words, "", "None"), {_ANY}


_PARTS: dict[type[Change], Callable[[Found, Any], Part]] = {
    Wrap: _wrap,
    Replace: _replace,
    Add: _add,
    Provide: _provide,
    BeforeImport: _before,
    AfterImport: _after,
}


def _function(
    name: str,
    parameters: Sequence[str],
    words: Sequence[str],
    code: str,
    returns: str = "Any",
    word: str = "def",
) -> str:
    head = call(f"{word} {name}", parameters, f") -> {returns}:")
    lines = [head, *textwrap.indent(_as_docstring(words), INDENT).splitlines()]
    return "\n".join([*lines, *([f"{INDENT}{code}"] if code else [])])


def _as_docstring(words: Sequence[str]) -> str:
    plain = f'"""{" ".join(words)}"""'
    if len(plain) <= WIDTH - 4:
        return plain
    wrapped = (textwrap.fill(one, WIDTH - 8, break_on_hyphens=False) for one in words)
    return '"""\n' + "\n\n".join(wrapped) + '\n"""'
