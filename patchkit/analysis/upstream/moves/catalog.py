"""Catalogs the files of a release: what each defines, and how alike two definitions are."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from patchkit.analysis.upstream.fingerprint import canonical
from patchkit.analysis.upstream.reading.files import parse
from patchkit.analysis.upstream.resolving.module_tree import Modules, module_name
from patchkit.analysis.upstream.resolving.syntax import DEFS, SCOPES

_NAME = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
_LINE = re.compile(
    rb"^([ \t]*)(?:(?:async[ \t]+)?(def|class)[ \t]+(%s)"
    rb"|(?:if|elif|else|try|except|finally|with|for|while|match|case)\b)"
    rb"|^(%s)[ \t]*(?::[^=\n]+)?=(?!=)" % (_NAME, _NAME),
    re.MULTILINE,
)
"""Matches the beginning of a line that `scan` reads, with four groups.

In `  def f`, `async def f`, `class C` or `if`: the indentation, `def` or `class`, and the name. In
`NAME = 1` or `NAME: int = 1` of a module: the name, as the last group.
"""
_RUN = 4
"""How many successive tokens are compared at a time."""
TRIVIAL = 20
"""Tokens below which a source is evidence of nothing: `return self.x` has 12."""
TELLING = 35
"""Tokens from which a source is evidence without its name."""


class Definition(NamedTuple):
    """A class, a function, or a name that a module assigns to.

    Args:
        kind: `class`, `def` or `name`.
        qualname: Its name within the module.
        start: The offset at which its first line begins; decorators come before.
        width: The width of its indentation.
    """

    kind: str
    qualname: str
    start: int
    width: int

    @property
    def name(self) -> str:
        """The last part of its qualname."""
        return self.qualname.rpartition(".")[2]


def scan(text: bytes) -> list[Definition]:
    """List what a file defines outside of functions, judged by its lines and their indentation.

    That is a hundred times faster than parsing. A line inside a string may be taken for a
    definition, so a caller that relies on one parses it: see `parse_definition`.

    Args:
        text: The content of the file.

    Returns:
        The definitions, in the order of the file.
    """
    definitions: list[Definition] = []
    scopes: list[Definition] = []  # the classes and functions that the line stands in
    for line in _LINE.finditer(text):
        indent, keyword, name, assigned = line.groups()
        # `NAME = 1` matches only without indentation, so that it has no group for that.
        width = len((indent or b"").expandtabs())
        # A line ends the classes and functions that are indented as far or further. One that begins
        # with `if` or `try` defines nothing itself.
        while scopes and scopes[-1].width >= width:
            scopes.pop()
        is_definition = keyword or assigned
        if not is_definition:
            continue
        if any(scope.kind == "def" for scope in scopes):
            continue  # it is local to a function
        kind = (keyword or b"name").decode()
        qualname = (name or assigned).decode(errors="replace")
        if scopes:
            qualname = f"{scopes[-1].qualname}.{qualname}"
        definition = Definition(kind, qualname, line.start(), width)
        definitions.append(definition)
        if keyword:
            scopes.append(definition)
    return definitions


def block(text: bytes, definition: Definition) -> bytes:
    """Return the lines of a definition, up to the next line that is not part of it.

    Args:
        text: The content of the file.
        definition: The definition; its decorators are left out.
    """
    following = _end_of_block(definition.width).search(text, definition.start)
    if following is None:
        return text[definition.start :]
    # The pattern begins with the newline that ends the block.
    return text[definition.start : following.start() + 1]


def parse_definition(text: bytes, definition: Definition) -> ast.stmt | None:
    """Parse a definition by itself.

    Args:
        text: The content of the file.
        definition: The definition.

    Returns:
        Its statement; None where its lines cannot be parsed, or are more than one statement.
    """
    lines = block(text, definition)
    is_indented = definition.width > 0
    if is_indented:
        lines = b"if 1:\n" + lines  # a header that any indentation may follow
    tree, fault = parse(lines)
    if fault or not tree.body:
        return None
    statements = tree.body
    first = tree.body[0]
    if is_indented and isinstance(first, ast.If):  # the header from above
        statements = first.body
    if len(statements) != 1:
        return None
    return statements[0]


@lru_cache(maxsize=64)
def _end_of_block(width: int) -> re.Pattern[bytes]:
    """Return a pattern for the end of a block: the first line indented by `width` or less."""
    # A closing bracket does not end the block that it closes, nor does a comment.
    return re.compile(rb"\n[ \t]{0,%d}(?=[^\s#)\]}])" % width)


class Likeness:
    """What some statements do, as tokens, to be compared with what others do.

    A source is taken as the tokens that its fingerprint hashes, such as `<Return` and `.value`,
    without the name and the decorators of a definition: it may have been renamed. Two sources are
    compared by their runs of four successive tokens.

    Args:
        nodes: The statements: one definition, or all of a file.
    """

    def __init__(self, nodes: Sequence[ast.AST]) -> None:
        tokens: list[str] = []
        header_size = 0  # the tokens of `def f(…) -> T:`, which say little
        for node in nodes:
            tokens += _tokens(node, decorator_list=[])
            if isinstance(node, DEFS):
                header_size += len(_tokens(node, decorator_list=[], body=[]))
        self.size = len(tokens) - header_size
        """The number of tokens, of a function only those of its body: `return self.x` has 12."""
        self.is_trivial = self.size < TRIVIAL
        self.is_telling = self.size >= TELLING
        # Less than four tokens are one run, a shorter one.
        run_count = max(1, len(tokens) - _RUN + 1)
        starts = range(run_count)
        self._runs = frozenset(
            hash(tuple(tokens[start : start + _RUN])) for start in starts
        )

    def to(self, other: Likeness) -> float:
        """Return how alike the statements are to others.

        Args:
            other: The likeness of the others.

        Returns:
            Of all runs of tokens that either has, the share that both have, from 0 to 1.
        """
        shared = len(self._runs & other._runs)
        either = len(self._runs) + len(other._runs) - shared
        return round(shared / either, 3)


def _tokens(node: ast.AST, **changes: object) -> list[str]:
    """Return the tokens of a statement, without its name.

    Args:
        node: The statement.
        changes: Of a class or function, values that replace those of fields, such as `body=[]` to
            leave its body out.
    """
    if isinstance(node, SCOPES):
        # A copy is changed, as others use the node.
        fields: dict[str, Any] = {
            name: getattr(node, name, None) for name in node._fields
        }
        fields.update(changes)
        node = type(node)(**fields)
    return list(canonical(node, named=False))


REACH = 1 << 20
"""How many bytes of files that both releases have are fetched at most to find one target."""
_WORD = re.compile(rb"[A-Za-z_]\w{5,}")
"""Matches words of six letters and more: shorter ones are in most files."""


class SourceFile:
    """A Python file of a release, and what it defines.

    Args:
        path: Its path in the release.
        text: Its content.
    """

    def __init__(self, path: str, text: bytes) -> None:
        self.path = path
        self.module = module_name(path)
        self.short_name = self.module.rpartition(".")[2]
        self.definitions = scan(text)
        self.text = text

    @cached_property
    def names(self) -> frozenset[str]:
        """The qualnames of its classes and functions; those of variables are left out."""
        return frozenset(
            item.qualname for item in self.definitions if item.kind != "name"
        )

    @cached_property
    def tops(self) -> frozenset[str]:
        """The names of its functions and classes outside of classes, and of its variables."""
        return frozenset(
            item.qualname for item in self.definitions if "." not in item.qualname
        )

    def likeness(self, definition: Definition) -> Likeness | None:
        """Parse one of its definitions.

        Args:
            definition: The definition.

        Returns:
            Its likeness; None where its lines alone do not show where it ends.
        """
        node = parse_definition(self.text, definition)
        if node is None:
            return None
        return Likeness([node])

    @cached_property
    def file_likeness(self) -> Likeness:
        """The likeness of the file as a whole."""
        tree, _ = parse(self.text)
        return Likeness(tree.body)


class Catalog:
    """The Python files of one release, read when they are asked for.

    Args:
        modules: The modules of the release.
    """

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self.source = modules.files.source
        self._files: dict[str, SourceFile | None] = {}

    @cached_property
    def paths(self) -> frozenset[str]:
        """The paths of all Python files."""
        return frozenset(self._modules.files.python())

    def named(self, short_name: str) -> set[str]:
        """Return the paths of all modules of a name, whatever their packages.

        Args:
            short_name: The last part of their names, `core` for `vllm.v1.engine.core`.
        """
        return self._by_name.get(short_name, set())

    @cached_property
    def _by_name(self) -> dict[str, set[str]]:
        """All paths by the name of the module: `core` for `vllm/v1/engine/core.py`."""
        paths: dict[str, set[str]] = {}
        for path in self.paths:
            short_name = module_name(path).rpartition(".")[2]
            paths.setdefault(short_name, set()).add(path)
        return paths

    def files(self, paths: Iterable[str]) -> list[SourceFile]:
        """Return files; those that were not read before are fetched together.

        Args:
            paths: Their paths; one that cannot be read is left out.

        Returns:
            The files, in the order of their paths.
        """
        ordered = sorted(paths)
        missing = [path for path in ordered if path not in self._files]
        if missing:
            self.source.prefetch(missing)
        for path in missing:
            self._files[path] = self._read(path)
        files = (self._files[path] for path in ordered)
        return [file for file in files if file is not None]

    def _read(self, path: str) -> SourceFile | None:
        """Read and scan one file; return None where it cannot be read."""
        text = self.source.read(path)
        if text is None:
            return None
        return SourceFile(path, text)

    def file(self, path: str) -> SourceFile | None:
        """Return one file.

        Args:
            path: Its path.

        Returns:
            The file; None where there is none.
        """
        if path not in self.paths:
            return None
        self.files([path])
        return self._files[path]

    def module(self, name: str) -> SourceFile | None:
        """Return the file of a module.

        Args:
            name: The dotted name of the module.

        Returns:
            The file; None where the module is absent, or has no file.
        """
        path = self._modules.path(name)
        if not path:
            return None
        return self.file(path)


def nearness(first: str, second: str) -> float:
    """Return the share of parts that two dotted names have in common: 2/3 for `a.b.c` and `a.b.d`.

    Args:
        first: A dotted name.
        second: Another one.

    Returns:
        A number from 0 to 1.
    """
    first_parts = first.split(".")
    second_parts = second.split(".")
    common = set(first_parts) & set(second_parts)
    longer = max(len(first_parts), len(second_parts))
    return len(common) / longer


def rarest(text: bytes, files: Sequence[SourceFile], count: int) -> list[bytes]:
    """Return the words of a text that occur in the fewest files.

    A file that has most of them may contain the text; others need not be parsed to compare them.

    Args:
        text: The text.
        files: The files; a word that occurs in none of them is left out.
        count: How many words to return at most.
    """
    # Long words are rare ones, as a rule; to search for all of them would take too long.
    words = set(_WORD.findall(text))
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    longest = longest_first[:40]
    file_counts: Counter[bytes] = Counter()
    for file in files:
        file_counts.update(word for word in longest if word in file.text)
    rarest_first = sorted(file_counts, key=lambda word: (file_counts[word], word))
    return rarest_first[:count]
