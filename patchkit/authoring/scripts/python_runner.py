"""Runs a Python script whose paths were changed, so that it takes itself for the original.

`stand_ins` copies this file beside the copy, where it is run as a program.
"""

import os
import sys


def main() -> None:
    """Run the changed text in the first argument's file as the file in the second one."""
    changed, original = sys.argv[1:3]
    with open(changed, "rb") as file:  # noqa: PTH123 - whatever Python runs this
        code = compile(file.read(), original, "exec")
    sys.argv = [original, *sys.argv[3:]]
    sys.path[0] = os.path.dirname(original)  # noqa: PTH120
    namespace = sys.modules["__main__"].__dict__
    namespace["__file__"] = original
    exec(code, namespace)  # noqa: S102 - the script that the user has named


if __name__ == "__main__":
    main()
