"""Notes the edits of texts in a Python program that change nothing.

`python_runner` loads this file, and `watched_files.py` beside it, in the process of the program.

Calls of `replace`, `sub` and `subn` in the program are led through `EditWatch.call`. An edit counts
if its text is of a file of the release. It is idle if it matches nothing in any such text: one that
a condition has kept from running is none, and neither is one that matches in another file.
"""

import ast
import atexit
import builtins
import importlib.machinery
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

_METHODS = ("replace", "sub", "subn")
_HOOK = "__patchkit_edit__"
_COMPARED = "__patchkit_compared__"
_PATTERN = type(re.compile(""))
_SHOWN = 60
"""How many letters of an edit are shown."""


class OpenedFiles(Protocol):
    """The files of the release that a program opens: see `watched_files.py`.

    Args:
        log: The file that idle edits are written to.
    """

    log: str

    def are_origin_of(self, text: Any) -> bool:
        """Whether a text is that of a file, or a part of it.

        Args:
            text: The text, as `str` or `bytes`.
        """

    def add_text(self, text: Any) -> None:
        """Note a text that an edit has made of one of a file.

        Args:
            text: The text, as `str` or `bytes`.
        """

    def note_edited(self, text: Any) -> None:
        """Note that an edit of a text was tried.

        Args:
            text: The text, as `str` or `bytes`.
        """

    def idle_writes(self) -> list[tuple[str, int, str]]:
        """Return the places that wrote files as they were."""


class _Edit(NamedTuple):
    """An edit, which may be tried on several texts.

    Args:
        file: The file of the program that has it; '' where the program is in no file.
        line: The line of its call.
        column: The column of its call.
        method: `replace`, `sub` or `subn`.
        old: What it looks for.
        new: What it puts there.
    """

    file: str
    line: int
    column: int
    method: str
    old: str
    new: str


class _Call(NamedTuple):
    """What a call of `replace`, `sub` or `subn` was given.

    Args:
        text: The text that it edits.
        old: What it looks for: a text, or that of a pattern.
        new: What it puts there: a text, or a function.
        matches: Whether what it looks for is in the text.
    """

    text: Any
    old: Any
    new: Any
    matches: bool


