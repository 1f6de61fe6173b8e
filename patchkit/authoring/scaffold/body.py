"""A body and a test to start from: what every change of a patch needs in them."""

import ast
import textwrap
from collections.abc import Iterator, Sequence

from patchkit.analysis.upstream.resolving.syntax import DEFS
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.authoring.scaffold.first_change import UpstreamTarget
from patchkit.authoring.scaffold.rows import INDENT, WIDTH, exploded, from_import
from patchkit.core.rows.declaration import (
    Add,
    AfterImport,
    BeforeImport,
    Change,
    Patch,
    Replace,
    Wrap,
)

Import = tuple[str, str]
Code = tuple[str, set[Import]]
_ANY = ("typing", "Any")
_CATCH_ALL = ("*args: Any", "**kwargs: Any")
_BOUND = frozenset(map(str, (Kind.METHOD, Kind.ASYNC_METHOD, Kind.PROPERTY)))
_TO_WRITE = "raise NotImplementedError"
_TEST = '''"""What the patch {name} is for."""

from __future__ import annotations
{imported}
import pytest
from patchkit import applied
{mark}
NAME, PACK = "{name}", "{pack}"


def test_it_applies() -> None:
    """Its targets exist, and what the body has fits them."""
    with applied(NAME, packs=PACK):
{inside}


def test_what_it_is_for() -> None:
    """FILL IN: what fails without the patch works with it."""
    with applied(NAME, packs=PACK):
        pytest.fail("fill in: what fails without the patch, and works with it")
'''
_MARK = """
pytestmark = pytest.mark.vllm  # skipped where vLLM is not installed
"""


def test_text(patch: Patch, pack: str, targets: Sequence[UpstreamTarget]) -> str:
    """Write the test of a patch, which fails until its author has written what it is for."""
    places = [upstream.target for upstream in targets]
    lines = [f'import_module("{one.module}")' for one in places if not one.qualname]
    return _TEST.format(
        name=patch.name,
        pack=pack,
        imported="\nfrom importlib import import_module\n" if lines else "",
        inside=textwrap.indent("\n".join(lines or ["pass"]), INDENT * 2),
        mark=_MARK if any(place.module.partition(".")[0] == "vllm" for place in places) else "",
    )


def body_text(changes: Sequence[tuple[UpstreamTarget, Change]]) -> str:
    """Write the body's file; '' where no change names an object of it."""
    parts = [_code(upstream, change) for upstream, change in changes if change.body_field]
    if not parts:
        return ""
    lines = ['"""', "Upstream: write here what upstream does, and since when.", ""]
    for upstream, _ in changes:
        lines.append(str(upstream.target))
        if found := upstream.facts.lines:
            lines.append(f"{INDENT}{upstream.facts.path}:{found[0]} in {upstream.newest.name}")
    imports = _sections({needed for _, several in parts for needed in several})
    head = "\n".join([*lines, '"""'])
    text = "\n\n".join([head, "from __future__ import annotations", *imports])
    for code, _ in parts:
        is_line = "\n" not in code  # which has one empty line around it
        text += ("\n\n" if is_line else "\n\n\n") + code
    return f"{text}\n"


def _sections(imports: set[Import]) -> Iterator[str]:
    """Sort as import sorters do: the standard library first, names of a module on one line."""
    for group in filter(None, (imports & {_ANY}, imports - {_ANY})):
        lines = []
        for module in sorted({module for module, _ in group}):
            names = sorted(name for there, name in group if there == module)
            if plain := [name for name in names if " as " not in name]:
                lines.append(from_import(module, plain))
            lines += [f"from {module} import {name}" for name in names if " as " in name]
        yield "\n".join(lines)


def _code(upstream: UpstreamTarget, change: Change) -> Code:
    if isinstance(change, Wrap):
        return _wrap(upstream, change)
    if isinstance(change, Replace):
        return _replace(upstream, change)
    if isinstance(change, Add):
        return _add(upstream, change)
    if isinstance(change, BeforeImport):
        words = f"Run just before `{change.module}` executes."
        return _function(f"def {change.call}", (), words, upstream), set()
    if isinstance(change, AfterImport):
        words = f"Run just after `{change.module}` has executed; may return what undoes it."
        return _function(f"def {change.call}", ("_module: Any",), words, upstream), {_ANY}
    return "__all__: list[str] = []", set()  # Provide


def _wrap(upstream: UpstreamTarget, change: Wrap) -> Code:
    kind, qualname = upstream.facts.kind, upstream.target.qualname
    whose = " and `_instance` its class" if kind == str(Kind.CLASSMETHOD) else ""
    if kind in _BOUND:
        whose = f" and `_instance` the {qualname.split('.')[-2]}"
    words = f"Run around `{qualname}`; `wrapped` is upstream's{whose}."
    given = ("wrapped: Any", "_instance: Any", "args: Any", "kwargs: Any")
    code = "return wrapped(*args, **kwargs)"
    return _function(f"def {change.by}", given, words, upstream, code), {_ANY}


def _replace(upstream: UpstreamTarget, change: Replace) -> Code:
    facts, node, place = upstream.facts, upstream.node, upstream.target
    first = place.qualname.partition(".")[0].partition("[")[0]
    if facts.kind == str(Kind.CLASS):
        head = f"class {change.by}({place.qualname}):  # type: ignore[misc, unused-ignore]"
        words = f'{INDENT}"""`{place.qualname}`, patched: override here what has to be another."""'
        return f"{head}\n{words}", {(place.module, first)}
    is_its = isinstance(node, DEFS) and node.name == place.qualname.rpartition(".")[2]
    if is_its or facts.signature is not None or facts.kind == str(Kind.GENERATED):
        head = f"{'async ' if isinstance(node, ast.AsyncFunctionDef) else ''}def {change.by}"
        words = f"Take the place of `{place.qualname}`."
        return _function(head, _CATCH_ALL, words, upstream, _TO_WRITE), {_ANY}
    # Upstream's own value: what it is made of is not to be copied.
    value = f"upstream_{place.qualname}"
    if '"' not in value:
        value = value.replace("'", '"')
    return f"{change.by}: Any = {value}", {(place.module, f"{first} as upstream_{first}"), _ANY}


def _add(upstream: UpstreamTarget, change: Add) -> Code:
    qualname = upstream.target.qualname
    if qualname.endswith("]") or change.by.isupper():
        return f"{change.by}: Any = None", {_ANY}
    given = ("self: Any", *_CATCH_ALL) if "." in qualname else _CATCH_ALL
    words = f"Add `{qualname}`, which upstream lacks."
    return _function(f"def {change.by}", given, words, upstream, _TO_WRITE), {_ANY}


def _function(
    head: str, parameters: Sequence[str], words: str, upstream: UpstreamTarget, code: str = ""
) -> str:
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
