"""`make matrix`: the driver of the lanes, with environments and checks that only pretend."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import lanes
import matrix as driver
import pytest
from support.lane_shop import (
    LANE,
    RELEASES,
    daemon_of,
    kept,
    matrix,
    ran,
    requires,
    shop,
    world,
)
from support.packages import REPOSITORY, row

from patchkit.errors import SettingsError
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.packages import World

__all__ = ["shop", "world"]

MALFORMED = {
    "runs = 'all'": "lanes.a.runs: found 'all', expected one of engine, import, unit",
    "runs = 1": "lanes.a.runs: found 1, expected one of engine, import, unit",
    "python = 3.11": "lanes.a.python: found 3.11, expected a version such as '3.11'",
    "environment = 'x'": "lanes.a.environment: found 'x', expected one of unit, ",
    "enviroment = 'x'": "lanes.a: found the unknown key 'enviroment'",
    "without = 'x'": "lanes.a.without: found 'x', expected a table of checks with reasons",
    "without = { x = 'y' }": "lanes.a.without: found 'x', expected one of unit",
    "reason = 'no build'": "lanes.a.proof: found nothing, expected what shows that it cannot run",
}


@pytest.mark.processes
def test_lanes_are_run_kept_and_not_run_again(shop: World) -> None:
    """Each lane runs in an environment that is gone afterwards; `--fresh` runs all of them."""
    done = matrix(shop)
    assert (done.returncode, ran(shop)) == (0, ["a", "b", "c"]), done.stderr
    assert "matrix: 0.32.0 (2 of 3): vllm 0.32.0, ray 2.60.0, engine" in done.stderr
    assert "matrix:   checking b" in done.stderr
    assert list((shop.folder / "environments").iterdir()) == []
    assert [*kept(shop)] == [*RELEASES.values()]
    assert kept(shop)["0.32.0"]["environment"]["vllm"] == "0.32.0+cpu"
    assert (shop.folder / "preload").read_text() == "/c/lib.so"
    page = (shop.folder / "compatibility.md").read_text()
    assert "| 0.32.0 | 0.32.0 | 2.60.0 | ✓ |" in page
    again = matrix(shop)
    assert (again.returncode, ran(shop)) == (0, [])
    assert "0.32.0: nothing has changed since it passed" in again.stderr
    assert matrix(shop, "--fresh", "--keep").returncode == 0
    assert ran(shop) == ["a", "b", "c"]
    assert (shop.folder / "environments" / "a").exists()


@pytest.mark.processes
def test_some_lanes_leave_the_others_as_they_were(shop: World) -> None:
    """The table keeps the others' results with their dates."""
    matrix(shop)
    file = shop.folder / "compatibility.json"
    file.write_text(file.read_text().replace('"date": "', '"date": "of old '))
    ran(shop)
    assert matrix(shop, "--fresh", "--lanes", "0.33.0").returncode == 0
    assert ran(shop) == ["c"]
    dates = {name: result["date"][:6] for name, result in kept(shop).items()}
    assert [name for name, date in dates.items() if date == "of old"] == [
        "0.31.0",
        "0.32.0",
    ]


@pytest.mark.processes
def test_some_checks_leave_no_result(shop: World) -> None:
    """Nothing that is kept says that a lane passed which ran in part."""
    done = matrix(shop, "--lanes", "0.31.0", "--checks", "engine, ray-v2")
    assert (done.returncode, ran(shop)) == (0, ["a"])
    assert not list(shop.folder.glob("compatibility.*"))
    assert matrix(shop, "--lanes", "0.31.0").returncode == 0
    assert ran(shop) == ["a"]
    story = {"failed": {"a": {"engine": "other tokens"}}}
    done = matrix(
        shop, "--lanes", "0.31.0", "--checks", "engine", "--fresh", story=story
    )
    assert done.returncode == 1
    assert "failed" not in str(kept(shop))
    part = ("--lanes", "0.31.0", "--checks", "engine")
    ran(shop)
    assert [matrix(shop, *part).returncode for _ in range(2)] == [0, 0]
    assert ran(shop) == ["a", "a"], "and no result is taken for one"
    done = matrix(shop, "--checks", "unit")
    expected = "--checks: found 'unit' of 0.31.0, expected some of check, apply, engine"
    assert done.returncode == 2
    assert expected in done.stderr


