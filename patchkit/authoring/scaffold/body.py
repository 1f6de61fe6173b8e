"""Writes the body and the test that a new patch starts with."""

import ast
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import DEFS
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.authoring.scaffold.first_change import UpstreamTarget
from patchkit.authoring.scaffold.rows import (
    INDENT,
    WIDTH,
    exploded,
    from_import,
    name_key,
)
from patchkit.core.rows.declaration import (
    Add,
    AfterImport,
    BeforeImport,
    Change,
    Decorate,
    Patch,
    Replace,
    Wrap,
)


class Import(NamedTuple):
    """A name that is imported from a module.

    Args:
        module: The module.
        name: The name; it may be `name as alias`.
    """

    module: str
    name: str


class BodyPart(NamedTuple):
    """The text of an object of a body.

    Args:
        text: The text.
        imports: The imports that the text needs.
    """

    text: str
    imports: set[Import]


_ANY = Import("typing", "Any")
_WRAPPER_PARAMETERS = ("wrapped: Any", "_instance: Any", "args: Any", "kwargs: Any")
_CATCH_ALL: tuple[str, ...] = ("*args: Any", "**kwargs: Any")
_ON_INSTANCE = frozenset(map(str, (Kind.METHOD, Kind.ASYNC_METHOD, Kind.PROPERTY)))
"""Kinds that are reached through an instance of their class."""
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
    """Write the test of a patch, which fails until its author has filled it in.

    Args:
        patch: the row.
        pack: the module of its pack.
        targets: what it changes.

    Returns:
        The text of the file.
    """
    imports: list[str] = []
    mark = ""
    for upstream in targets:
        module = upstream.target.module
        if not upstream.target.qualname:
            # A patch of a module is applied only when that is imported.
            imports.append(f'import_module("{module}")')
        if module.partition(".")[0] == "vllm":
            mark = _MARK
    inside = "\n".join(imports) or "pass"
    return _TEST.format(
        name=patch.name,
        pack=pack,
        imported="\nfrom importlib import import_module\n" if imports else "",
        inside=textwrap.indent(inside, INDENT * 2),
        mark=mark,
    )


def body_text(changes: Sequence[tuple[UpstreamTarget, Change]]) -> str:
    """Write the body of a patch: a docstring that names the targets, imports, and the objects.

    Args:
        changes: the changes of the patch, each with its target.

    Returns:
        The text of the file; '' where no change names an object of the body.
    """
    parts = [
        _code(upstream, change) for upstream, change in changes if change.body_field
    ]
    if not parts:
        return ""
    docstring = ['"""', "Upstream: write here what upstream does, and since when.", ""]
    for upstream, _ in changes:
        docstring.append(str(upstream.target))
        lines = upstream.facts.lines
        if lines:
            docstring.append(
                f"{INDENT}{upstream.facts.path}:{lines[0]} in {upstream.newest.name}"
            )
    docstring.append('"""')
    imports: set[Import] = set()
    for part in parts:
        imports |= part.imports
    head = [
        "\n".join(docstring),
        "from __future__ import annotations",
        *_sections(imports),
    ]
    text = "\n\n".join(head)
    follows_definition = False
    for part in parts:
        # Formatters put two empty lines around a definition, and one between assignments.
        is_definition = "\n" in part.text
        separator = "\n\n"
        if is_definition or follows_definition:
            separator = "\n\n\n"
        text += separator + part.text
        follows_definition = is_definition
    return f"{text}\n"


def _sections(imports: set[Import]) -> Iterator[str]:
    """Yield the sections of imports, as import sorters order them: the standard library first."""
    standard_library = imports & {_ANY}  # the only name of it that new bodies import
    packages = imports - {_ANY}
    for section in (standard_library, packages):
        if section:
            yield "\n".join(_import_lines(section))


def _import_lines(imports: set[Import]) -> Iterator[str]:
    """Yield the statements of a section, sorted by module and name.

    A renamed name, as in `from a import f as g`, has a statement of its own.
    """
    for module in sorted({entry.module for entry in imports}):
        of_module = [entry.name for entry in imports if entry.module == module]
        names = sorted(of_module, key=name_key)
        plain = [name for name in names if " as " not in name]
        statements = [[name] for name in names if " as " in name]
        if plain:
            statements.append(plain)
        statements.sort(key=lambda names: name_key(names[0]))
        for statement in statements:
            yield from_import(module, statement)


def _code(upstream: UpstreamTarget, change: Change) -> BodyPart:
    """Write the object of the body that a change names, to start from."""
    if isinstance(change, Wrap):
        return _wrapper(upstream, change)
    if isinstance(change, Decorate):
        qualname = upstream.target.qualname
        summary = f"Return what `{qualname}` becomes; `target` is upstream's."
        parameters = ("target: Any",)
        head = f"def {change.by}"
        text = _function(head, parameters, summary, upstream, "return target")
        return BodyPart(text, {_ANY})
    if isinstance(change, Replace):
        return _replacement(upstream, change)
    if isinstance(change, Add):
        return _addition(upstream, change)
    if isinstance(change, BeforeImport):
        summary = f"Run just before `{change.module}` executes."
        text = _function(f"def {change.call}", (), summary, upstream)
        return BodyPart(text, imports=set())
    if isinstance(change, AfterImport):
        summary = (
            f"Run just after `{change.module}` has executed; may return what undoes it."
        )
        text = _function(f"def {change.call}", ("_module: Any",), summary, upstream)
        return BodyPart(text, {_ANY})
    # Provide: the body is the module.
    return BodyPart("__all__: list[str] = []", imports=set())


