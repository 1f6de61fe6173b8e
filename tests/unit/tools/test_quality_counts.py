"""`make quality`: how much code there is, how dense it is, and what its names say."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from quality import idioms, names, repetition, sizes
from quality.source import Module, read_package

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable
    from pathlib import Path


def module(text: str, file: str = "core/module.py") -> Module:
    """A module of the package; the file says which."""
    name = "patchkit." + file.removesuffix(".py").replace("/", ".")
    return Module(name, file, dedent(text))


def test_a_line_break_is_no_node() -> None:
    """However the code is laid out, it has the same number of syntax nodes."""
    short = module("total = [first, second + third]\n")
    long = module(
        """
        total = [
            first,
            second + third,  # a comment
        ]
        """
    )
    # Module, Assign, total, List, first, BinOp, second, third
    assert short.node_count == 8
    assert long.node_count == 8


def test_docstrings_comments_and_blank_lines_are_no_code() -> None:
    """A string with a name is code, all its lines; a string that documents is not."""
    text = '''
    """Of the module,
    on two lines."""

    # A comment.
    LIMIT = 1
    """Of the attribute."""
    TEXT = """
    within
    """


    def function():
        """Of the function."""
        return LIMIT  # the limit
    '''
    lines = dedent(text).splitlines()
    code = [lines[number - 1].strip() for number in module(text).code_lines]
    assert code[:4] == ["LIMIT = 1", 'TEXT = """', "within", '"""']
    assert code[4:] == ["def function():", "return LIMIT  # the limit"]


def test_density_is_of_all_lines_together_and_of_the_densest_file() -> None:
    """Nodes are divided by lines of code, of all modules or of each."""
    sparse = module("first = 1\n", "core/sparse.py")
    dense = module("first = 1; second = 2; third = 3\n", "core/dense.py")
    assert sizes.nodes_per_line([sparse, dense]) == (4 + 10) / 2
    assert sizes.densest([sparse, dense]) == (10, "core/dense.py")


def test_a_file_without_code_has_no_density() -> None:
    """An empty `__init__.py` is counted with the nodes that it has, and breaks nothing."""
    assert sizes.nodes_per_line([module("")]) == 1


@pytest.mark.parametrize(
    ("file", "wing", "room"),
    [
        ("auto.py", "doors", "auto"),
        ("runtime/process/session.py", "runtime", "runtime.process"),
        ("runtime/drift.py", "runtime", "runtime.drift"),
        ("platform/patch_torch.py", "platform", "platform"),
    ],
)
def test_wings_hold_rooms_and_flat_modules_are_doors(
    file: str, wing: str, room: str
) -> None:
    """A wing's folders are rooms; a pack is one as a whole, and so is a flat module."""
    assert module("", file).wing == wing
    assert module("", file).room == room


def test_nodes_are_added_up_by_wing() -> None:
    """Flat modules count together."""
    files = ["auto.py", "ray.py", "core/rows/target.py"]
    assert sizes.nodes_by_wing(module("", file) for file in files) == {
        "doors": 2,
        "core": 1,
    }


def test_modules_are_read_with_the_names_that_they_are_imported_by(
    tmp_path: Path,
) -> None:
    """`__init__.py` has the name of its folder."""
    folder = tmp_path / "patchkit" / "core"
    folder.mkdir(parents=True)
    for file in (
        folder.parent / "__init__.py",
        folder / "__init__.py",
        folder / "record.py",
    ):
        file.write_text("")
    names_read = [package_module.name for package_module in read_package(tmp_path)]
    assert names_read == ["patchkit", "patchkit.core", "patchkit.core.record"]