@pytest.mark.processes
def test_a_range_that_is_one_release_short_turns_that_lane_red(shop: World) -> None:
    """No other lane is run again, and the last line names lane, check, row, release and reason."""
    matrix(shop)
    ran(shop)
    requires(">=0.20,<0.33", shop)
    failed = {"failed": {"c": {"flagship": "the worker died"}}}
    done = matrix(shop, story=failed)
    assert (done.returncode, ran(shop)) == (1, ["c"])
    assert done.stdout.splitlines()[-1] == (
        "0.33.0: rows: failed with vllm 0.33.0, ray 2.60.0: row p is out: vllm 0.33.0 is outside "
        "vllm>=0.20,<0.33; if that is meant, take it from `selected` in docs/compatibility.json"
    )
    assert matrix(shop).returncode == 1, "also where every check passes, and again"
    assert [name for name, one in kept(shop).items() if "failed" in str(one)] == [
        "0.33.0"
    ]


@pytest.mark.processes
def test_lanes_after_a_failing_one_are_run(shop: World) -> None:
    """They run whether its environment, a check, or the process that makes the checks fails."""
    file = shop.folder / "lanes.toml"
    file.write_text(
        LANE.format(release="0.30.0", environment="unmade") + file.read_text()
    )
    done = matrix(shop, story={"crash": ["a"], "failed": {"b": {"apply": "PK101 p"}}})
    assert (done.returncode, ran(shop)) == (1, ["a", "b", "c"])
    first, second, third = [
        line for line in done.stdout.splitlines() if ": failed with" in line
    ]
    assert first.startswith(
        "0.30.0: environment: failed with vllm 0.30.0, ray 2.60.0: no such"
    )
    assert second.startswith(
        "0.31.0: conformance: failed with vllm 0.31.0, ray 2.60.0: no report"
    )
    assert third == "0.32.0: apply: failed with vllm 0.32.0, ray 2.60.0: PK101 p"
    assert matrix(shop).returncode == 1
    assert ran(shop) == ["a", "b"], "what was red is run again"


@pytest.mark.processes
def test_a_check_that_was_not_run_makes_a_lane_red(shop: World) -> None:
    """Ray's executor that the release never had does not, nor a check left out with a reason."""
    absent = {"ray-v1": "this vLLM has no executor V1 for Ray"}
    assert matrix(shop, story={"not run": {"c": absent}}).returncode == 0
    page = (shop.folder / "compatibility.md").read_text()
    assert "- 0.33.0, `ray-v1`: this vLLM has no executor V1 for Ray" in page
    story = {"not run": {"a": absent, "b": {"engine": "no model"}}}
    done = matrix(shop, "--fresh", story=story)
    assert done.returncode == 1
    assert (
        "0.32.0: engine: not run with vllm 0.32.0, ray 2.60.0: no model" in done.stdout
    )
    assert "0.31.0: ray-v1: not run" in done.stdout
    file = shop.folder / "lanes.toml"
    file.write_text(file.read_text() + "without = { engine = 'elsewhere' }\n")
    assert matrix(shop, "--lanes", "0.33.0").returncode == 0
    page = (shop.folder / "compatibility.md").read_text()
    assert "- 0.33.0, `engine`: elsewhere" in page


@pytest.mark.processes
def test_rows_that_are_applied_have_to_be_those_of_the_range(shop: World) -> None:
    """A row too many or too few makes the lane red, and the output names the row."""
    done = matrix(shop, story={"rows": {"a": ["p"], "b": ["p", "q"], "c": ["q"]}})
    assert done.returncode == 1
    assert "0.31.0: rows" not in done.stdout
    fault = "rows: failed with vllm 0.32.0, ray 2.60.0: row q was applied, out of its range\n"
    assert f"0.32.0: {fault}" in done.stdout
    assert "row p was not applied; row q was applied" in done.stdout
    assert kept(shop)["0.31.0"]["results"][1]["rows"] == ["p"]


@pytest.mark.processes
def test_code_that_lanes_run_makes_them_run_again(shop: World) -> None:
    """Patchkit's code and the examples' count; comments and what only people call do not."""
    files = (
        "patchkit/runtime/process/a.py",
        "patchkit/cli/a.py",
        "examples/simnpu/a.py",
    )
    for name in files:
        (shop.folder / name).parent.mkdir(parents=True)
        (shop.folder / name).write_text("ONE = 1\n")
    matrix(shop)
    ran(shop)
    for name, text, expected in (
        (files[0], "ONE = 1  # one\n", []),
        (files[1], "ONE = 2\n", []),
        (files[0], "ONE = 2\n", ["a"]),
        (files[2], "ONE = 2\n", ["a"]),
    ):
        (shop.folder / name).write_text(text)
        matrix(shop, "--lanes", "0.31.0")
        assert ran(shop) == expected, (name, text)


