"""Each test runs a pytest of its own, which finds the plugin by its entry point."""

from __future__ import annotations

import pytest
from support import packages, plugin_runs, pytests
from support.packages import World, row
from support.plugin_runs import BODY, ENTRY, MARKED, WITHOUT, Runs, vllm

run = plugin_runs.run
world = packages.world
pytests = pytests.pytests


# -- the fixture ----------------------------------------------------------------------------------


@pytest.mark.processes
def test_the_fixture_applies_until_the_test_ends(run: Runs) -> None:
    """Each call in a test applies patches; the next test sees the originals."""
    output = run("""
        import up.mod
        FUNCTION, OTHER = up.mod.function, up.mod.other
        def test_one(patchkit_applied):
            patchkit_applied("p")
            assert up.mod.function() == ("by", "old")
            patchkit_applied("q", "p")
            assert up.mod.other() == ("two", "old")
        def test_two():
            assert (up.mod.function, up.mod.other) == (FUNCTION, OTHER)
    """)
    assert (run.status, output.count("PASSED")) == (0, 2), output


def test_the_fixture_undoes_its_patches_after_a_failure(run: Runs) -> None:
    """A test that fails leaves no patch to the next one."""
    output = run("""
        import up.mod
        def test_one(patchkit_applied):
            patchkit_applied("p")
            patchkit_applied("q")
            assert False
        def test_two():
            assert (up.mod.function(), up.mod.other()) == ("old", "old")
    """)
    assert "1 failed, 1 passed" in output


@pytest.mark.parametrize(
    ("name", "reason"),
    [("absent", "nowhere is not installed"), ("typo", "expected a patch's name")],
)
def test_a_patch_that_cannot_be_applied_fails_the_test(
    run: Runs, name: str, reason: str
) -> None:
    """A test that asks for such a patch, by the fixture or the marker, fails with the reason."""
    output = run(f"""
        def test_one(patchkit_applied):
            patchkit_applied({name!r})
        @pytest.mark.patched({name!r})
        def test_two(): ...
    """)
    assert "2 failed" in output
    assert reason in output


# -- patched --------------------------------------------------------------------------------------


def test_the_marker_applies_its_patches_around_a_test(run: Runs) -> None:
    """`patched` works on functions, classes, modules and unittest's coroutines, also together.

    Fixtures are set up before it applies its patches.
    """
    output = run("""
        import unittest, up.mod
        pytestmark = pytest.mark.patched("p")
        def test_module():
            assert up.mod.function() == ("by", "old")
        @pytest.mark.patched("q")
        class TestClass:
            def test_both(self):
                assert (up.mod.function(), up.mod.other()) == (("by", "old"), ("two", "old"))
        class Case(unittest.IsolatedAsyncioTestCase):
            async def test_method(self):
                self.assertEqual(up.mod.function(), ("by", "old"))
                self.assertEqual(up.mod.other(), "old")
        def test_its_fixtures_are_set_up_before(seen):
            assert seen == "old"
        @pytest.fixture
        def seen():
            return up.mod.function()
    """)
    assert (run.status, output.count("PASSED")) == (0, 4), output


def test_what_cannot_be_undone_fails_the_test(run: Runs) -> None:
    """A test that overwrites the target of its patch fails with an UndoError."""
    output = run(
        """
        import up.mod
        @pytest.mark.patched("p")
        def test_one():
            up.mod.function = None
        """,
        "-W",
        "default",
    )
    assert run.status == 1, output
    assert "UndoError: up.mod.function was overwritten" in output


def test_packs_by_option_and_by_marker(run: Runs, world: World) -> None:
    """`--patchkit-patches` names packs for every test and its children; `packs=` for one."""
    world.pack(
        row("o", "patch_o", "Wrap('up.mod:function', by='two')"),
        name="other",
        patch_o=BODY,
    )
    tests = """
        import os, patchkit, up.mod
        @pytest.mark.patched("o", "p")
        def test_marker():
            assert up.mod.function() == ("two", ("by", "old"))
        def test_fixture(patchkit_applied):
            patchkit_applied("o")
            assert up.mod.function() == ("two", "old")
        def test_block():
            with patchkit.applied("o"):
                assert up.mod.function() == ("two", "old")
            assert os.environ["PATCHKIT_PATCHES"] == "pack,other"
    """
    output = run(tests, "--patchkit-patches", "other")
    assert (run.status, output.count("PASSED")) == (0, 3), output
    assert "found 'o', expected a patch's name" in run(tests)
    output = run("""
        import up.mod
        @pytest.mark.patched("o", packs="other")
        def test_marker():
            assert up.mod.function() == ("two", "old")
        def test_fixture(patchkit_applied):
            patchkit_applied("o", packs=["other"])
            assert up.mod.function() == ("two", "old")
    """)
    assert (run.status, output.count("PASSED")) == (0, 2), output


