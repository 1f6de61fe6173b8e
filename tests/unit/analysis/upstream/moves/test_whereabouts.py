from __future__ import annotations

import ast
import importlib
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


def likeness_of(one: ast.AST, other: ast.AST) -> float:
    """From 0 to 1, how alike two definitions are, whatever their names and decorators."""
    return Likeness([one]).to(Likeness([other]))


def search(
    target: str, new: dict[str, str], old: dict[str, str] | None = None
) -> MoveResult:
    """What became of a target of the old release in a new one."""
    before = Resolver(Memory({"up.": "", **(OLD if old is None else old)}))
    return MoveSearch(Resolver(Memory({"up.": "", **new})), before).find(
        Target.parse(target)
    )


def by_name(target: str, new: dict[str, str]) -> MoveResult:
    """What is said of a target of which no release is known that has it."""
    return MoveSearch(Resolver(Memory({"up.": "", **new})), None).find(
        Target.parse(target)
    )


def place(found: MoveResult) -> str | None:
    """Where it is, as text."""
    return str(found.place) if found.place else None


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


def test_of_several_the_likest() -> None:
    """Of two of the same name, the one whose source is nearer."""
    near = WORKER.replace("sorted", "list")
    assert (
        place(search("up.old:Worker", {"up.a": near, "up.b": WORKER})) == "up.b:Worker"
    )


def test_what_was_there_beside_it_is_no_move() -> None:
    """A copy that the old release has too is not where the other went."""
    twins = {"up.old": function("f"), "up.twin": function("f")}
    assert place(search("up.old:f", {"up.twin": twins["up.twin"]}, twins)) is None


def test_what_moved_from_somewhere_else_is_no_move() -> None:
    """A package that moved whole brings what it had, and that was there already."""
    old = {
        "up.old": function("f"),
        "up.a.tool": f"{function('g')}\n{function('h', OTHER)}",
    }
    assert place(search("up.old:f", {"up.b.tool": old["up.a.tool"]}, old)) is None


def test_a_sibling_that_moved_along_is_no_rename() -> None:
    """Where the module moved and lost the target, what it kept has its own name."""
    old = {"up.old": function("f") + function("g").replace("sorted", "tuple")}
    new = {"up.v2.old": function("g").replace("sorted", "tuple")}
    assert place(search("up.old:f", new, old)) is None


def test_another_name_beside_it_is_no_definition_of_its_own() -> None:
    """Followed backwards, what was renamed and left its old name as an alias is found."""
    old = {"up.old": f"{function('g')}\nf = g\n"}
    assert place(search("up.old:g", {"up.old": function("f")}, old)) == "up.old:f"


def test_another_function_of_the_name_is_no_move() -> None:
    """A name in an unrelated module with an unlike source is not offered."""
    new = {"up.new": function("f", OTHER)}
    assert search("up.old:f", new, {"up.old": function("f")}) == MoveResult(
        None, None, ""
    )


def test_a_trivial_source_is_no_evidence() -> None:
    """The same few words under the same name elsewhere say nothing."""
    old = {"up.old": function("f", SMALL)}
    assert place(search("up.old:f", {"up.new": function("f", SMALL)}, old)) is None


def test_a_trivial_source_goes_with_its_module() -> None:
    """Where a file took more of what the module defined, the name is enough."""
    source = "LIMIT = 3\n" + function("f", SMALL) + function("g", OTHER)
    found = search("up.old:f", {"up.new": source}, {"up.old": source})
    assert (place(found), found.likeness) == ("up.new:f", 1)
    assert place(search("up.old:LIMIT", {"up.new": source}, {"up.old": source})) is None


def test_what_was_imported_is_where_it_was_defined() -> None:
    """A name that only stood for another leads to that, or to where that went."""
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
    """A class that moved and left a method to its base still has it."""
    base = f"class Base:{BODY.format(name='adjust')}"
    new = {"up.new": f"{base}class Worker(Base):{OTHER.format(name='read')}"}
    old = {
        "up.old": f"class Worker:{OTHER.format(name='read')}{BODY.format(name='adjust')}"
    }
    assert place(search("up.old:Worker.adjust", new, old)) == "up.new:Worker.adjust"


def test_a_method_that_was_renamed() -> None:
    """In its class, another name with the same source is the method."""
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
    """Outside of its class a method is only found where its source is nearly the same."""
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
    """`return self.x` is in every release, and no evidence."""
    old = {
        "up.old": f"class Worker:{SMALL.format(name='size')}{OTHER.format(name='read')}"
    }
    new = {"up.new": f"class Actor:{SMALL.format(name='size')}"}
    assert place(search("up.old:Worker.size", new, old)) is None


def test_what_a_class_no_longer_inherits() -> None:
    """The base that had it is named, and that the class does not derive from it."""
    base = f"class Base:{BODY.format(name='adjust')}"
    old = {"up.old": f"{base}class Worker(Base): ...\n"}
    found = search(
        "up.old:Worker.adjust", {"up.old": f"{base}class Worker: ...\n"}, old
    )
    assert place(found) == "up.old:Base.adjust"
    assert "no longer derives from" in found.words