def test_what_only_people_call_makes_no_lane_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folders that are left out are there; what lies in others counts."""
    assert all(
        (REPOSITORY / "patchkit" / folder).is_dir() for folder in lanes.FOLDERS_BESIDE
    )
    monkeypatch.setattr(lanes, "REPOSITORY", tmp_path)
    plan = lanes.Plan("1", {}, "3.11", "unit", "engine")
    before = lanes.code_digest(plan)
    for folder in lanes.FOLDERS_BESIDE:
        (tmp_path / "patchkit" / folder / "room").mkdir(parents=True)
        (tmp_path / "patchkit" / folder / "room" / "a.py").write_text("a = 1")
    assert lanes.code_digest(plan) == before
    (tmp_path / "patchkit" / "runtime" / "a.py").write_text("a = 1")
    assert lanes.code_digest(plan) != before


def test_tests_that_lanes_run_make_them_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lane of unit tests depends on all of patchkit, the tests and the project's file."""
    monkeypatch.setattr(lanes, "REPOSITORY", tmp_path)
    plan = lanes.Plan("python-3.11", {}, "3.11", "unit", "unit")
    digests = {lanes.code_digest(plan)}
    for name in ("patchkit/cli/a.py", "tests/unit/data/a.txt", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a = 1")
        digests.add(lanes.code_digest(plan))
    assert len(digests) == 4


def test_a_build_of_its_environment_makes_a_lane_run_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So do files that the recipe watches."""
    digests = set()
    for text in (b"1", b"2"):
        monkeypatch.setattr(lanes, "_recipe_files", lambda _: [Path("a.txt")])
        monkeypatch.setattr(lanes, "_meaning", lambda file, text=text: f"{file}{text}")
        plan = lanes.Plan("1", {}, "3.11", "vllm-0.9.2", "engine")
        digests.add(lanes.code_digest(plan))
    assert len(digests) == 2
    monkeypatch.undo()
    names = {file.name for file in lanes._recipe_files(lanes.RECIPES["vllm-0.9.2"])}
    assert {"vllm_0_9_2.py", "elf.py", "pyproject.toml"} <= names


@pytest.mark.processes
def test_an_environment_with_another_release_is_refused(shop: World) -> None:
    """A lane says what ran, not what was asked for."""
    (shop.folder / "lanes.toml").write_text(
        LANE.format(release="0.30.0", environment="a")
    )
    done = matrix(shop)
    assert done.stdout.splitlines()[-1].endswith(
        "a: found vllm 0.31.0+cpu, expected 0.30.0"
    )
    assert (done.returncode, ran(shop)) == (1, [])


@pytest.mark.processes
def test_a_lane_that_hangs_is_ended(shop: World) -> None:
    """It is ended after its time, with all that it started, and the others are run."""
    done = matrix(shop, "--lanes", "0.31.0,0.32.0", story={"hang": ["a"]}, limit=5)
    assert (done.returncode, ran(shop)) == (1, ["a", "b"])
    assert "0.31.0: conformance: failed" in done.stdout
    assert "no report, its 5 s were over" in done.stdout
    assert not Path(f"/proc/{daemon_of(shop)}").exists()


@pytest.mark.processes
def test_an_orphan_that_has_ended_is_gone(shop: World) -> None:
    """Tests that run in a lane see no zombie of what they started."""
    done = matrix(shop, "--lanes", "0.31.0", story={"orphan": ["a"]}, limit=20)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("text", "expected"), MALFORMED.items())
def test_a_malformed_lane_is_one_error(
    text: str, expected: str, tmp_path: Path
) -> None:
    """It names file and field, what was found and what was expected."""
    fields = {
        "releases": "{}",
        "python": "'3.11'",
        "environment": "'unit'",
        "runs": "'unit'",
    }
    key, _, value = text.partition(" = ")
    fields[key] = value
    lines = [f"{name} = {text}" for name, text in fields.items()]
    file = tmp_path / "lanes.toml"
    file.write_text("\n".join(["[lanes.a]", *lines]))
    with pytest.raises(SettingsError) as caught:
        lanes.choose(lanes.read_plans(file), (), file)
    assert str(caught.value).startswith(f"{file}, {expected}")


@pytest.mark.processes
def test_an_unknown_lane_is_refused(shop: World) -> None:
    """It ends with exit code 2 and one line, as does a lane that cannot run."""
    done = matrix(shop, "--lanes", "0.33.0,0.1")
    expected = "matrix: LANES: found '0.1', expected some of 0.31.0, 0.32.0, 0.33.0\n"
    assert (done.returncode, done.stderr) == (2, expected)
    file = shop.folder / "lanes.toml"
    file.write_text(file.read_text() + "reason = 'no build'\nproof = 'seen'\n")
    done = matrix(shop, "--lanes", "0.33.0")
    expected = "matrix: LANES: found 0.33.0, which cannot run: no build\n"
    assert (done.returncode, done.stderr) == (2, expected)


BODY = '"""Why."""\ndef w(wrapped, instance, args, kwargs):\n    return 1\n'
SAME = {
    "a comment in the body": (
        "patch_a.py",
        BODY.replace("return 1", "return 1  # one"),
    ),
    "a docstring of the body": ("patch_a.py", BODY.replace("Why", "Because")),
    "prose of the row": ("__init__.py", "why='other'"),
    "a range that the lane is still in": ("__init__.py", "vllm>=0.20"),
}
OTHER = {
    "the body": ("patch_a.py", BODY.replace("return 1", "return 2")),
    "a module that the body imports": ("help.py", "ONE = 2\n"),
    "the target": ("__init__.py", "up.mod:g"),
    "a range that the lane has left": ("__init__.py", "vllm<0.32"),
}


def digest_with(world: World, name: str = "", text: str = "") -> str:
    """The digest of the rows for a lane of vLLM 0.32.0, with another text of one file."""
    fields = {"requires": "('vllm>=0.10',)", "why": "'w'"}
    target = "up.mod:f"
    if text.startswith("vllm"):
        fields["requires"] = f"('{text}',)"
    elif text.startswith("why="):
        fields["why"] = text.partition("=")[2]
    elif name == "__init__.py":
        target = text
    body = f"from pack.help import ONE\n{BODY}" if name == "help.py" else BODY
    files = {"patch_a": body, "help": "ONE = 1\n"}
    if name.endswith(".py") and name != "__init__.py":
        files[name.removesuffix(".py")] = text
    world.pack(row("p", "patch_a", f"Wrap({target!r}, by='w')", **fields), **files)
    sys.modules.pop("pack", None)
    plan = lanes.Plan("0.32.0", {"vllm": "0.32.0"}, "3.11", "unit", "engine")
    return lanes.rows_digest(plan, read_pack("pack"))


@pytest.mark.parametrize(("name", "text"), SAME.values(), ids=SAME)
def test_prose_makes_no_lane_stale(name: str, text: str, world: World) -> None:
    """What says the same to Python is not run again."""
    assert digest_with(world) == digest_with(world, name, text)


@pytest.mark.parametrize(("name", "text"), OTHER.values(), ids=OTHER)
def test_what_a_row_does_makes_its_lanes_stale(
    name: str, text: str, world: World
) -> None:
    """Its body, its target, its range and what the body imports from the pack all count."""
    as_written = ("help.py", "ONE = 1\n") if name == "help.py" else ()
    before = digest_with(world, *as_written)
    assert before != digest_with(world, name, text)


def test_a_row_for_other_releases_makes_no_lane_stale(shop: World) -> None:
    """A lane depends on the rows that it is in the range of."""
    plan = lanes.Plan("0.19.0", {"vllm": "0.19.0"}, "3.11", "unit", "engine")
    assert lanes.rows_digest(plan, read_pack("pack")) == lanes.rows_digest(plan, [])
    assert lanes.why_outside(plan, "p", read_pack("pack")) == (
        "vllm 0.19.0 is outside vllm>=0.20,<0.34"
    )


def test_the_size_of_an_environment_is_that_of_what_was_installed(
    tmp_path: Path,
) -> None:
    """The first imports write bytecode into it, which is left out."""
    cache = tmp_path / "lib" / "__pycache__"
    cache.mkdir(parents=True)
    (tmp_path / "lib" / "mod.py").write_bytes(b"x" * 1000)
    (cache / "mod.cpython-311.pyc").write_bytes(b"x" * 500)
    assert driver.installed_bytes(tmp_path) == 1000


def test_a_file_that_is_gone_between_two_looks_has_no_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever else uses the environment writes files under names that they have for a moment."""
    gone = tmp_path / "mod.py.139"
    for file in (gone, tmp_path / "mod.py"):
        file.write_bytes(b"x" * 1000)
    walk = os.walk

    def walk_beside_a_writer(top: Path) -> Iterator[tuple[str, list[str], list[str]]]:
        for listing in walk(top):
            gone.unlink()
            yield listing

    monkeypatch.setattr(driver.os, "walk", walk_beside_a_writer)
    assert driver.installed_bytes(tmp_path) == 1000
