"""Tells by its text whether the code of a module may reach the namespace of the module."""

import re

_REACHES = (b"import_module(__name__)", b"global_enum", b"_convert_(")
"""What the text of a module has if its code may reach its namespace; most modules have none."""
_MAY_REACH = {
    b"globals(": re.compile(rb"globals(?<!\wglobals)\("),
    b"locals(": re.compile(rb"locals(?<!\wlocals)\("),
    b"vars(": re.compile(rb"vars(?<!\wvars)\(\s*\)"),
    b"exec(": re.compile(
        rb"exec(?:(?<![\w.]exec)|(?<=builtins\.exec)(?<![\w.]builtins\.exec))\("
    ),
    b"exec_(": re.compile(rb"exec_(?<!\wexec_)\("),
    b"(__name__)": re.compile(rb"__\w*\(__name__\)"),  # such as `__import__(__name__)`
    b"modules[": re.compile(rb"modules(?<!\wmodules)\[\s*(?:__name__|[\"'])"),
}
"""More of it: words, each with a pattern that tells it from other uses of the word.

A pattern that begins with a fixed text is searched for fastest, so it looks back for what comes
before. `vars(module)` needs something else of these that leads to the module.
"""


def may_reach(source: bytes) -> bool:
    """Whether the text of a module has what code needs to reach the module's namespace.

    Args:
        source: The content of its file.
    """
    if any(word in source for word in _REACHES):
        return True
    pairs = _MAY_REACH.items()
    return any(word in source and pattern.search(source) for word, pattern in pairs)
