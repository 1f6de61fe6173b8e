from __future__ import annotations

import ast
import importlib
import textwrap
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis.upstream.memory import Memory
from patchkit.analysis.upstream.moves.catalog import Likeness
from patchkit.analysis.upstream.moves.evidence import RENAMED
from patchkit.analysis.upstream.moves.whereabouts import MoveResult, MoveSearch
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    import random

BODY = """
    def {name}(self, ranks, device):
        for rank in ranks:
            if rank.is_ready(device):
                self.adjusted[rank.number] = rank.adjust(device, ranks)
        return sorted(self.adjusted.values())
"""
OTHER = """
    def {name}(self, path):
        with open(path) as file:
            return [line.strip() for line in file]
"""
SMALL = """
    def {name}(self):
        return self.x
"""
WORKER = f"class Worker:{BODY.format(name='adjust')}{OTHER.format(name='read')}"
OLD = {"up.": "", "up.old": WORKER}


def likeness_of(node: ast.AST, other: ast.AST) -> float:
    """From 0 to 1, how alike two definitions are, whatever their names and decorators."""
    return Likeness([node]).to(Likeness([other]))


def search(
    target: str, new: dict[str, str], old: dict[str, str] | None = None
) -> MoveResult:
    """What became of a target of the old release in a new one."""
    old_modules = OLD if old is None else old
    before = Resolver(Memory({"up.": "", **old_modules}))
    after = Resolver(Memory({"up.": "", **new}))
    return MoveSearch(after, before).find(Target.parse(target))


def by_name(target: str, new: dict[str, str]) -> MoveResult:
    """What is said of a target of which no release is known that has it."""
    after = Resolver(Memory({"up.": "", **new}))
    return MoveSearch(after, None).find(Target.parse(target))


def place(result: MoveResult) -> str | None:
    """The place that a search found, as text; None if it found none."""
    return str(result.place) if result.place else None


def function(name: str, body: str = BODY) -> str:
    """A method's text as a function's."""
    return body.format(name=name).replace("\n    ", "\n")


# --- classes and functions


def test_finds_a_class_that_moved() -> None:
    """The same name and source in another module is found, as moved."""
    found = search("up.old:Worker", {"up.new.place": WORKER})
    assert found.words == "moved to up.new.place:Worker, 100% alike"
    assert (place(found), found.likeness) == ("up.new.place:Worker", 1)


def test_finds_what_was_renamed() -> None:
    """A function of the same source in the same module is found by its source."""
    found = search("up.old:f", {"up.old": function("g")}, {"up.old": function("f")})
    assert found.words == "renamed to up.old:g, 100% alike"


def test_finds_what_moved_to_a_file_that_was_there() -> None:
    """A file that both releases have, and that has grown, is looked into too."""
    old = {"up.old": function("f"), "up.more": "def unrelated(): ...\n"}
    new = {"up.old": "", "up.more": f"def unrelated(): ...\n{function('f')}"}
    assert place(search("up.old:f", new, old)) == "up.more:f"


def test_of_two_namesakes_the_likest_is_found() -> None:
    """Of two classes of the same name, the one whose source is more alike is found."""
    edited = WORKER.replace("sorted", "list")
    found = search("up.old:Worker", {"up.a": edited, "up.b": WORKER})
    assert place(found) == "up.b:Worker"


def test_what_was_there_beside_it_is_no_move() -> None:
    """A copy that the old release has too is not where the other went."""
    old = {"up.old": function("f"), "up.twin": function("f")}
    new = {"up.twin": function("f")}
    assert place(search("up.old:f", new, old)) is None


def test_what_came_along_with_its_own_module_is_no_move() -> None:
    """A function of the same source that its own module brought along is not where another went."""
    old = {
        "up.old": function("f"),
        "up.a.tool": f"{function('g')}\n{function('h', OTHER)}",
    }
    new = {"up.b.tool": old["up.a.tool"]}
    assert place(search("up.old:f", new, old)) is None


def test_a_sibling_that_moved_along_is_no_rename() -> None:
    """Where the module moved without the target, a like sibling in it is not the target renamed."""
    old = {"up.old": function("f") + function("g").replace("sorted", "tuple")}
    new = {"up.v2.old": function("g").replace("sorted", "tuple")}
    assert place(search("up.old:f", new, old)) is None


def test_a_function_is_found_under_what_was_its_alias() -> None:
    """A name that was an alias of the target, and now defines the same source, is where it went."""
    old = {"up.old": f"{function('g')}\nf = g\n"}
    assert place(search("up.old:g", {"up.old": function("f")}, old)) == "up.old:f"