# --- modules, and what nothing is known of


def test_finds_a_module_that_moved() -> None:
    """A missing module is found by its name and by what it defines."""
    assert (
        search("up.old", {"up.v2.old": WORKER}).words
        == "moved to up.v2.old, 100% alike"
    )
    assert place(search("up.old", {"up.v2.old": function("f", OTHER)})) is None


def test_without_a_release_that_had_it_the_name_alone_is_said_to_decide() -> None:
    """Something of the whole name is mentioned where there is one such thing."""
    found = by_name("up.old:Worker.adjust", {"up.new": WORKER})
    assert (place(found), found.likeness) == ("up.new:Worker.adjust", None)
    assert found.words.endswith("by name only")
    assert (
        place(by_name("up.old:Worker.adjust", {"up.a": WORKER, "up.b": WORKER})) is None
    )
    assert place(by_name("up.old", {"up.v2.old": ""})) == "up.v2.old"


# --- what is read


def test_files_that_are_the_same_are_not_read() -> None:
    """Of a release with a hundred files the one that is new is read."""
    same = {f"up.same{at}": function(f"f{at}", OTHER) for at in range(100)}
    source = Memory({"up.": "", "up.new": WORKER, **same})
    old = Resolver(Memory({**OLD, **same}))
    assert MoveSearch(Resolver(source), old).find(Target.parse("up.old:Worker")).place
    assert set(source.read_paths) == {"up/new.py"} | (
        {"up/__init__.py"} & set(source.read_paths)
    )


def test_an_error_is_raised_again_when_a_target_is_searched_again() -> None:
    """What could not be read the first time is not gone the second time."""

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
    several = [
        one for one in ast.parse(standard(name)).body if isinstance(one, DEFINED)
    ]
    names = [one.name for one in several]
    return [
        one.name
        for one in several
        if names.count(one.name) == 1
        and Likeness([one]).is_telling
        and all(likeness_of(one, other) < 0.5 for other in several if other is not one)
    ]


def taken(name: str, what: str) -> tuple[ast.Module, Defined]:
    """A standard module without one of its definitions, and that."""
    tree = ast.parse(standard(name))
    chosen = next(
        one for one in tree.body if isinstance(one, DEFINED) and one.name == what
    )
    tree.body.remove(chosen)
    return tree, chosen


def methods_of(node: Defined) -> list[ast.FunctionDef]:
    """The methods of a class."""
    return [one for one in node.body if isinstance(one, ast.FunctionDef)]


@given(
    st.sampled_from(STANDARD),
    st.randoms(use_true_random=False),
    st.booleans(),
    st.sampled_from(["up.old", "up.new", "up.other"]),
)
@settings(max_examples=20, deadline=None)
def test_whatever_is_renamed_or_moved_is_found(
    name: str, chance: random.Random, is_renamed: bool, to: str
) -> None:
    """Any definition that says enough, in its module, a new one, or one that was there."""
    assume(is_renamed or to != "up.old")
    tree, chosen = taken(name, old_name := chance.choice(telling(name)))
    other = standard("fnmatch")
    if is_renamed:
        chosen.name = "named_anew"
    texts = {"up.old": ast.unparse(tree), "up.other": other, "up.new": ""}
    texts[to] = f"{texts[to]}\n{ast.unparse(chosen)}\n"
    old = {"up.old": standard(name), "up.other": other}
    found = search(f"up.old:{old_name}", texts, old)
    assert place(found) == f"{to}:{chosen.name}"
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
    """However small a method is, and whatever else of the class was edited."""
    tree, chosen = taken(name, old_name := chance.choice(telling(name)))
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
    """New classes with methods of the same names and other bodies are not where it went."""
    everything = ast.parse(standard(name)).body
    classes = [
        one.name
        for one in everything
        if isinstance(one, ast.ClassDef) and methods_of(one)
    ]
    tree, chosen = taken(name, chance.choice(classes or [""]))
    others = ast.walk(ast.parse(standard(other)))
    bodies = [one for one in others if isinstance(one, ast.FunctionDef)]
    assume(name != other and bodies)
    namesakes = ast.ClassDef("Unrelated", [], [], [], [])
    for one in methods_of(chosen):
        body = chance.choice(bodies)
        assume(likeness_of(one, body) < RENAMED)
        namesakes.body.append(ast.FunctionDef(one.name, body.args, body.body, []))
    text = ast.unparse(ast.fix_missing_locations(namesakes))
    target = f"up.old:{chosen.name}.{chance.choice(methods_of(chosen)).name}"
    new = {"up.old": ast.unparse(tree), "up.new": text}
    found = search(target, new, {"up.old": standard(name)})
    assert found.place is None
    assert found.words == f"up.old:{chosen.name} is gone too"
