"""A module of a pile as a body: its own text, without the code that puts things where they go."""

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import decode_source
from textwrap import indent

from patchkit.analysis.upstream.reading.files import parse
from patchkit.analysis.upstream.resolving.syntax import DEFS, SCOPES, Def, dotted
from patchkit.analysis.uses.scopes import stored
from patchkit.authoring.adopt.definitions import is_check, names_in
from patchkit.authoring.adopt.guards import bound
from patchkit.authoring.adopt.pile_reader import PileReader
from patchkit.authoring.adopt.placements import Placement
from patchkit.authoring.scaffold.rows import TextChange, offset

_PLAIN = (ast.Constant, ast.Name, ast.Attribute, ast.UnaryOp)  # the same each time
_WHEN = '''def when_{name}():
    """Ask whether this module has set it, as {path}:{line} does."""
    return "{name}" in globals() or "{path}:{line} does not set it here"
'''
_CONDITION = '''def {name}():
    """Ask what {path} asks."""
    return bool(({text})()) or "its condition does not hold"
'''
_VERIFY = '''def {name}():
    """Let the pile's own check raise what is wrong."""
    ({text})()
    return True
'''


class BodyText:
    """The text of a pile's module, changed a place at a time."""

    def __init__(self, reader: PileReader, modules: Mapping[str, str]) -> None:
        self._reader, self._modules = reader, modules
        self._tree = reader.module.tree
        self._source = decode_source(reader.module.source).encode()
        self._changes: dict[TextChange, None] = {}
        self._names: dict[ast.AST, str] = {}
        self._asked: dict[tuple[str, str], str] = {}
        self._more: dict[str, str] = {}
        once = Counter(name for one in self._tree.body for name in bound(one))
        several = [one for one in ast.walk(self._tree) if isinstance(one, ast.Name)]
        gone = {one.id for one in several if isinstance(one.ctx, ast.Del)}
        gone |= {*reader.module.rebound_in_functions()}
        self._bound = {name for name, count in once.items() if count == 1} - gone
        defined = {one.name for one in self._tree.body if isinstance(one, SCOPES)}
        self._defined = defined & self._bound

    def by(self, found: Placement) -> tuple[str, str]:
        """Name what a placement puts there, and, if that may be left out, what is only set then."""
        name = dotted(found.value)
        is_global = name.partition(".")[0] in self._bound
        is_kept = not found.function and (found.is_plain or not found.text)
        is_there = is_kept or found.text == "pass"
        is_alone = len(getattr(found.statement, "targets", ())) < 2
        if is_global and is_there and (is_alone or found.node is found.statement):
            is_whole = found.text.startswith("{}")
            self._cut(found.statement if is_whole else found.node, "" if is_whole else found.text)
            return name, "" if found.is_plain or found.text else name
        if found.node not in self._names:
            ends = re.sub(r"\W+", "_", "_".join(found.dotted_names[0].split(".")[-2:])).strip("_")
            self._names[found.node] = own = self._free(f"for_{ends}")
            self._assign(found, own)
        own = self._names[found.node]
        return name if name in self._defined else own, "" if found.is_plain else own

    def _assign(self, found: Placement, name: str) -> None:
        """Have the code keep the value under a name of the module."""
        outer = f"global {name}; " if found.function else ""
        if found.text:
            self._cut(found.node, outer + found.text.replace("{}", name, 1))
            return
        self._cut(found.node, "")  # a decorator
        end = span(self._source, found.statement)[1]
        margin = " " * getattr(found.statement, "col_offset", 0)
        self._changes[end, end, f"\n{margin}{outer}{name} = {dotted(found.value)}"] = None

    def when(self, found: Placement, name: str) -> str | None:
        """Name the function that says whether the module has set a name; None for none."""
        if not name.isidentifier():
            return None
        path, line = self._reader.module.path, found.statement.lineno
        self._more[f"when_{name}"] = _WHEN.format(name=name, path=path, line=line)
        return f"when_{name}"

    def asked(self, kind: str, node: ast.expr | None) -> str | None:
        """Name a function that asks a `condition` or a `verify` of the pile's."""
        if node is None:
            return None
        text, path = ast.unparse(node), self._reader.module.path
        name = self._asked.setdefault((kind, text), f"{kind}_{len(self._asked)}")
        form = {"when": _CONDITION, "verify": _VERIFY}[kind]
        self._more[name] = form.format(name=name, text=text, path=path)
        return name

    def wrapped(self, found: Placement, *, is_method: bool) -> bool:
        """Make a wrapper of a function that calls the original it has saved, if that can be."""
        try:
            changes = list(_wrapper(self._reader, self._source, found, is_method=is_method))
        except SyntaxError:
            return False
        self._changes.update(dict.fromkeys(changes))
        for node, of in self._reader.saved.values() if changes else ():
            if [of] == [*found.dotted_names]:
                self._cut(node, "")
        return bool(changes)

    def _cut(self, node: ast.AST, text: str) -> None:
        start, end = span(self._source, node)
        if not text:
            line = self._source.rfind(b"\n", 0, start) + 1
            margin = self._source[line:start]
            rest = self._source[end:]
            if isinstance(node, ast.stmt) and not margin and rest.lstrip(b" \t")[:1] != b";":
                end += len(rest) - len(rest.partition(b"\n")[2].lstrip(b"\n"))
            elif margin.strip() == b"@":
                start, end = line, self._source.find(b"\n", end) + 1
            else:
                text = "pass"
        self._changes[start, end, text] = None

    def _free(self, name: str) -> str:
        taken = set(self._names.values())
        while name in taken or re.search(rb"\b%s\b" % name.encode(), self._source):
            name += "_"
        return name

    def text(self, title: str) -> str:
        """Write it, with whole names of modules, and those of the pack for the pile's own."""
        values = {dotted(one.value) for one in self._reader.placements}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ImportFrom):
                self._import(node)
            elif is_check(node) and names_in(node) & values:  # not so before the row applies
                self._cut(node, "")
        text = applied(self._source, self._changes).decode().rstrip()
        gap = "\n" * ("coding" in text.partition("\n")[0])  # counts in the first two lines
        more = "".join(f"\n\n{one}" for one in self._more.values())
        return f"# {title}\n{gap}{text}\n{more}"

    def _import(self, node: ast.ImportFrom) -> None:
        base = self._reader.module.absolute(node.module, node.level) or ""
        if not node.level and not any(f"{one}.".startswith(f"{base}.") for one in self._modules):
            return
        lines = []
        for one in node.names:
            module, _, name = self._modules.get(f"{base}.{one.name}", "").rpartition(".")
            alias = ast.alias(name, one.asname or one.name) if name else one
            source = module or self._modules.get(base, base)
            lines.append(ast.unparse(ast.ImportFrom(source, [alias], 0)))
        start, end = span(self._source, node)
        self._changes[start, end, "; ".join(lines)] = None