@pytest.mark.parametrize("place", ["project", "project/src"])
def test_a_projects_packs_are_found_by_its_tests(
    run: Runs, world: World, place: str
) -> None:
    """Tests find the packs of `[tool.patchkit]`, which are neither installed nor on a path.

    An unknown key of that section is a usage error.
    """
    project = world.folder / "project"
    world.pack(
        row("o", "patch_o", "Wrap('up.mod:function', by='two')"),
        name="mine",
        patch_o=BODY,
    )
    (world.folder / place).mkdir(parents=True)
    (world.folder / "mine").rename(world.folder / place / "mine")
    (project / "pyproject.toml").write_text("[tool.patchkit]\npacks = ['mine']\n")
    (project / "tests").mkdir()
    (project / "tests" / "test_of_it.py").write_text(PROJECT_TEST)
    output = run("", "project/tests/test_of_it.py")
    assert (run.status, output.count("PASSED")) == (0, 1), output
    (project / "pyproject.toml").write_text("[tool.patchkit]\npakcs = ['mine']\n")
    output = run("", "project/tests/test_of_it.py")
    assert run.status == 4
    assert "unknown key 'pakcs'; did you mean packs?" in output


PROJECT_TEST = """
import subprocess, sys
import pytest
@pytest.mark.patched("o")
def test_of_it():
    import up.mod
    assert up.mod.function() == ("two", "old")
    subprocess.run([sys.executable, "-c", "import mine"], check=True)
"""


# -- nothing else arms ----------------------------------------------------------------------------

LOADING = """
from importlib.metadata import entry_points
import up.mod
for entry in entry_points(group="up.plugins"):
    entry.load()()
"""


ASKING = """
import multiprocessing
from up.mod import function
def told(answers): answers.put(seen())
def seen():
    import sys, up.loading
    process = sys.modules.get("patchkit.runtime.reach.arming")
    return up.mod.function(), bool(process and process.current())
def in_child(method):
    context = multiprocessing.get_context(method)
    answers = context.Queue()
    child = context.Process(target=told, args=(answers,))
    child.start()
    answer = answers.get(timeout=20)
    child.join()
    return answer
"""
UNARMED = """
    import importlib, os, pytest, up.loading, up.mod, up.asking
    METHODS = ["fork", "spawn", "forkserver"]
    def test_nothing_is_applied():
        assert up.asking.seen() == ("old", False)
    @pytest.mark.parametrize("method", METHODS)
    def test_nor_in_children(method):
        assert up.asking.in_child(method) == ("old", False)
    @pytest.mark.patched("p")
    def test_only_what_is_named():
        assert up.mod.function() == ("by", "old")
        assert up.mod.other() == "old"
    def test_a_body_is_a_module():
        importlib.import_module("pack.patch_a")
        assert up.asking.seen() == ("old", False)
"""


@pytest.fixture
def loading(run: Runs, world: World) -> Runs:
    """An upstream that loads its plugins when it is imported, as vLLM does, in a conftest."""
    info = world.folder / "patchkit_here-1.dist-info" / "entry_points.txt"
    module = "patchkit.runtime.reach.vllm_plugin"
    plugins = f"a = {module}:platform\nb = {module}:general\n"
    info.write_text(f"{ENTRY}[up.plugins]\n{plugins}")
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:function', by='by')", roles="set(Role)"),
        row("q", "patch_a", "Wrap('up.mod:other', by='two')"),
        patch_a=BODY,
    )
    world.module("up.loading", LOADING)
    world.module("up.asking", ASKING)
    (world.folder / "conftest.py").write_text("import up.loading\n")
    return run