def test_another_function_of_the_name_is_no_move() -> None:
    """A name in an unrelated module with an unlike source is not offered."""
    new = {"up.new": function("f", OTHER)}
    found = search("up.old:f", new, {"up.old": function("f")})
    assert found == MoveResult(None, None, "")


def test_a_trivial_source_is_no_evidence() -> None:
    """A small function of the same name and source in another module is not offered."""
    old = {"up.old": function("f", SMALL)}
    assert place(search("up.old:f", {"up.new": function("f", SMALL)}, old)) is None


def test_a_trivial_source_goes_with_its_module() -> None:
    """A small function is found in a file that took more of its module; a constant is not."""
    source = "LIMIT = 3\n" + function("f", SMALL) + function("g", OTHER)
    old = {"up.old": source}
    new = {"up.new": source}
    found = search("up.old:f", new, old)
    assert (place(found), found.likeness) == ("up.new:f", 1)
    assert place(search("up.old:LIMIT", new, old)) is None


def test_an_imported_name_leads_to_its_definition() -> None:
    """A name that was imported leads to its definition, or to where that moved."""
    old = {"up.old": "from up.deep import f as g\n", "up.deep": function("f")}
    found = search("up.old:g", {"up.deep": function("f")}, old)
    assert found.words == "it was up.deep:f, which is still there, 100% alike"
    found = search("up.old:g", {"up.deeper": function("f")}, old)
    assert found.words == "it was up.deep:f, moved to up.deeper:f, 100% alike"


# --- methods


def test_a_method_goes_with_its_class() -> None:
    """The class is found by name and source, the method in it by its name."""
    edited = WORKER.replace("sorted", "list")
    found = search("up.old:Worker.adjust", {"up.new": edited})
    assert place(found) == "up.new:Worker.adjust"
    assert found.words.startswith("moved with up.old:Worker to up.new:Worker.adjust, ")


def test_a_method_is_found_where_its_class_inherits_it() -> None:
    """A method is found on its class where that moved and now inherits the method."""
    base = f"class Base:{BODY.format(name='adjust')}"
    new = {"up.new": f"{base}class Worker(Base):{OTHER.format(name='read')}"}
    old = {
        "up.old": f"class Worker:{OTHER.format(name='read')}{BODY.format(name='adjust')}"
    }
    assert place(search("up.old:Worker.adjust", new, old)) == "up.new:Worker.adjust"


def test_a_member_of_a_module_that_had_another_name_is_found() -> None:
    """`from up import ops` made `up.old:ops` a name of a module: what is in it has not moved."""
    text = textwrap.dedent(BODY.format(name="adjust"))
    old = {"up.old": "from up import ops", "up.ops": text}
    found = search("up.old:ops.adjust", {"up.old": "", "up.ops": text}, old)
    assert found.place == Target("up.ops", "adjust")
    found = search("up.old:ops.adjust", {"up.old": "", "up.ops": ""}, old)
    assert found == MoveResult(words="up.ops no longer has it")


def test_a_class_named_through_its_package_is_followed() -> None:
    """`up.old:ops.Worker` is the class `Worker` of the module `up.ops`, which has moved."""
    old = {"up.old": "from up import ops", "up.ops": WORKER}
    new = {"up.old": "from up import ops", "up.ops": "", "up.v2.ops": WORKER}
    found = search("up.old:ops.Worker", new, old)
    assert place(found) == "up.v2.ops:Worker"


def test_a_renamed_method_is_found_in_its_class() -> None:
    """A method of the same class with the same source and another name is found, as renamed."""
    new = {
        "up.old": f"class Worker:{BODY.format(name='set')}{OTHER.format(name='read')}"
    }
    found = search("up.old:Worker.adjust", new)
    assert found.words == "renamed to up.old:Worker.set, 100% alike"


def test_a_namesake_in_another_class_is_not_offered() -> None:
    """Where the class is gone, a method of the same name elsewhere says nothing."""
    other = f"class Parser:{OTHER.format(name='adjust')}{SMALL.format(name='size')}"
    found = search("up.old:Worker.adjust", {"up.new": other.replace("strip", "split")})
    assert found == MoveResult(None, None, "up.old:Worker is gone too")


def test_a_body_that_became_a_function_is_found_by_its_source() -> None:
    """A method whose body became a function of another module is found by its source."""
    new = {
        "up.old": f"class Worker:{OTHER.format(name='read')}",
        "up.new": function("adjust_all"),
    }
    found = search("up.old:Worker.adjust", new)
    words = (
        "up.old:Worker no longer has it; its body went to up.new:adjust_all, 100% alike"
    )
    assert found.words == words