def span(text: bytes, node: ast.AST) -> tuple[int, int]:
    """Find the bytes of a node, of a definition from its first decorator on."""
    marks = getattr(node, "decorator_list", ())
    lines = [getattr(one, "lineno", 1) for one in (node, *marks)]
    column = getattr(node, "col_offset", 0)
    end = getattr(node, "end_lineno", 1), getattr(node, "end_col_offset", 0)
    return offset(text, min(lines), column), offset(text, *end)


def applied(text: bytes, changes: Iterable[TextChange]) -> bytes:
    """Make changes of a text, from its end on; of those inside of another, only that one."""
    start = len(text) + 1
    ordered = sorted(changes, key=lambda one: (-one[1], one[0]))
    for first, end, new in ordered:
        if end <= start:
            text, start = text[:first] + new.encode() + text[end:], first
    return text


def _wrapper(
    reader: PileReader, source: bytes, found: Placement, *, is_method: bool
) -> Iterator[TextChange]:
    """Write a function that stands for an original as `by(wrapped, self, args, kwargs)`."""
    tree, place = reader.module.tree, [*found.dotted_names]
    tops = {one.name: one for one in tree.body if isinstance(one, DEFS)}
    function = tops.get(dotted(found.value))
    saved = {name: node for name, (node, of) in reader.saved.items() if [of] == place}
    same = [one for one in reader.placements if dotted(one.value) == dotted(found.value)]
    if function is None or len(saved) != 1 or any([*one.dotted_names] != place for one in same):
        return
    (name,) = saved
    nodes = list(ast.walk(function))
    calls = [one for one in nodes if isinstance(one, ast.Call) and dotted(one.func) == name]
    marks = [ast.unparse(one).removeprefix("functools.") for one in function.decorator_list]
    owner = function.args.args[0].arg if is_method and function.args.args else ""
    whole = len(calls) + len(marks) + 1  # with the statement that saves it
    if (
        found.is_plain
        and calls
        and set(marks) <= {f"wraps({name})"}
        and (_uses(tree, name), _uses(tree, function.name)) == (whole, len(same))
        and all(not is_method or dotted((*one.args, one)[0]) == owner for one in calls)
        and not _clashes(function, name, owner)
    ):
        within = [change for call in calls for change in _called(source, call, owner)]
        yield (*span(source, function), _wrapper_text(source, function, within, owner))


