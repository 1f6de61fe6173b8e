from __future__ import annotations

import graphlib
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.samples import VOCABULARY, pack_source, row, row_source

from patchkit import Role
from patchkit.errors import DeclarationError
from patchkit.registry import Registry, read_pack
from patchkit.settings import Settings

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping
    from pathlib import Path


def refusal(name: str) -> DeclarationError:
    """The error of reading a pack."""
    with pytest.raises(DeclarationError) as caught:
        read_pack(name)
    return caught.value


# -- the object ------------------------------------------------------------------------------------


def test_a_registry_is_asked_like_a_mapping_of_rows() -> None:
    """Rows are found by name, counted, iterated and shown."""
    one = row("one")
    two = row("two")
    registry = Registry([one, two])
    assert registry["two"] is two
    assert list(registry) == [one, two]
    assert "one" in registry
    assert "three" not in registry
    assert len(registry) == 2
    assert "one, two" in repr(registry)


def test_a_row_knows_its_body() -> None:
    """The body's full name joins pack and file."""
    assert row(pack="outsider.platform").body == "outsider.platform.patch_a"


def test_two_registries_share_nothing() -> None:
    """A name that is taken in one registry is free in another."""
    assert Registry([row()])["a-patch"] == Registry([row()])["a-patch"]


@pytest.mark.parametrize("other", ["pack", "another.pack"])
def test_a_duplicate_name_names_both_parties(other: str) -> None:
    """A name that is taken, in the same pack or another, is refused with both sides named."""
    with pytest.raises(DeclarationError) as caught:
        Registry([row(pack="pack"), row(pack=other)])
    error = caught.value
    assert (error.pack, error.patch, error.field) == (other, "a-patch", "name")
    assert "pack pack as well" in error.found


# -- order -----------------------------------------------------------------------------------------


def test_an_unknown_after_is_refused() -> None:
    """A patch cannot come after one that no pack declares."""
    with pytest.raises(DeclarationError) as caught:
        Registry([row("one", after=("nobody",))])
    error = caught.value
    assert (error.pack, error.patch, error.field) == ("pack", "one", "after")
    assert error.expected == "a patch's name"
    assert "'nobody'" in error.found


def test_the_name_that_an_unknown_after_may_mean_is_told() -> None:
    """A slip is seen at once."""
    with pytest.raises(DeclarationError, match=r"; did you mean core-fast\?"):
        Registry([row("one", after=("core-fats",)), row("core-fast")])


@pytest.mark.parametrize(
    ("after", "circle"),
    [
        ({"one": ["one"]}, "one -> one"),
        ({"one": ["two"], "two": ["one"]}, "one -> two -> one"),
        (
            {"zero": ["one"], "one": ["two"], "two": ["three"], "three": ["one"]},
            "one -> two -> thr",
        ),
    ],
)
def test_a_circle_is_shown(after: Mapping[str, list[str]], circle: str) -> None:
    """Patches that wait for each other are refused, with the way round."""
    with pytest.raises(DeclarationError) as caught:
        Registry(row(name, after=tuple(names)) for name, names in after.items())
    assert caught.value.field == "after"
    assert circle in caught.value.found


_NAMES = [f"p{number}" for number in range(7)]
_GRAPHS = st.permutations(_NAMES).flatmap(
    lambda names: st.fixed_dictionaries(
        {
            name: st.lists(st.sampled_from(names), unique=True, max_size=3)
            for name in names
        }
    )
)


def _without_circles(
    graph: dict[str, list[str]], rank: list[str]
) -> dict[str, list[str]]:
    """Keep only edges that lead down in a ranking."""
    return {
        name: [other for other in others if rank.index(other) < rank.index(name)]
        for name, others in graph.items()
    }


def _registry(graph: Mapping[str, list[str]]) -> Registry:
    """A registry with a row for each name, after those that the graph names for it."""
    return Registry(row(name, after=tuple(others)) for name, others in graph.items())


