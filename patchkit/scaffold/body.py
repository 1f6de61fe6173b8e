"""A body to start from: what every change of a patch needs in it."""

from __future__ import annotations

import ast
import sys
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from patchkit.declaration import Add, AfterImport, BeforeImport, Provide, Replace, Wrap
from patchkit.scaffold.parameters import Import, Writer
from patchkit.scaffold.style import WIDTH
from patchkit.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from patchkit.declaration import Change
    from patchkit.scaffold.found import Found
    from patchkit.scaffold.style import Style

_ANY = Import("typing", "Any")
_WRAPPED = ("wrapped: Any", "_instance: Any", "args: Any", "kwargs: Any")
_CATCH_ALL = ("*args: Any", "**kwargs: Any")
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TO_WRITE = "raise NotImplementedError"


@dataclass
class Part:
    """
    What one change needs in a body.

    Args:
        code: an object's source.
        imports: what it needs.
        tight: whether it is a plain line, with one empty line around it.

    """

    code: str
    imports: set[Import] = field(default_factory=set)
    tight: bool = False


def body_text(changes: Sequence[tuple[Found, Change]], style: Style) -> str:
    """Write the whole file; '' where no change names an object of it."""
    parts = [_PARTS[type(one)](found, one, style) for found, one in changes if one.body_field]
    if not parts:
        return ""
    imports = set().union(*(part.imports for part in parts))
    text = "\n\n".join([_docstring([one for one, _ in changes]), _FUTURE, *_sections(imports)])
    for part in parts:
        text += ("\n\n" if part.tight else "\n\n\n") + part.code
    return f"{text}\n"


_FUTURE = "from __future__ import annotations"


def _docstring(founds: Sequence[Found]) -> str:
    lines = ["Upstream: say here what it does there, and since when.", ""]
    for found in founds:
        lines.append(str(found.target))
        if found.facts.lines:
            where = f"{found.facts.path}:{found.facts.lines[0]}"
            lines.append(f"    {where} in {found.subject.name}")
    return '"""\n' + "\n".join(lines) + '\n"""'


def _sections(imports: set[Import]) -> list[str]:
    ours = {one for one in imports if one.module.partition(".")[0] in sys.stdlib_module_names}
    return ["\n".join(_lines(group)) for group in (ours, imports - ours) if group]


def _lines(imports: set[Import]) -> list[str]:
    """Sort as import sorters do: whole modules first, names of one module on one line."""
    plain = sorted(str(one) for one in imports if not one.name)
    named: dict[str, list[str]] = {}
    for one in sorted(imports):
        if one.name and one.alias in ("", one.name):
            named.setdefault(one.module, []).append(one.name)
    aliased = [str(one) for one in imports if one.name and one.alias not in ("", one.name)]
    merged = [_from(module, names) for module, names in named.items()]
    return [*plain, *sorted([*merged, *aliased], key=lambda line: line.split()[1])]


def _from(module: str, names: list[str]) -> str:
    plain = f"from {module} import {', '.join(names)}"
    if len(plain) <= WIDTH:
        return plain
    return "\n".join([f"from {module} import (", *(f"    {one}," for one in names), ")"])


# --- what each kind of change needs


def _wrap(found: Found, change: Wrap, style: Style) -> Part:
    kind, target = found.facts.kind, found.target
    whose = " and `_instance` its class" if kind == str(Kind.CLASSMETHOD) else ""
    if kind in (str(Kind.METHOD), str(Kind.ASYNC_METHOD), str(Kind.PROPERTY)):
        whose = f" and `_instance` the {target.qualname.split('.')[-2]}"
    words = [f"Run around `{target.qualname}`; `wrapped` is upstream's{whose}."]
    if found.facts.signature:
        words.append(f"It is called as {found.facts.signature}.")
    code = _function(change.by, _WRAPPED, "Any", words, "return wrapped(*args, **kwargs)", style)
    return Part(code, {_ANY})