def _uses(node: ast.AST, name: str) -> int:
    return sum(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))


def _clashes(function: Def, name: str, owner: str) -> bool:
    """Whether a wrapper has names for something else, new defaults, or texts that move right."""
    texts = (one for one in ast.walk(function) if isinstance(one, (ast.Constant, ast.JoinedStr)))
    several = [one for one in texts if one.lineno != one.end_lineno]
    is_long = len(several) > (ast.get_docstring(function) is not None)
    own = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    given = [one.arg for one in ast.walk(function) if isinstance(one, ast.arg)]
    given += stored(function)
    new = {"wrapped", "call"} | ({"args", "kwargs"} - own) | ({"args", "kwargs"} & {owner})
    defaults = filter(None, (*function.args.defaults, *function.args.kw_defaults))
    is_shadowed = name in given or given.count(owner) > bool(owner)
    is_made = not all(isinstance(one, _PLAIN) for one in defaults)
    return is_long or is_shadowed or is_made or bool(new & ({*given} | names_in(function)))


def _called(source: bytes, call: ast.Call, owner: str) -> Iterator[TextChange]:
    yield (*span(source, call.func), "wrapped")
    if owner:
        start, end = span(source, call.args[0])
        following = [span(source, one)[0] for one in (*call.args[1:], *call.keywords)]
        yield start, min(following, default=end), ""


def _wrapper_text(source: bytes, function: Def, within: Iterable[TextChange], owner: str) -> str:
    given, start = copy.deepcopy(function.args), offset(source, function.lineno, 0)
    moved = [(one[0] - start, one[1] - start, one[2]) for one in within]
    lines = applied(source[start : span(source, function)[1]], moved).decode().split("\n")
    head = next((at for at in range(1, len(lines)) if not parse(_closed(lines[:at]))[1]), 0)
    if not head:
        raise SyntaxError("its header shares a line with its body")
    given.args = given.args[bool(owner) :]
    catches = (given.vararg, given.kwarg)
    is_simple = all(catches) and not [*given.posonlyargs, *given.args, *given.kwonlyargs]
    names = [one.arg for one in catches if one] if is_simple else ["args", "kwargs"]
    first = f"def {function.name}(wrapped, {owner or '_instance'}, {', '.join(names)}):"
    if is_simple and isinstance(function, ast.FunctionDef):
        return "\n".join([first, *lines[head:]])
    inner = lines[0].partition("def")[0] + f"def call({ast.unparse(given)}):"
    text = indent("\n".join([inner, *lines[head:]]), "    ")
    return f"{first}\n{text}\n\n    return call(*args, **kwargs)"


def _closed(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n    pass\n").encode()
