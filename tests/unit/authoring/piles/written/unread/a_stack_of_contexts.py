import contextlib
from unittest import mock

STACK = contextlib.ExitStack()


def register():
    for name, value in {"up.lib.g": lambda: "stacked", "up.kinds.limit": 5}.items():
        STACK.enter_context(mock.patch(name, value))
