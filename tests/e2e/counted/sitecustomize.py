"""Counts calls without patchkit: the source of functions gets a line that appends a byte to a file.

COUNTED is a JSON object: the folder of the files, and the functions as `module:qualname`. The size
of `FUNCTION-PID` is the number of calls in that process, also if the process was killed;
`imported-MODULE-PID` is there where the module was executed, or inherited by a fork.
"""

import ast
import builtins
import json
import os
from importlib.machinery import SourceFileLoader

ASKED = json.loads(os.environ["COUNTED"])
FOLDER = ASKED["folder"]
FUNCTIONS = {}
for one in ASKED["functions"]:
    module, _, qualname = one.partition(":")
    FUNCTIONS.setdefault(module, set()).add(qualname)
EXECUTED = []


def append(name, data):
    path = f"{FOLDER}/{name}-{os.getpid()}"
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, data)
    os.close(file)


def count(function):
    append(function, b".")


def note_import(module):
    append(f"imported-{module}", b".")


def note_forked():
    for module in EXECUTED:
        note_import(module)


class Counting(ast.NodeTransformer):
    """Puts a call of `count` first into the functions that are asked for."""

    def __init__(self, module):
        self.module = module
        self.path = []

    def visit_scope(self, node):
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


def get_code(self, fullname):
    if fullname not in FUNCTIONS:
        return plain_code(self, fullname)
    tree = Counting(fullname).visit(ast.parse(self.get_source(fullname)))
    return compile(ast.fix_missing_locations(tree), self.get_filename(fullname), "exec")


plain_exec = SourceFileLoader.exec_module


def exec_module(self, module):
    plain_exec(self, module)
    if module.__name__ in FUNCTIONS:
        EXECUTED.append(module.__name__)
        note_import(module.__name__)


builtins.__count_a_call__ = count
SourceFileLoader.get_code = get_code
SourceFileLoader.exec_module = exec_module
os.register_at_fork(after_in_child=note_forked)