def _closure(graph: Mapping[str, list[str]], name: str) -> set[str]:
    """All rows that a row needs, directly or through others, itself included."""
    reached = {name}
    pending = [name]
    while pending:
        needed = set(graph[pending.pop()]) - reached
        reached |= needed
        pending += needed
    return reached


@given(graph=_GRAPHS, rank=st.permutations(_NAMES))
def test_order_is_topological_and_stable(
    graph: dict[str, list[str]], rank: list[str]
) -> None:
    """Each row comes after what it names, before its turn only where an earlier one needs it."""
    graph = _without_circles(graph, rank)
    order = [row.name for row in _registry(graph)]
    assert sorted(order) == sorted(graph)
    for name, others in graph.items():
        for other in others:
            assert order.index(other) < order.index(name)
    turn: dict[str, int] = {}  # of the first row that needs it
    for number, user in enumerate(graph):
        for name in _closure(graph, user):
            turn.setdefault(name, number)
    turns = [turn[name] for name in order]
    assert turns == sorted(turns)


@given(graph=_GRAPHS)
def test_exactly_the_circles_are_refused(graph: dict[str, list[str]]) -> None:
    """The registry refuses a set of rows where, and only where, graphlib finds a cycle."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError:
        with pytest.raises(DeclarationError, match="a circle"):
            _registry(graph)
    else:
        assert len(_registry(graph)) == len(graph)


def test_a_thousand_rows_may_wait_for_each_other() -> None:
    """The last of them applies first; a circle of as many is refused."""
    graph = {f"p{n}": [f"p{n + 1}"] for n in range(3_000)}
    with pytest.raises(DeclarationError, match="a circle: p0 -> p1 -> p2"):
        _registry({**graph, "p3000": ["p0"]})
    assert next(iter(_registry({**graph, "p3000": []}))).name == "p3000"


# -- packs -----------------------------------------------------------------------------------------


def test_rows_of_a_pack_are_read_in_order(write_pack: Callable[..., Path]) -> None:
    """`read_pack` returns the rows of PATCHES in the order that they have there."""
    write_pack(
        "my_pack", pack_source(row_source(name="'two'"), row_source(name="'one'"))
    )
    assert [row.name for row in read_pack("my_pack")] == ["two", "one"]


def test_a_pack_that_is_not_there_is_refused() -> None:
    """Reading a missing pack is an error with the pack's name, caused by the import's own error."""
    error = refusal("no_such_pack")
    assert (error.pack, error.patch, error.field) == ("no_such_pack", None, "import")
    assert "No module named 'no_such_pack'" in error.found
    assert isinstance(error.__cause__, ImportError)


_CANNOT_SAY = "class E(Exception):\n    def __str__(self): 1 / 0\nraise E"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("\ndef broken(", "SyntaxError: '(' was never closed ("),
        ("\ndef broken(", "/broken_pack/__init__.py:2)"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("class E(BaseException): ...\nraise E(3)", "E: 3"),
        ("raise GeneratorExit", "GeneratorExit: "),
        (_CANNOT_SAY, "E: its message raises ZeroDivisionError"),
        (pack_source(row_source(rolls="()")), "unexpected keyword argument 'rolls'"),
        (f"{VOCABULARY}\n\nROW = Patch(rolls=1)", "/broken_pack/__init__.py:4)"),
        (f"{VOCABULARY}PATCHES = (Patch(name='x'),)", "missing"),
        (f"{VOCABULARY}PATCHES = (Replace('m:f'),)", "missing 1 required"),
    ],
)
def test_a_pack_that_fails_on_import_is_refused(
    write_pack: Callable[..., Path], source: str, found: str
) -> None:
    """Whatever the pack's code raises becomes a DeclarationError that shows it."""
    write_pack("broken_pack", source)
    error = refusal("broken_pack")
    assert (error.pack, error.field) == ("broken_pack", "import")
    assert found in error.found
    is_unknown_keyword = "unexpected keyword" in error.found
    assert is_unknown_keyword or error.expected == "a package that can be imported"


