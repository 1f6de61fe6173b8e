"""`patchkit new` over wheels and trees that the tests write."""

from __future__ import annotations

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from analysis.check.released import no_own_packs, write_wheels
from support.packages import world

from cli.new_samples import MOD, OLD, RELEASES, TYPES
from patchkit.cli import main

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["world"]


@pytest.fixture(autouse=True)
def _shop(tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty project, two releases in a folder, and no index."""
    no_own_packs(monkeypatch)
    write_wheels(tmp_path / "wheels", RELEASES)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    project = world.folder / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.syspath_prepend(str(project))


def new(*words: str, at: str = "up==1.2") -> int:
    """Run `new` for a pack, in role main unless another is named; return its exit code."""
    role = [] if "--role" in words else ["--role", "main"]
    return main(["new", *words, *role, "--pack", "my_pack", "--releases", at])


def refusal(
    capsys: pytest.CaptureFixture[str], *words: str, at: str = "up==1.2"
) -> str:
    """Run `new`, check that it exits with 2, and return what it says on stderr."""
    assert new(*words, at=at) == 2
    return capsys.readouterr().err


def body(target: str, *words: str) -> str:
    """Start a patch of a target, check that its body compiles, and return the body."""
    assert new("p", "--target", target, "--body", "patch_it", *words) == 0
    text = Path("my_pack/patch_it.py").read_text()
    compile(text, "body", "exec")
    return text


def rows() -> dict[str, Any]:
    """Read the pack in a Python of its own, and return the changes of each row, by name."""
    code = (
        "import my_pack; print({one.name: str(one.changes) for one in my_pack.PATCHES})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    changes: dict[str, Any] = eval(done.stdout)
    return changes


@pytest.mark.processes
def test_a_pack_is_made_and_grows(capsys: pytest.CaptureFixture[str]) -> None:
    """The first patch makes the package; the second adds a row; both are listed and checked."""
    assert new("one", "--target", "up.mod:f") == 0
    words = ["--target", "up.mod:C", "--body", "patch_c", "--role", "worker"]
    assert new("two", *words) == 0
    assert list(rows()) == ["one", "two"]
    capsys.readouterr()
    words = ["--patches", "my_pack", "--releases", "up==1.2", "--format", "json"]
    assert main(["check", *words]) == 1
    data = json.loads(capsys.readouterr().out)
    codes = {finding["code"] for finding in data["findings"]} - {"PK202"}
    assert codes == {"PK511", "PK512", "PK513"}
    assert data["grid"] == {"one": {"up 1.2": "ok"}, "two": {"up 1.2": "ok"}}


@pytest.mark.processes
@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("up.mod:f", "Wrap"),
        ("up.mod:later", "Wrap"),
        ("up.mod:C.m", "Wrap"),
        ("up.mod:C.p", "Wrap"),
        ("up.mod:C", "Replace"),
        ("up.mod:LIMIT", "Replace"),
        ("up.mod:C.STEP", "Replace"),
        ("up.mod", "AfterImport"),
    ],
)
def test_the_kind_is_what_serves_the_target(target: str, kind: str) -> None:
    """Code is wrapped, classes and values are replaced, a module is waited for."""
    body(target)
    assert rows()["p"].startswith(f"({kind}(")


@pytest.mark.processes
@pytest.mark.parametrize(
    "target", ["up.mod:f", "up.mod:C", "up.mod:C.p", "up.mod:LIMIT"]
)
def test_what_is_decorated_starts_as_it_is(target: str) -> None:
    """The decorator gives its target back, until somebody writes what it becomes."""
    text = body(target, "--kind", "decorate")
    assert rows()["p"].startswith("(Decorate(")
    assert "(target: Any) -> Any:" in text
    assert "return target" in text


@pytest.mark.parametrize("target", ["up.mod:f", "up.mod:plain", "up.mod:C.m"])
def test_a_replaced_function_takes_all_that_upstreams_does(target: str) -> None:
    """A replacement takes any arguments, and its docstring has upstream's signature."""
    text = body(target, "--kind", "replace")
    assert "(*args: Any, **kwargs: Any) -> Any:" in text
    assert "It is called as (" in text


def test_the_body_of_a_coroutine_function_is_one() -> None:
    """The body that replaces an `async def` is an `async def`."""
    text = body("up.mod:later", "--kind", "replace")
    assert "async def later(*args: Any, **kwargs: Any) -> Any:" in text


def test_a_replaced_class_is_a_subclass() -> None:
    """The body that replaces a class imports upstream's, and derives from it."""
    text = body("up.mod:C")
    assert "from up.mod import C\n\n\nclass PatchedC(C):" in text


@pytest.mark.processes
def test_kinds_that_need_no_body_get_none() -> None:
    """`edit` and `add-field` write no body. An Edit starts with a line that occurs once, a field
    with a type and a default.
    """
    assert new("e", "--target", "up.mod:f", "--kind", "edit") == 0
    assert new("a", "--target", "up.mod:C.fresh", "--kind", "add-field") == 0
    assert not list(Path("my_pack").glob("patch_*"))
    changes = rows()
    assert "old='total = alpha + beta', new='total = alpha + beta'" in changes["e"]
    field = "target='up.mod:C', name='fresh', type=<class 'bool'>, default=False"
    assert field in changes["a"]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("up.mod:fresh", "add"),
        ("up.mod:C.fresh", "add"),
        ("up.fresh", "provide"),
        ("up.mod", "before-import"),
    ],
)
def test_what_upstream_lacks_can_be_started(target: str, kind: str) -> None:
    """A new name, a new module, and a call before an import have a body."""
    body(target, "--kind", kind)
    assert rows()["p"].lower().startswith(f"({kind.replace('-', '')}(")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "up.mod:nope"], "up.mod:nope is not in up 1.2"),
        (
            ["--target", "up.mod:nope"],
            "'patchkit history up.mod:nope' looks in all releases",
        ),
        (["--target", "up.mod:C", "--kind", "wrap"], "--kind replace takes it"),
        (
            ["--target", "up.mod:C", "--kind", "edit"],
            "a function with source of its own",
        ),
        (["--target", "up.mod", "--kind", "wrap"], "expected 'module:qualname'"),
        (
            ["--target", "up.mod:f", "--kind", "after-import"],
            "expected the module alone",
        ),
        (["--target", "up.mod:f", "--kind", "add"], "is in up 1.2 already"),
        (["--target", "up.mod:C", "--kind", "add-field"], "'module:Class.field'"),
        (["--target", "other.mod:f"], "found no other to look it up in"),
        (["--target", "no target"], "expected a target such as"),
    ],
)
def test_what_cannot_be_started_is_one_error(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`new` exits with 2, says what is wrong with target or kind, and writes nothing."""
    assert message in refusal(capsys, "p", *words)
    assert list(Path().iterdir()) == []


def test_a_target_that_moved_says_where_to(capsys: pytest.CaptureFixture[str]) -> None:
    """A target that only an older release has is refused, and the error says where it moved."""
    error = refusal(capsys, "p", "--target", "up.mod:gone", at="up>=1,<2")
    assert "moved to up.late:gone" in error


@pytest.mark.parametrize("target", ["up.mod:plainn", "up.modd:plain", "up.mod.plain"])
def test_a_mistyped_target_says_what_may_be_meant(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A target with a letter too much, or a dot for the colon, gets the one that may be meant."""
    assert "; did you mean up.mod:plain?" in refusal(capsys, "p", "--target", target)


def test_a_target_that_went_long_before_is_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A target that moved before the newest release, and was rewritten since, is still followed."""
    later = (
        "def gone(every, other, word):\n"
        "    return [word, other, every] * 2 if every else word\n"
    )
    write_wheels(tmp_path / "wheels", {"1.3": {"mod": "", "late": later}})
    error = refusal(capsys, "p", "--target", "up.mod:gone", at="up>=1,<2")
    assert "up.late:gone" in error


def test_a_refusal_that_reads_more_of_an_index_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal that reads further releases of an index is still one line. The cache, in which it
    keeps where a target went, is open then.
    """
    wheel = next((tmp_path / "wheels").glob("up-1.2-*"))
    page = tmp_path / "simple" / "up" / "index.html"
    page.parent.mkdir(parents=True)
    mark = sha256(wheel.read_bytes()).hexdigest()
    page.write_text(f'<a href="{wheel.as_uri()}#sha256={mark}">{wheel.name}</a>')
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", page.parents[1].as_uri())
    error = refusal(capsys, "p", "--target", "up.mod:gone")
    assert "up.mod:gone is not in up 1.2" in error
    assert error.count("\n") == 1


def test_the_range_is_that_of_the_releases() -> None:
    """The row requires the range that is given; a tree of 0.32.1 makes it 0.32 up to 0.33."""
    assert new("one", "--target", "up.mod:C", at="up>=1, <2") == 0
    assert 'requires=("up>=1,<2",)' in Path("my_pack/__init__.py").read_text()
    Path("tree/up").mkdir(parents=True)
    Path("tree/up/__init__.py").touch()
    Path("tree/up/mod.py").write_text(OLD)
    place = ["--path", "tree", "--pack", "my_pack"]
    words = [*place, "--role", "main", "--body", "patch_two"]
    Path("tree/up/_version.py").write_text("__version__ = '0.32.1'\n")
    assert main(["new", "two", "--target", "up.mod:f", *words]) == 0
    assert 'requires=("up>=0.32,<0.33",)' in Path("my_pack/__init__.py").read_text()


def test_the_project_says_which_releases() -> None:
    """Without an option, targets are looked up in the project's releases, and rows are for them."""
    settings = '[tool.patchkit]\npacks = ["my_pack"]\nreleases = ["up>=1.0,<1.3"]\n'
    Path("pyproject.toml").write_text(settings)
    assert main(["new", "p", "--target", "up.mod:C", "--role", "main"]) == 0
    assert 'requires=("up>=1.0,<1.3",)' in Path("my_pack/__init__.py").read_text()


def test_what_is_installed_is_asked_for_by_an_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--here` looks the target up in what is installed, whatever the project says."""
    settings = '[tool.patchkit]\npacks = ["my_pack"]\nreleases = ["up>=1.0,<1.3"]\n'
    Path("pyproject.toml").write_text(settings)
    words = ["--target", "up.mod:C", "--role", "main", "--here"]
    assert main(["new", "p", *words]) == 2
    assert "none is installed here" in capsys.readouterr().err


LISTING = """\
# what the company changes
up.mod:f
up.mod:C.m  mod   # it is slow

up.mod:C
"""


@pytest.mark.processes
def test_a_list_makes_a_row_of_each_target(capsys: pytest.CaptureFixture[str]) -> None:
    """Each has a body and a test of its own, and the name in the list or one after its target."""
    Path("targets.txt").write_text(LISTING)
    assert new("--from", "targets.txt") == 0
    assert list(rows()) == ["f", "mod", "c"]
    bodies = sorted(file.name for file in Path("my_pack").glob("patch_*"))
    assert bodies == ["patch_c.py", "patch_mod.py", "patch_mod_mod.py"]
    assert len(list(Path("tests").iterdir())) == 3
    out = capsys.readouterr().out
    assert "patchkit check f mod c" in out
    assert out.count("fill in why") == 1
    words = ["--patches", "my_pack", "--releases", "up==1.2", "--format", "json"]
    main(["check", *words])
    grid = json.loads(capsys.readouterr().out)["grid"]
    assert [row["up 1.2"] for row in grid.values()] == ["ok", "ok", "ok"]


@pytest.mark.processes
def test_a_list_grows_a_pack_that_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is taken gets the words before it; a dry run and JSON have all patches."""
    assert new("f", "--target", "up.mod:f") == 0
    Path("targets.txt").write_text("up.mod:f\nup.mod:C\n")
    capsys.readouterr()
    words = ["--from", "targets.txt", "--dry-run", "--format", "json"]
    Path("pyproject.toml").write_text('[tool.patchkit]\npacks = ["my_pack"]\n')
    assert new(*words) == 0
    data = json.loads(capsys.readouterr().out)
    assert [patch["patch"] for patch in data["patches"]] == ["mod-f", "c"]
    assert data["next"]
    assert list(rows()) == ["f"]


@pytest.mark.parametrize(
    ("listing", "words", "message"),
    [
        (
            "up.mod:f a b\n",
            [],
            "targets.txt:1: found 'up.mod:f a b', expected a target",
        ),
        ("# nothing\n", [], "targets.txt: found no target"),
        ("up.mod:f a\nup.mod:C a\n", [], "found a patch 'a' in targets.txt"),
        ("up.mod:f\nup.mod:nope\n", [], "up.mod:nope is not in up 1.2"),
        ("up.mod:f\n", ["p"], "expected the list alone"),
        ("up.mod:f\n", ["--body", "patch_x"], "expected the list alone"),
        (None, [], "targets.txt: [Errno 2]"),
    ],
)
def test_a_list_with_a_fault_writes_nothing(
    listing: str | None,
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The error names the line, or the target."""
    if listing is not None:
        Path("targets.txt").write_text(listing)
    assert message in refusal(capsys, *words, "--from", "targets.txt")
    assert not Path("my_pack").exists()


def test_a_name_and_a_target_are_needed(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a list, an error says what is expected."""
    assert "or --from FILE" in refusal(capsys, "p")


REGISTRY = """\
TABLE = {name: name.lower() for name in ("A", "B")}


class Registry:
    def __init__(self):
        self.models = {}


REGISTRY = Registry()
REGISTRY.models.update(TABLE)
"""


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("TABLE['A']", "TABLE has no items that can be read from the source"),
        ("REGISTRY.models['A']", "an instance has it once"),
    ],
)
def test_an_item_that_code_sets_says_what_to_do(
    target: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the kinds for each case, and one of them starts a patch."""
    write_wheels(tmp_path / "wheels", {"1.2": {"registry": REGISTRY}})
    words = ["--target", f"up.registry:{target}"]
    error = refusal(capsys, "p", *words)
    assert reason in error
    assert "--kind replace if the import of up.registry sets it" in error
    assert "patchkit new NAME --kind after-import --target up.registry" in error
    assert new("p", *words, "--kind", "replace") == 0
    assert new("q", "--target", "up.registry", "--kind", "after-import") == 0


def test_roles_come_from_the_folder_or_by_hand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A pack in `worker` needs no `--role`; for another pack an error names that option."""
    target = ["--target", "up.mod:f", "--releases", "up==1.2"]
    assert main(["new", "p", *target, "--pack", "my_pack"]) == 2
    said = capsys.readouterr().err
    assert "expected --role" in said
    assert "'patchkit probe TARGET -- COMMAND' finds out" in said
    assert main(["new", "p", *target, "--pack", "my_pack.worker"]) == 0
    assert "roles=" not in Path("my_pack/worker/__init__.py").read_text()
    assert Path("my_pack/__init__.py").read_bytes() == b""


def test_roles_come_from_the_last_probe(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without `--role` they are proposed; with it, and from a folder, what differs is said."""
    monkeypatch.setenv("PATCHKIT_JOURNAL", str(tmp_path))
    (tmp_path / "probe.json").write_text(
        '{"began": "2026-11-27", "targets": [{"target": "up.mod:f", "roles": ["worker"],'
        ' "evidence": "called"}]}'
    )
    target = ["--target", "up.mod:f", "--releases", "up==1.2"]
    assert main(["new", "p", *target, "--pack", "my_pack"]) == 0
    assert "roles={Role.WORKER}" in Path("my_pack/__init__.py").read_text()
    said = capsys.readouterr().err
    assert "roles worker: the targets ran there in the probe of 2026-11-27" in said
    for words in (["--pack", "my_pack", "--role", "main"], ["--pack", "own.platform"]):
        name = words[1].partition(".")[0].replace("_", "-")
        assert main(["new", f"q-{name}", *target, *words]) == 0
        said = capsys.readouterr().err
        assert "but the targets ran as worker in the probe of 2026-11-27" in said
    assert "roles={Role.MAIN}" in Path("my_pack/__init__.py").read_text()


def test_nothing_that_is_there_is_overwritten(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A name, a body and a test that exist are errors; no file is touched."""
    assert new("p", "--target", "up.mod:f") == 0
    before = {file: file.read_bytes() for file in Path().rglob("*.py")}
    capsys.readouterr()
    assert "found a row 'p'" in refusal(capsys, "p", "--target", "up.mod:C")
    error = refusal(capsys, "q", "--target", "up.mod:C", "--body", "patch_mod")
    assert "patch_mod.py, expected no such file" in error
    assert "--body names another" in error
    Path("tests/test_q.py").touch()
    error = refusal(capsys, "q", "--target", "up.mod:C", "--body", "patch_c")
    assert "test_q.py, expected no such file" in error
    Path("tests/test_q.py").unlink()
    assert {file: file.read_bytes() for file in Path().rglob("*.py")} == before


def test_a_name_that_another_pack_uses_is_refused(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are unique over all packs, so the next start would fail otherwise."""
    assert new("p", "--target", "up.mod:f") == 0
    monkeypatch.setenv("PATCHKIT_PATCHES", "my_pack")
    words = ["new", "p", "--target", "up.mod:C", "--role", "main", "--releases"]
    assert main([*words, "up==1.2", "--pack", "other_pack"]) == 2
    error = capsys.readouterr().err
    assert "found a patch 'p' in my_pack, expected a new name" in error
    assert not Path("other_pack").exists()


def test_a_second_patch_of_a_module_has_a_body_of_its_own_name() -> None:
    """Where a body of the module's name is there, the next one is named after its patch."""
    assert new("one", "--target", "up.mod:f") == 0
    assert new("the-second", "--target", "up.mod:C") == 0
    assert sorted(file.name for file in Path("my_pack").glob("patch_*")) == [
        "patch_mod.py",
        "patch_the_second.py",
    ]
    assert "from patchkit import Patch, Replace, Role, Wrap\n" in (
        Path("my_pack/__init__.py").read_text()
    )


@pytest.mark.processes
def test_a_project_is_told_to_name_its_pack(capsys: pytest.CaptureFixture[str]) -> None:
    """`new` prints lines to paste into pyproject.toml, unless that names the pack already. Then no
    command needs `--patches`.
    """
    words = ["--target", "up.mod:f", "--role", "main", "--releases", "up==1.2"]
    assert new("one", "--target", "up.mod:f") == 0
    out = capsys.readouterr().out
    assert '[tool.patchkit]\n   packs = ["my_pack"]' in out
    Path("pyproject.toml").write_text('[tool.patchkit]\npacks = ["my_pack"]\n')
    assert main(["new", "two", *words]) == 0
    out = capsys.readouterr().out
    assert "--patches" not in out
    assert "[tool.patchkit]" not in out
    assert list(rows()) == ["one", "two"]


@pytest.mark.parametrize(
    "pack", [(), ("--pack", "flat_pack"), ("--pack", "src/new_pack")]
)
@pytest.mark.parametrize("init", [None, "", "\n"])
def test_a_pack_that_the_project_names_first_is_made(
    pack: tuple[str, ...], init: str
) -> None:
    """`new` makes a pack that pyproject.toml names, and whose folder is missing or empty."""
    Path("pyproject.toml").write_text('[tool.patchkit]\npacks = ["flat_pack"]\n')
    if init is not None:
        Path("flat_pack").mkdir()
        Path("flat_pack/__init__.py").write_text(init)
    words = ["--target", "up.mod:f", "--role", "main", "--releases", "up==1.2"]
    assert main(["new", "one", *words, *pack]) == 0
    folder = Path(pack[-1] if pack else "flat_pack")
    assert 'name="one"' in (folder / "__init__.py").read_text()
    assert not Path("src/__init__.py").exists()
    assert main(["new", "two", *words, *pack]) == 0


def test_a_pack_by_its_name_goes_into_src_where_that_is_the_layout() -> None:
    """A new pack goes into `src` where beside that there are only tests, which are no pack."""
    Path("src").mkdir()
    Path("tests").mkdir()
    Path("tests/__init__.py").touch()
    assert new("one", "--target", "up.mod:f") == 0
    assert Path("src/my_pack/patch_mod.py").exists()
    assert not Path("my_pack").exists()


def test_a_dry_run_shows_all_and_writes_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--dry-run` prints the files that would be written, on a page or as JSON, and writes none."""
    assert new("p", "--target", "up.mod:f", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "would create  my_pack/patch_mod.py" in out
    assert "def around_f(" in out
    assert new("p", "--target", "up.mod:f", "--dry-run", "--format", "json") == 0
    data = json.loads(capsys.readouterr().out)
    assert list(data) == ["patch", "pack", "row", "refusal", "written", "files", "next"]
    assert [(file["what"], file["action"]) for file in data["files"]] == [
        ("body", "created"),
        ("test", "created"),
        ("row", "created"),
    ]
    assert list(Path().iterdir()) == []


def test_a_dry_run_shows_what_an_edit_changes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of a file that exists, `--dry-run` shows only the difference."""
    assert new("p", "--target", "up.mod:f") == 0
    capsys.readouterr()
    assert new("q", "--target", "up.mod:C", "--body", "patch_c", "--dry-run") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "-from patchkit import Patch, Role, Wrap" in lines
    assert '+        name="q",' in lines
    assert '         name="p",' not in lines


def test_rows_that_are_made_otherwise_are_left_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where PATCHES is no plain tuple, the row is printed to paste, and the body is written."""
    Path("my_pack").mkdir()
    text = "from patchkit import Patch\n\nPATCHES = tuple(Patch(**one) for one in ())\n"
    Path("my_pack/__init__.py").write_text(text)
    assert new("p", "--target", "up.mod:f") == 0
    out = capsys.readouterr().out
    assert 'row\nPatch(\n    name="p",' in out
    assert "paste the row into my_pack/__init__.py: " in out
    assert Path("my_pack/patch_mod.py").exists()
    assert Path("my_pack/__init__.py").read_text() == text


@pytest.mark.processes
def test_what_is_written_suits_linters(tmp_path: Path) -> None:
    """ruff, its formatter and mypy --strict find nothing in what is written, whatever the kind."""
    long_name = "SchedulerOfEverythingOnAccelerator"
    module = MOD + f"class {long_name}:\n    SIZE = 1\n    def m(self): ...\n"
    module += "TABLE = {'it\"s': 1, 'plain': 2}\n"
    write_wheels(tmp_path / "wheels", {"1.2": {"mod": module, "types": TYPES}})
    targets_and_kinds = (
        [f"{long_name}.SIZE"],
        [f"{long_name}.m"],
        ["TABLE['it\"s']"],
        ["TABLE['plain']"],
        ["LIMIT", "--target", "up.mod:C", "--target", f"up.mod:{long_name}"],
        ["f", "--target", "up.mod:LIMIT", "--target", "up.mod:C.p"],
        ["fresh", "--kind", "add"],
        ["f"],
        ["plain", "--kind", "replace"],
        ["C"],
        ["C.p"],
        ["LIMIT"],
        ["f", "--kind", "edit"],
        ["plain", "--kind", "decorate"],
    )
    for number, (target, *kind) in enumerate(targets_and_kinds):
        words = ["--target", f"up.mod:{target}", *kind, "--body", f"patch_{number}"]
        assert new(f"p{number}", *words) == 0
    tools = Path(sys.executable).parent
    ruff = str(tools / "ruff")
    mypy = str(tools / "mypy")
    select = ["--isolated", "--select", "D1,E,F,I,UP,B,RUF", "--line-length", "100"]
    wide = ["--isolated", "--line-length", "100"]
    strict = ["--strict", "--ignore-missing-imports", "--cache-dir", str(tmp_path)]
    for command in (
        [ruff, "check", "--isolated", "."],
        [ruff, "check", *select, "."],
        [ruff, "format", "--isolated", "--check", "."],
        [ruff, "format", *wide, "--check", "."],
        [mypy, *strict, "."],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