def test_a_small_body_is_not_followed() -> None:
    """A small method is not found in another class: `return self.x` is in every release."""
    old = {
        "up.old": f"class Worker:{SMALL.format(name='size')}{OTHER.format(name='read')}"
    }
    new = {"up.new": f"class Actor:{SMALL.format(name='size')}"}
    assert place(search("up.old:Worker.size", new, old)) is None


def test_a_method_that_is_no_longer_inherited_is_found_in_its_base() -> None:
    """The base that has the method is named, and that the class no longer derives from it."""
    base = f"class Base:{BODY.format(name='adjust')}"
    old = {"up.old": f"{base}class Worker(Base): ...\n"}
    new = {"up.old": f"{base}class Worker: ...\n"}
    found = search("up.old:Worker.adjust", new, old)
    assert place(found) == "up.old:Base.adjust"
    assert "no longer derives from" in found.words


def test_what_a_class_only_assigns_came_from_no_base() -> None:
    """`kind = Kind.ONE` is the value of another class: that is there still, and took no place."""
    kinds = "class Kind:\n    ONE = (1, 2, 3)\n"
    old = {"up.old": f"{kinds}class Worker:\n    kind = Kind.ONE\n"}
    new = {"up.old": f"{kinds}class Worker:\n    _kind = Kind.ONE\n"}
    found = search("up.old:Worker.kind", new, old)
    assert place(found) is None
    assert found.words == "up.old:Worker no longer has it"


# --- modules, and what nothing is known of


def test_finds_a_module_that_moved() -> None:
    """A missing module is found by its name together with what it defines."""
    found = search("up.old", {"up.v2.old": WORKER})
    assert found.words == "moved to up.v2.old, 100% alike"
    namesake = {"up.v2.old": function("f", OTHER)}
    assert place(search("up.old", namesake)) is None


def test_without_an_old_release_a_unique_name_is_found_by_name_only() -> None:
    """Without a release that has the target, its full name decides if only one thing has it."""
    found = by_name("up.old:Worker.adjust", {"up.new": WORKER})
    assert (place(found), found.likeness) == ("up.new:Worker.adjust", None)
    assert found.words.endswith("by name only")
    of_two = by_name("up.old:Worker.adjust", {"up.a": WORKER, "up.b": WORKER})
    assert place(of_two) is None
    assert place(by_name("up.old", {"up.v2.old": ""})) == "up.v2.old"


# --- what is read


def test_files_that_are_the_same_are_not_read() -> None:
    """Of a hundred files that both releases have, none is read; the new file is."""
    same = {f"up.same{n}": function(f"f{n}", OTHER) for n in range(100)}
    source = Memory({"up.": "", "up.new": WORKER, **same})
    old = Resolver(Memory({**OLD, **same}))
    assert MoveSearch(Resolver(source), old).find(Target.parse("up.old:Worker")).place
    assert set(source.read_paths) - {"up/__init__.py"} == {"up/new.py"}


def test_an_error_is_raised_again_when_a_target_is_searched_again() -> None:
    """A target of a release that cannot be read is an error at every search, and never gone."""

    class Unreadable(Memory):
        is_offline = False

        def read(self, path: str) -> bytes | None:
            if self.is_offline:
                raise UpstreamError("the index does not answer")
            return super().read(path)

    source = Unreadable({"up.": "", "up.new": WORKER})
    moves = MoveSearch(Resolver(source), Resolver(Memory({"up.": "", **OLD})))
    source.is_offline = True
    for _ in range(2):
        with pytest.raises(UpstreamError):
            moves.find(Target.parse("up.old:Worker"))


# --- laws, on source that others wrote

Defined = ast.FunctionDef | ast.ClassDef
DEFINED = (ast.FunctionDef, ast.ClassDef)

STANDARD = ("textwrap", "queue", "sched", "shlex", "string", "cmd", "fileinput")


@lru_cache
def standard(name: str) -> str:
    """The source of a standard module, in the layout of this Python's `unparse`."""
    module = importlib.import_module(name)
    return ast.unparse(ast.parse(Path(str(module.__file__)).read_text()))