def test_an_upstream_that_loads_plugins_arms_nothing(loading: Runs) -> None:
    """An upstream that loads patchkit's plugins arms neither the tests nor their children."""
    output = loading(UNARMED)
    assert (loading.status, output.count("PASSED")) == (0, 6), output


def test_a_test_may_arm_its_process_and_its_children(loading: Runs) -> None:
    """`PATCHKIT=1` arms children of a test, and `import patchkit.auto` arms its process, too.

    With `-p no:patchkit`, the plugins that upstream loads arm it.
    """
    output = loading("""
        import patchkit.runtime.reach.arming, up.asking
        def test_children(monkeypatch):
            monkeypatch.setenv("PATCHKIT", "1")
            assert up.asking.in_child("spawn") == (("by", "old"), True)
        def test_process():
            assert up.asking.seen() == ("old", False)
            import patchkit.auto
            assert up.asking.seen() == (("by", "old"), True)
            assert up.asking.in_child("spawn") == (("by", "old"), True)
    """)
    assert (loading.status, output.count("PASSED")) == (0, 2), output
    output = loading(
        """
        import up.asking
        def test_process():
            assert up.asking.seen() == (("by", "old"), True)
        """,
        *WITHOUT,
    )
    assert (loading.status, output.count("PASSED")) == (0, 1), output


def test_a_program_that_a_test_starts_is_on_its_own(loading: Runs) -> None:
    """A program that a test starts is patched by what is installed, as without a test."""
    output = loading("""
        import subprocess, sys
        def test_program():
            code = "import up.asking; print(*up.asking.seen())"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            assert done.stdout == "('by', 'old') True\\n"
    """)
    assert (loading.status, output.count("PASSED")) == (0, 1), output


# -- around ---------------------------------------------------------------------------------------


def test_the_header_names_the_vllm_and_counts_the_patches(
    run: Runs, world: World
) -> None:
    """The header names the version of vLLM and its source, and says how many patches there are.

    Where a pack cannot be read, it shows the error, and the run goes on.
    """
    import patchkit.platform
    import patchkit.worker

    count = 3 + len(patchkit.platform.PATCHES) + len(patchkit.worker.PATCHES)
    assert f"patchkit: vllm is not installed, {count} patches\n" in run("")
    vllm(world, "0.12.0")
    assert f"patchkit: vllm 0.12.0 (distribution vllm), {count} patches\n" in run("")
    output = run("", PATCHKIT_PATCHES="gone")
    assert "patchkit: pack gone, import: found ModuleNotFoundError" in output
    assert run.status == pytest.ExitCode.NO_TESTS_COLLECTED


def test_markers_are_known_and_the_plugin_can_be_turned_off(run: Runs) -> None:
    """`--markers` explains the markers; `-p no:patchkit` takes them and the header away."""
    output = run("", "--markers")
    assert "@pytest.mark.vllm(bounds)" in output
    assert "@pytest.mark.patched(name, ..., packs=())" in output
    output = run(MARKED, *WITHOUT)
    assert "'vllm' not found in `markers`" in output
    assert "patchkit:" not in output


def test_the_plugin_imports_nothing_until_it_is_used(run: Runs) -> None:
    """For tests that do not use it, the plugin imports neither a session, a pack nor vLLM."""
    output = run(
        """
        import sys
        def test_one():
            runtime = ("patchkit.runtime.reach.arming", "patchkit.runtime.process.session")
            own = (*runtime, "patchkit.registry")
            heavy = ("pack", "vllm", "torch", "packaging.requirements")
            assert [name for name in (*own, *heavy)
                    if name in sys.modules] == []
        """,
        "-q",  # without a header
    )
    assert run.status == 0, output


@pytest.mark.processes
def test_the_plugin_works_where_patchkit_was_imported_before(
    run: Runs, world: World
) -> None:
    """In a process that the bootstrap has armed, markers work, and pytest gives no warning."""
    world.module("sitecustomize", "import patchkit.auto\n")
    output = run("""
        import up.mod
        @pytest.mark.patched("p")
        def test_one():
            assert up.mod.function() == ("by", "old")
        def test_two():
            assert (up.mod.function(), up.mod.other()) == ("old", ("two", "old"))
    """)
    assert (run.status, output.count("PASSED")) == (0, 2), output