def _wrapper(upstream: UpstreamTarget, change: Wrap) -> BodyPart:
    """Write a wrapper that only calls what it wraps."""
    kind = upstream.facts.kind
    qualname = upstream.target.qualname
    instance = ""
    if kind in _ON_INSTANCE:
        class_name = qualname.split(".")[-2]
        instance = f" and `_instance` the {class_name}"
    elif kind == str(Kind.CLASSMETHOD):
        instance = " and `_instance` its class"
    summary = f"Run around `{qualname}`; `wrapped` is upstream's{instance}."
    call = "return wrapped(*args, **kwargs)"
    text = _function(f"def {change.by}", _WRAPPER_PARAMETERS, summary, upstream, call)
    return BodyPart(text, {_ANY})


def _replacement(upstream: UpstreamTarget, change: Replace) -> BodyPart:
    """Write the replacement of a target: a subclass, an unwritten function, or the same value."""
    kind = upstream.facts.kind
    qualname = upstream.target.qualname
    module = upstream.target.module
    # The name to import: `C` for `C.f`, `ROWS` for `ROWS['key']`.
    top = qualname.partition(".")[0].partition("[")[0]
    if kind == str(Kind.CLASS):
        head = f"class {change.by}({qualname}):  # type: ignore[misc, unused-ignore]"
        docstring = f'{INDENT}"""`{qualname}`, patched: override here what has to be another."""'
        return BodyPart(f"{head}\n{docstring}", {Import(module, top)})
    if _is_function(upstream):
        head = f"def {change.by}"
        if isinstance(upstream.node, ast.AsyncFunctionDef):
            head = f"async {head}"
        summary = f"Take the place of `{qualname}`."
        text = _function(head, _CATCH_ALL, summary, upstream, _TO_WRITE)
        return BodyPart(text, {_ANY})
    # The value is read from upstream, as a copy would go out of date.
    value = f"upstream_{qualname}"
    if '"' not in value:  # the quotes of an item, as formatters write them
        value = value.replace("'", '"')
    imports = {Import(module, f"{top} as upstream_{top}"), _ANY}
    return BodyPart(f"{change.by}: Any = {value}", imports)


def _is_function(upstream: UpstreamTarget) -> bool:
    """Whether a function can replace a target: it is called, or defined by a `def`."""
    facts = upstream.facts
    # A generated method, such as the `__init__` of a dataclass, has no signature in the source.
    if facts.signature is not None or facts.kind == str(Kind.GENERATED):
        return True
    node = upstream.node
    last = upstream.target.qualname.rpartition(".")[2]
    # A `def` of another name only computes the value, as in `X = _make_x()`.
    return isinstance(node, DEFS) and node.name == last


def _addition(upstream: UpstreamTarget, change: Add) -> BodyPart:
    """Write what an Add adds: a value for an item or an upper-case name, else a function."""
    qualname = upstream.target.qualname
    if qualname.endswith("]") or change.by.isupper():
        return BodyPart(f"{change.by}: Any = None", {_ANY})
    parameters = _CATCH_ALL
    if "." in qualname:
        parameters = ("self: Any", *_CATCH_ALL)
    summary = f"Add `{qualname}`, which upstream lacks."
    text = _function(f"def {change.by}", parameters, summary, upstream, _TO_WRITE)
    return BodyPart(text, {_ANY})


def _function(
    head: str,
    parameters: Sequence[str],
    summary: str,
    upstream: UpstreamTarget,
    code: str = "",
) -> str:
    """Write a function of a body: its head, a docstring, and at most one line of code.

    Args:
        head: the first line, up to the parameters, such as `async def f`.
        parameters: the parameters, annotated.
        summary: the first sentence of the docstring; a second says how the target is called.
        upstream: the target.
        code: the line of code; '' for a function that does nothing and returns None.
    """
    returns = " -> Any:" if code else " -> None:"
    line = f"{head}({', '.join(parameters)}){returns}"
    if len(line) > WIDTH:
        line = exploded(head, parameters) + returns
    paragraphs = [summary]
    if upstream.facts.signature:
        paragraphs.append(f"Upstream's is called as {upstream.facts.signature}.")
    docstring = f'"""{" ".join(paragraphs)}"""'
    if len(docstring) > WIDTH - len(INDENT):
        docstring = _long_docstring(paragraphs)
    block = f"{docstring}\n{code}".rstrip()
    return f"{line}\n{textwrap.indent(block, INDENT)}"


def _long_docstring(paragraphs: Sequence[str]) -> str:
    """Write a docstring of several lines, without indentation."""
    # The lines are indented by one INDENT later, and end one INDENT before the limit.
    width = WIDTH - 2 * len(INDENT)
    filled = [textwrap.fill(text, width, break_on_hyphens=False) for text in paragraphs]
    return '"""\n' + "\n\n".join(filled) + '\n"""'