_RAISES = "class X:\n    def __repr__(self): raise RuntimeError('no')\n"
_ITERATES = "class T(tuple):\n    def __iter__(self): raise RuntimeError('no')\n"


@pytest.mark.parametrize(
    ("source", "field", "found"),
    [
        (_RAISES + pack_source(row_source(requires="X()")), "requires", "X whose repr"),
        (_RAISES + pack_source(row_source(changes="(X(),)")), "changes[0]", "X whose"),
        (pack_source(row_source(name="5")), "name", "int 5"),
        (pack_source(row_source(name="5", body="'patch_no'")), "body", "'patch_no'"),
        (pack_source(row_source(body="['patch_a']")), "body", "list ['patch_a']"),
        (pack_source(row_source(body="{}")), "body", "dict {}"),
        (
            _ITERATES + pack_source(row_source(requires="T(('up',))")),
            "PATCHES",
            "an object that raises RuntimeError: no",
        ),
        ("__path__ = None\nPATCHES = ()", "PATCHES", "an object that raises TypeError"),
        (
            "def __getattr__(name): raise RuntimeError(name)",
            "PATCHES",
            "an object that raises RuntimeError",
        ),
    ],
)
def test_whatever_a_row_holds_is_refused_in_one_line(
    write_pack: Callable[..., Path], source: str, field: str, found: str
) -> None:
    """Also an object of the pack's own that cannot be written, or a value of an absurd type."""
    write_pack("absurd_pack", source)
    error = refusal("absurd_pack")
    assert (error.pack, error.field) == ("absurd_pack", field)
    assert found in error.found


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("Patch(require=())", "did you mean requires"),
        ("Patch(zzz=1)", "one of name, body, requires"),
        ("Wrap('m:f', by='g', rebnd=True)", "did you mean rebind?"),
        (
            "Patch(roles={Role.ENGINECORE})",
            "one of Role.MAIN, Role.ENGINE_CORE, Role.WORKER",
        ),
    ],
)
def test_a_mistyped_word_of_a_row_says_what_may_stand_there(
    row: str, expected: str, write_pack: Callable[..., Path]
) -> None:
    """A mistyped role, or field of Patch or of a change, is an error with what may stand there."""
    write_pack("broken_pack", f"{VOCABULARY}PATCHES = ({row},)")
    error = refusal("broken_pack")
    assert expected in error.expected
    assert "/broken_pack/__init__.py:2)" in error.found