def test_names_are_bound_by_parameters_and_inside_functions() -> None:
    """What a module, a class or an import binds says what it is in another way."""
    text = """
    import found
    told = 1

    class Class:
        given = 2

        def method(self, one, *rest, some=None, **others):
            name = one
            for place in rest:
                name += place
            self.kept = [each for each in rest]
            return lambda way: way
    """
    bound = names.bound_names([module(text)])
    assert sorted(bound) == sorted(
        [
            "self",
            "one",
            "rest",
            "some",
            "others",
            "name",
            "place",
            "name",
            "each",
            "way",
        ]
    )
    assert [name for name in bound if name not in names.EMPTY] == [
        "self",
        "name",
        "name",
    ]


@pytest.mark.parametrize(
    ("is_idiom", "used", "not_used"),
    [
        (idioms.is_conditional_expression, ["a if b else c"], ["a or b"]),
        (idioms.is_tuple_assignment, ["a, b = x, y"], ["a, b = pair", "a = x, y"]),
        (
            idioms.is_nested_comprehension,
            ["[x for y in z for x in y]", "[[x for x in y] for y in z]"],
            ["[x for x in y if x]", "sorted(list(y))"],
        ),
        (
            idioms.is_conditional_loop,
            ["for x in xs if c else ():\n    pass", "[x for x in (xs if c else ())]"],
            ["for x in xs or ():\n    pass"],
        ),
        (
            idioms.is_splat,
            ['[*("a", "b")]', "{*[1, 2]}"],
            ["[*names]", "f(*arguments)"],
        ),
    ],
)
def test_an_idiom_is_known_by_its_syntax(
    is_idiom: Callable[[ast.AST], bool], used: list[str], not_used: list[str]
) -> None:
    """Each use is counted once, and what only looks alike is not."""
    for text in used:
        assert len(idioms.occurrences([module(text)], is_idiom)) == 1, text
    for text in not_used:
        assert not idioms.occurrences([module(text)], is_idiom), text


def test_idioms_are_counted_in_a_thousand_lines_and_shown_by_line() -> None:
    """The share counts all lines, and each use has its file and line."""
    text = "x = 1\n\ny = 1 if x else 2\n\n"
    modules = [module(text, "core/rows/target.py"), module("\n" * 6)]
    assert idioms.per_thousand_lines(modules, idioms.is_conditional_expression) == 100
    places = idioms.occurrences(modules, idioms.is_conditional_expression)
    assert places == [("core/rows/target.py", 3)]


def test_functions_are_as_long_as_from_def_to_their_end() -> None:
    """Decorators do not count; methods and functions in functions do, by themselves, too."""
    text = """
    @decorated
    def function():
        def inner():
            return 1

        return inner
    """
    assert sizes.function_lengths([module(text)]) == [2, 5]


def test_nine_of_ten_functions_are_no_longer() -> None:
    """The figure is that of the function after the first nine tenths."""
    assert sizes.ninth_tenth(list(range(1, 21))) == 19


def test_a_file_is_long_over_400_lines() -> None:
    """400 lines are in order."""
    modules = [
        module("\n" * 400, "core/in_order.py"),
        module("\n" * 401, "core/long.py"),
    ]
    assert sizes.long_files(modules) == ["core/long.py"]


def test_a_class_name_is_used_once() -> None:
    """Private classes may share a name, and public ones are shown with their modules."""
    modules = [
        module("class Row: pass\nclass _Page: pass\n", "core/a.py"),
        module("class Row: pass\nclass _Page: pass\n", "core/b.py"),
    ]
    assert repetition.shared_class_names(modules) == {
        "Row": ["patchkit.core.a", "patchkit.core.b"]
    }


def test_eight_equal_lines_of_code_are_a_repetition() -> None:
    """Imports, docstrings and blank lines do not count, and seven lines are in order."""
    lines = [f"step_{number}()\n" for number in range(8)]
    head = '"""A module."""\nimport step\n'
    eight = [
        module(head + "".join(lines), "core/a.py"),
        module("\n".join(lines), "core/b.py"),
    ]
    seven = [
        module(head + "".join(lines[:7]), file) for file in ("core/a.py", "core/b.py")
    ]
    assert repetition.repeated_lines(eight) == 16
    assert repetition.repeated_lines(seven) == 0
