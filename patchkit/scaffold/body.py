"""A body to start from: what every change of a patch needs in it."""

from __future__ import annotations

import ast
import sys
import textwrap
from typing import TYPE_CHECKING

from patchkit.rows.declaration import Add, AfterImport, BeforeImport, Provide, Replace, Wrap
from patchkit.scaffold.python_text import INDENT, WIDTH, exploded, from_import
from patchkit.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from patchkit.rows.declaration import Change
    from patchkit.scaffold.upstream_target import UpstreamTarget

    Import = tuple[str, str]
    Code = tuple[str, set[Import]]

_ANY = ("typing", "Any")
_WRAPPED = ("wrapped: Any", "_instance: Any", "args: Any", "kwargs: Any")
_CATCH_ALL = ("*args: Any", "**kwargs: Any")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BOUND = frozenset(map(str, (Kind.METHOD, Kind.ASYNC_METHOD, Kind.PROPERTY)))
_TO_WRITE = "raise NotImplementedError"


def body_text(changes: Sequence[tuple[UpstreamTarget, Change]]) -> str:
    """Write the whole file; '' where no change names an object of it."""
    parts = [
        _WRITERS[type(change)](upstream, change)
        for upstream, change in changes
        if change.body_field
    ]
    if not parts:
        return ""
    head = _docstring([upstream for upstream, _ in changes])
    imports = _sections({needed for _, several in parts for needed in several})
    text = "\n\n".join([head, "from __future__ import annotations", *imports])
    for code, _ in parts:
        is_line = "\n" not in code  # which has one empty line around it
        text += ("\n\n" if is_line else "\n\n\n") + code
    return f"{text}\n"


def _docstring(targets: Sequence[UpstreamTarget]) -> str:
    lines = ["Upstream: say here what it does there, and since when.", ""]
    for upstream in targets:
        lines.append(str(upstream.target))
        if found := upstream.facts.lines:
            lines.append(f"    {upstream.facts.path}:{found[0]} in {upstream.newest.name}")
    return '"""\n' + "\n".join(lines) + '\n"""'


def _sections(imports: set[Import]) -> Iterator[str]:
    """Sort as import sorters do: the standard library first, names of a module on one line."""
    own = {item for item in imports if item[0].partition(".")[0] in sys.stdlib_module_names}
    for group in filter(None, (own, imports - own)):
        lines = []
        for module in sorted({module for module, _ in group}):
            names = sorted(name for there, name in group if there == module)
            if plain := [name for name in names if " as " not in name]:
                lines.append(from_import(module, plain))
            lines += [f"from {module} import {name}" for name in names if " as " in name]
        yield "\n".join(lines)


# --- what each kind of change needs


def _wrap(upstream: UpstreamTarget, change: Wrap) -> Code:
    kind, qualname = upstream.facts.kind, upstream.target.qualname
    whose = " and `_instance` its class" if kind == str(Kind.CLASSMETHOD) else ""
    if kind in _BOUND:
        whose = f" and `_instance` the {qualname.split('.')[-2]}"
    words = f"Run around `{qualname}`; `wrapped` is upstream's{whose}."
    code = "return wrapped(*args, **kwargs)"
    return _function(f"def {change.by}", _WRAPPED, words, upstream, code), {_ANY}


def _replace(upstream: UpstreamTarget, change: Replace) -> Code:
    facts, qualname = upstream.facts, upstream.target.qualname
    if facts.kind == str(Kind.CLASS):
        head = f"class {change.by}({qualname}):  # type: ignore[misc, unused-ignore]"
        words = f'{INDENT}"""`{qualname}`, patched: override here what has to be another."""'
        return f"{head}\n{words}", {(upstream.target.module, qualname.partition(".")[0])}
    node = upstream.node
    is_its = isinstance(node, _DEFINITIONS) and node.name == qualname.rpartition(".")[2]
    if not is_its and facts.signature is None and facts.kind != str(Kind.GENERATED):
        return _value(upstream, change)
    head = f"{'async ' if isinstance(node, ast.AsyncFunctionDef) else ''}def {change.by}"
    words = f"Take the place of `{qualname}`."
    return _function(head, _CATCH_ALL, words, upstream, _TO_WRITE), {_ANY}


def _value(upstream: UpstreamTarget, change: Replace) -> Code:
    """Start with upstream's own value: what it is made of is not to be copied."""
    first = upstream.target.qualname.partition(".")[0].partition("[")[0]
    rest = upstream.target.qualname.removeprefix(first)
    if '"' not in rest:
        rest = rest.replace("'", '"')
    alias = f"upstream_{first}" if first == change.by else first
    named = first if alias == first else f"{first} as {alias}"
    return f"{change.by}: Any = {alias}{rest}", {(upstream.target.module, named), _ANY}


def _add(upstream: UpstreamTarget, change: Add) -> Code:
    qualname = upstream.target.qualname
    if qualname.endswith("]") or change.by.isupper():
        return f"{change.by}: Any = None", {_ANY}
    given = ("self: Any", *_CATCH_ALL) if "." in qualname else _CATCH_ALL
    words = f"Be `{qualname}`, which upstream lacks."
    return _function(f"def {change.by}", given, words, upstream, _TO_WRITE), {_ANY}


def _provide(_: UpstreamTarget, __: Provide) -> Code:
    return "__all__: list[str] = []", set()


def _before(upstream: UpstreamTarget, change: BeforeImport) -> Code:
    words = f"Run just before `{change.module}` executes."
    return _function(f"def {change.call}", (), words, upstream), set()


def _after(upstream: UpstreamTarget, change: AfterImport) -> Code:
    words = f"Run just after `{change.module}` has executed; may return what undoes it."
    return _function(f"def {change.call}", ("_module: Any",), words, upstream), {_ANY}


_WRITERS: dict[type[Change], Callable[[UpstreamTarget, Any], Code]] = {
    Wrap: _wrap,
    Replace: _replace,
    Add: _add,
    Provide: _provide,
    BeforeImport: _before,
    AfterImport: _after,
}


def _function(
    head: str, parameters: Sequence[str], words: str, upstream: UpstreamTarget, code: str = ""
) -> str:
    """Write a function, whose docstring says how upstream's is called."""
    returns = f" -> {'Any' if code else 'None'}:"
    line = f"{head}({', '.join(parameters)}){returns}"
    if len(line) > WIDTH:
        line = exploded(head, parameters) + returns
    signature = upstream.facts.signature
    paragraphs = [words, f"It is called as {signature}."] if signature else [words]
    docstring = f'"""{" ".join(paragraphs)}"""'
    if len(docstring) > WIDTH - len(INDENT):
        width = WIDTH - 2 * len(INDENT)
        filled = (textwrap.fill(text, width, break_on_hyphens=False) for text in paragraphs)
        docstring = '"""\n' + "\n\n".join(filled) + '\n"""'
    return f"{line}\n" + textwrap.indent(f"{docstring}\n{code}".rstrip(), INDENT)