@pytest.mark.parametrize(
    "fields",
    [{"requires": "('vllm>>1',)"}, {"after": "('nobody',)"}, {"name": "'A_B'"}],
)
def test_an_error_of_a_row_says_at_which_line(
    fields: dict[str, str],
    write_pack: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An error of a row ends with the `path:line` of its name, relative to the current folder."""
    after = "('a-patch', 'A_B')" if "name" in fields else "()"
    first = row_source(name="'first'", after=after)
    folder = write_pack("my_pack", pack_source(first, "\n" + row_source(**fields)))
    monkeypatch.chdir(folder.parent)
    with pytest.raises(DeclarationError, match=r"\(my_pack/__init__\.py:3\)$"):
        Registry(read_pack("my_pack"))


def test_an_error_of_a_pack_names_its_file(write_pack: Callable[..., Path]) -> None:
    """An error of a pack where no row is at fault ends with the path of the pack's file."""
    folder = write_pack("my_pack", "PATCHES = 3")
    with pytest.raises(DeclarationError, match=rf"\({folder}/__init__\.py\)$"):
        read_pack("my_pack")


def test_a_pack_that_is_not_there_says_how_it_is_found(
    write_pack: Callable[..., Path],
) -> None:
    """The error of a missing pack names PYTHONPATH; that of a pack whose import fails does not."""
    write_pack("there", "import nowhere_at_all")
    assert "PYTHONPATH" not in refusal("there").expected
    for name in ("nowhere_pack", "nowhere_pack.patches"):
        assert refusal(name).expected.endswith("installed or in a folder of PYTHONPATH")


@pytest.mark.parametrize("name", ["flat.py", "./flat", "pack.sub.py"])
def test_a_path_is_answered_by_what_a_pack_is(name: str) -> None:
    """A pack is a folder, so that the name of a file is none."""
    assert refusal(name).expected == (
        "the dotted name of a package (a folder with __init__.py), such as my_pack, not a path"
    )


@pytest.mark.parametrize(
    ("pack", "roles"),
    [
        ("outsider.platform", {Role.MAIN, Role.ENGINE_CORE}),
        ("outsider.worker", {Role.WORKER}),
    ],
)
def test_the_folder_gives_the_roles(
    write_pack: Callable[..., Path], pack: str, roles: set[Role]
) -> None:
    """Without `roles`, a row has those of the folder that its pack is in."""
    write_pack(pack, pack_source(row_source(roles="None")))
    assert read_pack(pack)[0].roles == roles


def test_no_roles_outside_the_two_folders_is_refused(
    write_pack: Callable[..., Path],
) -> None:
    """A pack elsewhere must say for which processes a row is."""
    write_pack("outsider.patches", pack_source(row_source(roles="None")))
    error = refusal("outsider.patches")
    assert (error.pack, error.patch, error.field) == (
        "outsider.patches",
        "a-patch",
        "roles",
    )
    assert error.found == "none"
    assert "'platform' or 'worker'" in error.expected


def test_roles_may_be_written_as_words(write_pack: Callable[..., Path]) -> None:
    """`'worker'` is as good as `Role.WORKER`."""
    write_pack("my_pack", pack_source(row_source(roles="('worker', Role.MAIN)")))
    assert read_pack("my_pack")[0].roles == {Role.WORKER, Role.MAIN}


def test_collect_reads_every_pack_once(
    write_pack: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Own packs, those of PATCHKIT_PATCHES and those given are read, one named twice only once."""
    monkeypatch.setattr("patchkit.registry.OWN_PACKS", ("own_pack",))
    write_pack("own_pack", pack_source(row_source(name="'own'")))
    write_pack("set_pack", pack_source(row_source(name="'set'")))
    write_pack("given_pack", pack_source(row_source(name="'given'")))
    registry = Registry.collect(
        Settings(packs=("set_pack",)), ("given_pack", "set_pack")
    )
    assert [row.name for row in registry] == ["own", "set", "given"]


_READS = """
import json, sys
from patchkit.settings import Settings
from patchkit.registry import Registry
registry = Registry.collect(Settings.read())
names = [row.name for row in registry]
print(json.dumps([names, sorted(sys.modules)]))
"""


@pytest.mark.processes
def test_reading_rows_imports_nothing_heavy_and_no_body(
    write_pack: Callable[..., Path],
    python: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    """Rows are data: neither upstream, wrapt, packaging nor a body is imported for them."""
    heavy = ("vllm", "torch", "ray", "wrapt", "packaging")
    for name in heavy:
        (tmp_path / f"{name}.py").touch()
    requires = "('vllm>=0.11,<0.34', 'ray', 'torch_npu>=2.5.1rc1')"
    write_pack("my_pack", pack_source(row_source(requires=requires)))
    child = python("-c", _READS, PATCHKIT_PATCHES="my_pack")
    assert child.returncode == 0, child.stderr
    names, modules = json.loads(child.stdout)
    assert "a-patch" in names
    assert "my_pack" in modules
    assert not {*heavy, "importlib.metadata"} & set(modules)
    assert not [name for name in modules if ".patch_" in name]
