"""`make quality`: what docstrings of public classes and functions leave out."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from quality.docstrings import documented
from quality.source import Module


def missing(text: str) -> dict[str, list[str]]:
    """What each definition with something to tell leaves out, by its name."""
    modules = [Module("patchkit.module", "module.py", dedent(text))]
    return {
        definition.name.removeprefix("patchkit.module:"): list(definition.missing)
        for definition in documented(modules)
    }


def function(docstring: str) -> str:
    """A function with parameters, a result and an error."""
    body = f'"""{dedent(docstring).strip()}\n"""\nraise LookupError(name)'
    return f"def find(name, *, default=None) -> str:\n{indent(body, '    ')}\n"


WHOLE = """
    Find a value by its name.

    Args:
        name: What to look for.
        default: What there is otherwise.

    Returns:
        The value.

    Raises:
        LookupError: There is none.
    """


def test_a_docstring_with_all_sections_leaves_nothing_out() -> None:
    """It has an entry for each parameter, the result, and the errors."""
    assert missing(function(WHOLE)) == {"find": []}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("name: What to look for.", "key: What to look for.", ["name"]),
        ("Returns:", "Note:", ["the result"]),
        ("LookupError: There", "ValueError: There", ["LookupError"]),
    ],
)
def test_what_is_left_out_is_named(old: str, new: str, expected: list[str]) -> None:
    """Each part of a docstring is missed by itself."""
    assert missing(function(WHOLE.replace(old, new))) == {"find": expected}


def test_prose_may_tell_as_sections_do() -> None:
    """Parameters are named as code, a result by a verb, an error by its class."""
    prose = (
        "Return the value of `name`, or `default`; LookupError says that there is none."
    )
    assert missing(function(prose)) == {"find": []}


def test_a_summary_alone_leaves_all_out() -> None:
    """The parameters, the result and the error are all missing."""
    expected = ["name", "default", "the result", "LookupError"]
    assert missing(function("Find a value.")) == {"find": expected}


def test_a_definition_without_a_docstring_leaves_all_out() -> None:
    """Such a definition is counted, not passed over."""
    assert missing("def find(name): pass") == {"find": ["name"]}


def test_what_has_nothing_to_tell_is_not_counted() -> None:
    """It has no parameters, results or errors of its own, or is an attribute or private."""
    text = """
    def start() -> None:
        def inner():
            raise ValueError
        try:
            inner()
        except ValueError as error:
            raise error

    def _find(name): pass

    class _Page:
        def find(self, name): pass

    class Page:
        @property
        def size(self) -> int: pass

        @staticmethod
        def open(): pass
    """
    assert missing(text) == {}


def test_commands_and_overloads_are_documented_in_another_way() -> None:
    """Options have their own help, and the implementation speaks for its overloads."""
    text = """
    @click.command("find")
    def command(name): pass

    @overload
    def find(name): pass
    """
    assert missing(text) == {}


def test_a_class_tells_of_its_constructor_or_of_its_fields() -> None:
    """It does so in its docstring, or by a string beneath a field."""
    text = '''
    class Reader:
        """Read from `source`."""

        def __init__(self, source, limit): pass

        def read(self, size): pass

    class Row:
        """A row.

        Attributes:
            name: Of the row.
        """

        name: str
        why: str
        """What it is for."""
        body: str
        kinds: ClassVar[int]
        _seen: bool
    '''
    assert missing(text) == {
        "Reader": ["limit"],
        "Reader.read": ["size"],
        "Row": ["body"],
    }
