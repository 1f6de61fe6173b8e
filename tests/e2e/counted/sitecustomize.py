"""Counts calls without patchkit: the source of functions gets a line that appends a byte to a file.

COUNTED is a JSON object: the folder of the files, and the functions as `module:qualname`. The size
of `FUNCTION-PID` is the number of calls in that process, also if the process was killed;
`imported-MODULE-PID` is there where the module was executed, or inherited by a fork.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
from importlib.machinery import SourceFileLoader
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType, ModuleType

ASKED = json.loads(os.environ["COUNTED"])
FUNCTIONS: dict[str, set[str]] = {}
for _function in ASKED["functions"]:
    _module, _, _qualname = _function.partition(":")
    FUNCTIONS.setdefault(_module, set()).add(_qualname)
EXECUTED: list[str] = []
LOADER: Any = SourceFileLoader


def append_to(name: str) -> None:
    """Append a byte to the file of this process."""
    path = f"{ASKED['folder']}/{name}-{os.getpid()}"
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, b".")
    os.close(file)


def note_import(module: str) -> None:
    """Leave a file that says that a module was imported."""
    append_to(f"imported-{module}")


def note_forked() -> None:
    """Leave files for the modules that a child has inherited."""
    for module in EXECUTED:
        note_import(module)


class Counting(ast.NodeTransformer):
    """Puts a line that counts first into the functions that are asked for."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.path: list[str] = []

    def visit_scope(self, node: Any) -> Any:
        """Visit a class or a function."""
        self.path.append(node.name)
        qualname = ".".join(self.path)
        is_function = not isinstance(node, ast.ClassDef)
        if is_function and qualname in FUNCTIONS[self.module]:
            line = f"__count_a_call__({f'{self.module}:{qualname}'!r})"
            node.body[:0] = ast.parse(line).body
        elif not is_function:
            self.generic_visit(node)
        self.path.pop()
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_scope


plain_code = SourceFileLoader.get_code
plain_exec = SourceFileLoader.exec_module


def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
    """Compile a module with lines that count, past the cache of byte code."""
    if fullname not in FUNCTIONS:
        return plain_code(self, fullname)
    source = self.get_source(fullname)
    assert source is not None
    tree = ast.fix_missing_locations(Counting(fullname).visit(ast.parse(source)))
    code: CodeType = compile(tree, self.get_filename(fullname), "exec")
    return code


def exec_module(self: SourceFileLoader, module: ModuleType) -> None:
    """Execute a module, and note that it was."""
    plain_exec(self, module)
    if module.__name__ in FUNCTIONS:
        EXECUTED.append(module.__name__)
        note_import(module.__name__)


vars(builtins)["__count_a_call__"] = append_to
LOADER.get_code = get_code
LOADER.exec_module = exec_module
os.register_at_fork(after_in_child=note_forked)
