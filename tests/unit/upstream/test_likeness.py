from __future__ import annotations

import ast

import pytest

from patchkit.target import Target
from patchkit.upstream.likeness import likeness_of, whereabouts
from patchkit.upstream.resolve import Resolver
from upstream.memory import Memory

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
OLD = {"up.": "", "up.old": f"class Worker:{BODY.format(name='adjust')}{OTHER.format(name='read')}"}


def found(new: dict[str, str], target: str, *, with_old: bool = True) -> list[str]:
    """Where a target of the old release went, in words."""
    missing = Target.parse(target)
    old = Resolver(Memory(OLD)).resolve(missing) if with_old else None
    modules = Resolver(Memory({"up.": "", **new})).modules
    return [one.words for one in whereabouts(modules, missing, old)]


def test_finds_a_class_that_moved() -> None:
    """The same name and source in another module is found, as moved."""
    words = found({"up.new.place": OLD["up.old"]}, "up.old:Worker")
    assert words[0] == "moved to up.new.place:Worker, 100% alike"


def test_finds_a_method_that_was_renamed() -> None:
    """The same source under another name is found, as renamed."""
    source = f"class Worker:{BODY.format(name='set_ranks')}{OTHER.format(name='read')}"
    words = found({"up.old": source}, "up.old:Worker.adjust")
    assert words[0] == "renamed to up.old:Worker.set_ranks, 100% alike"


def test_finds_what_moved_and_was_renamed_and_edited() -> None:
    """Neither name nor module nor every line is the same: likeness of the source is enough."""
    body = BODY.format(name="rank_again").replace("sorted", "list")
    words = found({"up.elsewhere": f"class Actor:{body}"}, "up.old:Worker.adjust")
    assert words[0].startswith("moved and renamed to up.elsewhere:Actor.rank_again, ")


def test_without_the_old_source_the_name_decides() -> None:
    """A module that defines the qualname is found by the name alone."""
    words = found({"up.new": OLD["up.old"]}, "up.old:Worker.adjust", with_old=False)
    assert words[0] == "moved to up.new:Worker.adjust, by its name"


def test_finds_a_module_that_moved() -> None:
    """A missing module is looked for by its last name."""
    assert found({"up.v2.old": ""}, "up.old", with_old=False)[0].startswith("moved to up.v2.old")


def test_nothing_alike_is_nothing() -> None:
    """A release without anything like it yields no candidate."""
    assert (
        found({"up.new": f"class Reader:{OTHER.format(name='lines')}"}, "up.old:Worker.adjust")
        == []
    )


def test_the_likest_comes_first() -> None:
    """Candidates are ranked, and no more are returned than asked for."""
    near = BODY.format(name="adjust").replace("sorted", "list")
    new = {
        "up.a": f"class Worker:{OTHER.format(name='adjust')}",
        "up.b": f"class Worker:{near}",
        "up.c": f"class Worker:{BODY.format(name='adjust')}",
    }
    words = found(new, "up.old:Worker.adjust")
    assert [one.split(":")[0] for one in words[:2]] == ["moved to up.c", "moved to up.b"]
    assert len(words) <= 3


def test_parses_only_files_that_may_hold_it() -> None:
    """A file with neither the name nor the old source's words is not parsed."""
    new = {"up.": "", "up.a": OLD["up.old"], "up.b": "def unrelated(): ...\n"}
    old = Resolver(Memory(OLD)).resolve(Target.parse("up.old:Worker"))
    modules = Resolver(Memory(new)).modules
    parsed: list[str] = []
    get = modules.get
    modules.get = lambda name: parsed.append(name) or get(name)  # type: ignore[method-assign]
    whereabouts(modules, old.target, old)
    assert parsed == ["up.a"]


def test_a_module_that_moved_whole_is_found_without_reading_the_release() -> None:
    """Files of the module's name are looked into first, and alone where that is enough."""
    old = Resolver(Memory(OLD)).resolve(Target.parse("up.old:Worker.adjust"))
    source = Memory({"up.": "", "up.v2.old": OLD["up.old"], "up.more": OLD["up.old"]})
    (found, *_) = whereabouts(Resolver(source).modules, old.target, old)
    assert str(found.target) == "up.v2.old:Worker.adjust"
    assert set(source.read_paths) == {"up/v2/old.py"}


@pytest.mark.parametrize(
    ("one", "other", "least", "most"),
    [
        ("def a(x): return x + 1", "def b(x): return x + 1", 1, 1),
        ("def a(x): return x + 1", "def a(x):\n 'Doc.'\n return x + 1", 1, 1),
        (BODY.format(name="a"), BODY.format(name="a").replace("sorted", "list"), 0.7, 0.99),
        (BODY.format(name="a"), OTHER.format(name="a"), 0, 0.3),
    ],
)
def test_likeness_goes_from_none_to_the_same(
    one: str, other: str, least: float, most: float
) -> None:
    """The name does not count, nor do docstrings; each edit lowers it."""
    nodes = [ast.parse(text.replace("\n    ", "\n").strip()).body[0] for text in (one, other)]
    assert least <= likeness_of(*nodes) <= most