def _replace(found: Found, change: Replace, style: Style) -> Part:
    if found.facts.kind == str(Kind.CLASS):
        return _subclass(found, change, style)
    if is_its_def(found):
        return _same_head(found, change, found.node, style)
    if found.facts.signature is not None or found.facts.kind == str(Kind.GENERATED):
        words = [f"Take the place of `{found.target.qualname}`."]
        return Part(_function(change.by, _CATCH_ALL, "Any", words, _TO_WRITE, style), {_ANY})
    return _value(found, change)


def is_its_def(found: Found) -> bool:
    """Whether a function of its name defines it, not one that makes it when it is asked for."""
    name = found.facts.qualname.rpartition(".")[2]
    return isinstance(found.node, _DEFS) and found.node.name == name and found.tree is not None


def _subclass(found: Found, change: Replace, style: Style) -> Part:
    target = found.target
    base = target.qualname
    code = [
        f"class {change.by}({base}):  # type: ignore[misc, unused-ignore]",
        f'{style.indent}"""`{base}`, patched: override here what has to be another."""',
    ]
    return Part("\n".join(code), {Import(target.module, base.partition(".")[0])})


def _same_head(found: Found, change: Replace, node: Any, style: Style) -> Part:
    assert found.tree is not None
    around = found.facts.qualname.rpartition(".")[0]
    head = Writer(node, found.tree, around, style).written()
    words = [f"Take the place of `{found.target.qualname}`, with its parameters."]
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    code = _function(change.by, head.parameters, head.returns, words, _TO_WRITE, style, word)
    needs_any = any("Any" in one for one in (*head.parameters, head.returns))
    return Part(code, {*head.imports, *([_ANY] if needs_any else [])})


def _value(found: Found, change: Replace) -> Part:
    """Start with upstream's own value: what it is made of is not to be copied."""
    target = found.target
    first = target.qualname.partition(".")[0].partition("[")[0]
    rest = target.qualname.removeprefix(first)
    if '"' not in rest:
        rest = rest.replace("'", '"')
    upstream = Import(target.module, first, f"upstream_{first}" if first == change.by else "")
    code = f"{change.by}: Any = {upstream.alias or first}{rest}"
    return Part(code, {upstream, _ANY}, tight=True)


def _add(found: Found, change: Add, style: Style) -> Part:
    target = found.target
    if target.qualname.endswith("]") or change.by.isupper():
        return Part(f"{change.by}: Any = None", {_ANY}, tight=True)
    words = [f"Be `{target.qualname}`, which upstream lacks."]
    in_class = "." in target.qualname
    parameters = ("self: Any", *_CATCH_ALL) if in_class else _CATCH_ALL
    return Part(_function(change.by, parameters, "Any", words, _TO_WRITE, style), {_ANY})


def _provide(_found: Found, _change: Provide, _style: Style) -> Part:
    return Part("__all__: list[str] = []", tight=True)


def _before(_found: Found, change: BeforeImport, style: Style) -> Part:
    words = [f"Run just before `{change.module}` executes."]
    return Part(_function(change.call, (), "None", words, "", style))


def _after(_found: Found, change: AfterImport, style: Style) -> Part:
    words = [f"Run just after `{change.module}` has executed; may return what undoes it."]
    return Part(_function(change.call, ("_module: Any",), "None", words, "", style), {_ANY})


_PARTS: dict[type[Change], Callable[[Found, Any, Style], Part]] = {
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
    returns: str,
    words: Sequence[str],
    code: str,
    style: Style,
    word: str = "def",
) -> str:
    head = style.call(f"{word} {name}", parameters, f") -> {returns}:")
    lines = [head, *textwrap.indent(_as_docstring(words), style.indent).splitlines()]
    if code:
        lines.append(f"{style.indent}{code}")
    return "\n".join(line.rstrip() for line in lines)


def _as_docstring(words: Sequence[str]) -> str:
    plain = f'"""{" ".join(words)}"""'
    if len(plain) <= WIDTH - 4:
        return plain
    wrapped = (textwrap.fill(one, WIDTH - 8, break_on_hyphens=False) for one in words)
    return '"""\n' + "\n\n".join(wrapped) + '\n"""'
