"""Runs a Python program so that it takes itself for the original, and watches its edits of texts.

`stand_ins` copies this file beside the copy of a release, with `edit_watch.py` and
`watched_files.py`, and runs it as a program in place of Python itself. Its first argument is the
file that the program takes itself for, or ''; the others are those of Python: a file, `-c` and a
text, or `-` for a program on its standard input.
"""

import importlib.util
import os
import sys
import types
from typing import Any


def main() -> None:
    """Run the program that the arguments name."""
    tools = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    original, first, *others = sys.argv[1:]
    # A module of its own, in which the program finds no name of this one.
    module = types.ModuleType("__main__")
    folder = ""
    if first == "-c":
        source: Any = others.pop(0)
        name = "<string>"
    elif first == "-":
        source = sys.stdin.buffer.read()
        name = "<stdin>"
    else:
        with open(first, "rb") as file:  # noqa: PTH123 - whatever Python runs this
            source = file.read()
        name = first = original or first
        folder = os.path.dirname(os.path.abspath(name))  # noqa: PTH100, PTH120
        module.__file__ = os.path.abspath(name)  # noqa: PTH100
    sys.argv = [first, *others]
    sys.path[0] = folder
    watch = _loaded("edit_watch", tools)
    files = _loaded("watched_files", tools).WatchedFiles()
    code = watch.start(source, name, folder, files)
    sys.modules["__main__"] = module
    is_done = False
    try:
        exec(code, module.__dict__)  # noqa: S102 - the program that the user has named
        is_done = True
    except SystemExit as error:
        is_done = not error.code
        raise
    finally:
        files.note_end(["python3", first, *others], is_done=is_done)


def _loaded(name: str, folder: str) -> Any:
    """Load a module that lies beside this file, and that the program does not see.

    Args:
        name: The name of the module.
        folder: The folder of this file.
    """
    path = os.path.join(folder, name + ".py")  # noqa: PTH118
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