@lru_cache
def telling(name: str) -> list[str]:
    """The definitions of a standard module that say enough, and are unlike any other."""
    statements = ast.parse(standard(name)).body
    definitions = [node for node in statements if isinstance(node, DEFINED)]
    names = [node.name for node in definitions]
    telling_names: list[str] = []
    for node in definitions:
        if names.count(node.name) > 1 or not Likeness([node]).is_telling:
            continue
        others = [other for other in definitions if other is not node]
        if all(likeness_of(node, other) < 0.5 for other in others):
            telling_names.append(node.name)
    return telling_names


def taken_out(name: str, defined: str) -> tuple[ast.Module, Defined]:
    """A standard module without one of its definitions, and that definition."""
    tree = ast.parse(standard(name))
    definitions = [node for node in tree.body if isinstance(node, DEFINED)]
    chosen = next(node for node in definitions if node.name == defined)
    tree.body.remove(chosen)
    return tree, chosen


def methods_of(node: Defined) -> list[ast.FunctionDef]:
    """The methods of a class."""
    return [member for member in node.body if isinstance(member, ast.FunctionDef)]


@given(
    st.sampled_from(STANDARD),
    st.randoms(use_true_random=False),
    st.booleans(),
    st.sampled_from(["up.old", "up.new", "up.other"]),
)
@settings(max_examples=20, deadline=None)
def test_whatever_is_renamed_or_moved_is_found(
    name: str, chance: random.Random, is_renamed: bool, destination: str
) -> None:
    """A telling definition is found in its module, a new one, or one that was there before."""
    assume(is_renamed or destination != "up.old")
    old_name = chance.choice(telling(name))
    tree, chosen = taken_out(name, old_name)
    other = standard("fnmatch")
    if is_renamed:
        chosen.name = "named_anew"
    new = {"up.old": ast.unparse(tree), "up.other": other, "up.new": ""}
    new[destination] = f"{new[destination]}\n{ast.unparse(chosen)}\n"
    old = {"up.old": standard(name), "up.other": other}
    found = search(f"up.old:{old_name}", new, old)
    assert place(found) == f"{destination}:{chosen.name}"
    assert found.likeness == 1


@given(
    st.sampled_from(STANDARD),
    st.randoms(use_true_random=False),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_whatever_class_moves_takes_its_methods(
    name: str, chance: random.Random, is_renamed: bool, is_edited: bool
) -> None:
    """Any method of a class that moved is found in it, also if the class was renamed or edited."""
    old_name = chance.choice(telling(name))
    tree, chosen = taken_out(name, old_name)
    assume(isinstance(chosen, ast.ClassDef) and methods_of(chosen))
    method = chance.choice(methods_of(chosen)).name
    if is_renamed:
        chosen.name = "NamedAnew"
    if is_edited:
        before = ast.parse(ast.unparse(chosen)).body[0]
        chosen.body.append(ast.parse("def more(self): return 1").body[0])
        assume(likeness_of(chosen, before) > RENAMED)
    new = {"up.old": ast.unparse(tree), "up.new": ast.unparse(chosen)}
    found = search(f"up.old:{old_name}.{method}", new, {"up.old": standard(name)})
    assert place(found) == f"up.new:{chosen.name}.{method}"


@given(
    st.sampled_from(STANDARD),
    st.sampled_from(STANDARD),
    st.randoms(use_true_random=False),
)
@settings(max_examples=20, deadline=None)
def test_no_namesake_of_a_vanished_class_is_ever_offered(
    name: str, other: str, chance: random.Random
) -> None:
    """A new class with methods of the same names and other bodies is not where a class went."""
    statements = ast.parse(standard(name)).body
    classes = [
        node.name
        for node in statements
        if isinstance(node, ast.ClassDef) and methods_of(node)
    ]
    tree, chosen = taken_out(name, chance.choice(classes))
    other_nodes = ast.walk(ast.parse(standard(other)))
    donors = [node for node in other_nodes if isinstance(node, ast.FunctionDef)]
    assume(name != other and donors)
    namesakes = ast.ClassDef("Unrelated", [], [], [], [])
    for method in methods_of(chosen):
        donor = chance.choice(donors)
        assume(likeness_of(method, donor) < RENAMED)
        namesake = ast.FunctionDef(method.name, donor.args, donor.body, [])
        namesakes.body.append(namesake)
    text = ast.unparse(ast.fix_missing_locations(namesakes))
    target = f"up.old:{chosen.name}.{chance.choice(methods_of(chosen)).name}"
    new = {"up.old": ast.unparse(tree), "up.new": text}
    found = search(target, new, {"up.old": standard(name)})
    assert found.place is None
    assert found.words == f"up.old:{chosen.name} is gone too"