class EditWatch:
    """Watches the edits of a program.

    Args:
        files: The files of the release that the program opens.
    """

    def __init__(self, files: OpenedFiles) -> None:
        self._files = files
        # By edit, the texts in which it has matched nothing; None once it has matched.
        self._idle: dict[_Edit, set[int] | None] = {}
        # The texts of which the program has seen that an edit left them as they were.
        self._seen_unchanged: set[int] = set()
        # By text, what edits have put into it.
        self._put_into: dict[int, set[str]] = {}

    def call(
        self,
        place: tuple[str, int, int],
        method: str,
        function: Callable[..., Any],
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Call a function for the program, and note the edit if it is one.

        Args:
            place: The file, the line and the column of the call.
            method: The name of the function.
            function: The function.
            args: Its arguments.
            kwargs: Its arguments by name.

        Returns:
            What the function returns.
        """
        result = function(*args, **kwargs)
        try:
            call = _read_call(function, args, kwargs)
            if call is not None and self._files.are_origin_of(call.text):
                edit = _Edit(*place, method, _text_of(call.old), _text_of(call.new))
                new_text = result[0] if isinstance(result, tuple) else result
                self._note(edit, call, new_text)
        except Exception:  # noqa: BLE001, S110 - the program goes on, whatever its objects do
            pass
        return result

    def compared(self, left: Any, right: Any) -> None:
        """Note that the program compares two values: a text before and after an edit, perhaps.

        Args:
            left: One of them.
            right: The other.
        """
        if (
            isinstance(left, (str, bytes))
            and type(left) is type(right)
            and left == right
        ):
            self._seen_unchanged.add(hash(left))

    def idle_edits(self) -> list[_Edit]:
        """Return the edits that have matched nothing, and in whose place none was made."""
        idle: list[_Edit] = []
        for edit, texts in self._idle.items():
            if texts and not all(self._is_answered(edit, text) for text in texts):
                idle.append(edit)
        return idle

    def _note(self, edit: _Edit, call: _Call, new_text: Any) -> None:
        """Note an edit of a text of the release, and what it has made of it."""
        self._files.note_edited(call.text)
        text = hash(call.text)
        if call.matches:
            self._idle[edit] = None
            self._files.add_text(new_text)
            self._put_into.setdefault(text, set()).add(edit.new)
            return
        if edit.method == "subn":
            self._seen_unchanged.add(text)  # the program has asked for the number
        texts = self._idle.setdefault(edit, set())
        if texts is not None:
            texts.add(text)

    def _is_answered(self, edit: _Edit, text: int) -> bool:
        """Whether the program has seen that an edit is idle, and put the same in by another."""
        was_put = edit.new in self._put_into.get(text, set())
        return text in self._seen_unchanged and was_put and edit.new.strip() != ""


def _read_call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> _Call | None:
    """Return what a call was given; None if it is no edit, or one of blanks alone."""
    if function in (re.sub, re.subn):
        pattern, new, text = _values(("pattern", "repl", "string"), args, kwargs)
        flags = kwargs.get("flags", args[4] if len(args) > 4 else 0)
        return _pattern_call(re.compile(pattern, flags), new, text)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, _PATTERN):
        new, text = _values(("repl", "string"), args, kwargs)
        return _pattern_call(owner, new, text)
    if function in (str.replace, bytes.replace):
        owner, *args = args
    if not isinstance(owner, (str, bytes)):
        return None
    old, new = args[:2]
    if not old.strip():
        return None  # line ends or indents in another form: nobody expects each text to have some
    return _Call(owner, old, new, old in owner)


def _pattern_call(pattern: Any, new: Any, text: Any) -> _Call:
    """Return what a call of a pattern's `sub` was given."""
    return _Call(text, pattern.pattern, new, pattern.search(text) is not None)


def _values(
    names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[Any]:
    """Return the values of the parameters that stand first in a call."""
    values = list(args[: len(names)])
    return values + [kwargs[name] for name in names[len(values) :]]


def _text_of(value: Any) -> str:
    """Write a text, a pattern, or the function that makes a new text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, str):
        return value
    return getattr(value, "__name__", "")


class _Instrument(ast.NodeTransformer):
    """Leads the calls of a program that may be edits, and its comparisons, through the watch.

    Args:
        file: The file that the calls are noted for.
    """

    def __init__(self, file: str) -> None:
        self._file = file

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Let the hook make a call of `replace`, `sub` or `subn`.

        Args:
            node: The call.

        Returns:
            What stands for it.
        """
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute):
            name = function.attr
        elif isinstance(function, ast.Name):
            name = function.id
        else:
            return node
        if name not in _METHODS:
            return node
        place = ast.Tuple([], ast.Load())
        for part in (self._file, node.lineno, node.col_offset):
            place.elts.append(ast.Constant(part))
        arguments = [place, ast.Constant(name), function, *node.args]
        call = ast.Call(ast.Name(_HOOK, ast.Load()), arguments, node.keywords)
        return ast.copy_location(call, node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Note both sides of `==` and `!=` if they are names, which may be evaluated twice.

        Args:
            node: The comparison.

        Returns:
            What stands for it.
        """
        self.generic_visit(node)
        left = node.left
        right = node.comparators[0]
        is_equality = isinstance(node.ops[0], (ast.Eq, ast.NotEq))
        if not is_equality or len(node.ops) > 1:
            return node
        if not isinstance(left, ast.Name) or not isinstance(right, ast.Name):
            return node
        # The hook returns None, so that the value is that of the comparison.
        noted = ast.Call(ast.Name(_COMPARED, ast.Load()), [left, right], [])
        return ast.copy_location(ast.BoolOp(ast.Or(), [noted, node]), node)


def instrumented(source: Any, file: str) -> Any:
    """Return the syntax tree of a program whose edits are watched.

    Args:
        source: The program.
        file: The file that it is of, or a name such as `<string>`.

    Returns:
        The tree, with calls of the hooks.

    Raises:
        SyntaxError: This Python cannot parse it.
    """
    noted_file = "" if file.startswith("<") else file
    tree = _Instrument(noted_file).visit(ast.parse(source, file))
    return ast.fix_missing_locations(tree)


def start(source: Any, file: str, folder: str, files: OpenedFiles) -> Any:
    """Watch the edits of a program, and write those that were idle to a log as it ends.

    Args:
        source: The program.
        file: The file that it is of, or a name such as `<string>`.
        folder: The folder of the file, whose modules are watched as well; '' for none.
        files: The files of the release that it opens.

    Returns:
        The code to execute.

    Raises:
        SyntaxError: This Python cannot parse it.
    """
    watch = EditWatch(files)
    setattr(builtins, _HOOK, watch.call)
    setattr(builtins, _COMPARED, watch.compared)
    atexit.register(_report, watch, files)
    if folder:
        _watch_imported(folder)
    return compile(instrumented(source, file), file, "exec")


def _watch_imported(folder: str) -> None:
    """Watch the modules that lie beside a program, too."""
    loader = importlib.machinery.SourceFileLoader
    original = loader.source_to_code

    def source_to_code(self: Any, data: Any, path: Any, **options: Any) -> Any:
        # An environment may lie there, whose packages edit nothing.
        is_installed = f"{os.sep}lib{os.sep}python" in str(path)
        if str(path).startswith(folder + os.sep) and not is_installed:
            data = instrumented(data, str(path))
        return original(self, data, path, **options)

    loader.source_to_code = source_to_code  # type: ignore[method-assign]


def _report(watch: EditWatch, files: OpenedFiles) -> None:
    """Write what was idle to the log, a line of JSON each."""
    lines: list[dict[str, Any]] = []
    for edit in watch.idle_edits():
        shown = edit.old
        if len(shown) > _SHOWN:
            shown = f"{shown[:_SHOWN]}…"
        code = f"{edit.method}({shown!r}, …)"
        lines.append(
            {"file": edit.file, "line": edit.line, "code": code, "text": edit.old}
        )
    for file, line, path in files.idle_writes():
        lines.append({"file": file, "line": line, "code": path, "text": ""})
    with open(files.log, "a", encoding="utf-8") as opened:  # noqa: PTH123 - whatever Python
        for entry in lines:
            opened.write(f"{json.dumps(entry)}\n")
