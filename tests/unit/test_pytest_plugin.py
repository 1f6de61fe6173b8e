"""Each test runs a pytest of its own, which finds the plugin by its entry point."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import packages
import pytest
import pytests
from packages import World, row

if TYPE_CHECKING:
    from pytests import Pytests

world = packages.world
pytests = pytests.pytests

BODY = """
def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))
def two(wrapped, instance, args, kwargs): return ('two', wrapped(*args, **kwargs))
"""
UPSTREAM = "def function(): return 'old'\ndef other(): return 'old'\n"
ENTRY = "[pytest11]\npatchkit = patchkit.pytest_plugin\n"
WITHOUT = ("-p", "no:patchkit")


class Runs:
    """Writes test files, and runs pytest on them."""

    def __init__(self, world: World, pytests: Pytests) -> None:
        self.world = world
        self.pytests = pytests

    def __call__(self, tests: str, *words: str, **environ: str) -> str:
        """What pytest says; `status` is its exit code."""
        (self.world.folder / "test_it.py").write_text("import pytest\n" + dedent(tests))
        if words[-2:] != WITHOUT:
            # By its entry point as ever; the plugins of others only cost time.
            words = ("-p", "patchkit", *words)
            environ.setdefault("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        own = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-W", "error", "-rA")
        words = (*own, "--strict-markers", *words)
        if (self.world.folder / "sitecustomize.py").exists():  # which a start of Python reads
            done = self.world.run("-m", "pytest", *words, **environ)
            self.status = done.returncode
            return done.stdout + done.stderr
        self.status, said = self.pytests.run(
            words, self.world.folder, self.world.environ(**environ)
        )
        return said


@pytest.fixture
def run(world: World, pytests: Pytests) -> Runs:
    """One pack with two patches; patchkit as if installed, and no vLLM."""
    info = world.folder / "patchkit_here-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: patchkit-here\nVersion: 1\n")
    (info / "entry_points.txt").write_text(ENTRY)
    world.module("up.mod", UPSTREAM)
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:function', by='by')", roles="{Role.WORKER}"),
        row("q", "patch_a", "Wrap('up.mod:other', by='two')"),
        row("absent", "patch_a", "Wrap('up.mod:other', by='two')", requires="('nowhere',)"),
        patch_a=BODY,
    )
    return Runs(world, pytests)


def vllm(world: World, version: str) -> None:
    """Install a vLLM that cannot be imported."""
    world.module("vllm.__init__", "raise AssertionError('vLLM was imported')\n")
    info = world.folder / f"vllm-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")
    (info / "RECORD").write_text("vllm/__init__.py,,\n")


# -- the fixture ----------------------------------------------------------------------------------


def test_the_fixture_applies_until_the_test_ends(run: Runs) -> None:
    """Several times in one test; the next test sees the originals."""
    said = run("""
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
    assert (run.status, said.count("PASSED")) == (0, 2), said


def test_the_fixture_undoes_in_reverse_and_after_a_failure(run: Runs) -> None:
    """A test that fails leaves nothing behind."""
    said = run("""
        import up.mod
        def test_one(patchkit_applied):
            patchkit_applied("p")
            patchkit_applied("q")
            assert False
        def test_two():
            assert (up.mod.function(), up.mod.other()) == ("old", "old")
    """)
    assert "1 failed, 1 passed" in said


@pytest.mark.parametrize(
    ("name", "reason"),
    [("absent", "nowhere is not installed"), ("typo", "expected a patch's name")],
)
def test_a_patch_that_cannot_be_applied_is_no_silent_pass(
    run: Runs, name: str, reason: str
) -> None:
    """The test fails with the reason, by the fixture and by the marker."""
    said = run(f"""
        def test_one(patchkit_applied):
            patchkit_applied({name!r})
        @pytest.mark.patched({name!r})
        def test_two(): ...
    """)
    assert "2 failed" in said
    assert reason in said


# -- patched --------------------------------------------------------------------------------------


def test_the_marker_is_the_block_around_the_test(run: Runs) -> None:
    """On functions, classes and modules, also together and on coroutines of unittest."""
    said = run("""
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
    assert (run.status, said.count("PASSED")) == (0, 4), said


def test_what_cannot_be_undone_fails_the_test(run: Runs) -> None:
    """Somebody overwrote the target within the test."""
    said = run(
        """
        import up.mod
        @pytest.mark.patched("p")
        def test_one():
            up.mod.function = None
        """,
        "-W",
        "default",
    )
    assert run.status == 1, said
    assert "UndoError: up.mod.function was overwritten" in said


def test_packs_by_option_and_by_marker(run: Runs, world: World) -> None:
    """`--patchkit-patches` names packs for every test and its children; `packs=` for one."""
    world.pack(row("o", "patch_o", "Wrap('up.mod:function', by='two')"), name="other", patch_o=BODY)
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
    said = run(tests, "--patchkit-patches", "other")
    assert (run.status, said.count("PASSED")) == (0, 3), said
    assert "found 'o', expected a patch's name" in run(tests)
    said = run("""
        import up.mod
        @pytest.mark.patched("o", packs="other")
        def test_marker():
            assert up.mod.function() == ("two", "old")
        def test_fixture(patchkit_applied):
            patchkit_applied("o", packs=["other"])
            assert up.mod.function() == ("two", "old")
    """)
    assert (run.status, said.count("PASSED")) == (0, 2), said


@pytest.mark.parametrize("place", ["project", "project/src"])
def test_a_projects_packs_are_found_by_its_tests(run: Runs, world: World, place: str) -> None:
    """`[tool.patchkit] packs` is enough: neither installed, nor on a path, nor named again."""
    project = world.folder / "project"
    world.pack(row("o", "patch_o", "Wrap('up.mod:function', by='two')"), name="mine", patch_o=BODY)
    (world.folder / place).mkdir(parents=True)
    (world.folder / "mine").rename(world.folder / place / "mine")
    (project / "pyproject.toml").write_text("[tool.patchkit]\npacks = ['mine']\n")
    (project / "tests").mkdir()
    (project / "tests" / "test_of_it.py").write_text(OF_PROJECT)
    said = run("", "project/tests/test_of_it.py")
    assert (run.status, said.count("PASSED")) == (0, 1), said
    (project / "pyproject.toml").write_text("[tool.patchkit]\npakcs = ['mine']\n")
    said = run("", "project/tests/test_of_it.py")
    assert run.status == 4
    assert "unknown key 'pakcs'; did you mean packs?" in said


OF_PROJECT = """
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
    process = sys.modules.get("patchkit.reach.arming")
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
    plugins = "a = patchkit.reach.vllm_plugin:platform\nb = patchkit.reach.vllm_plugin:general\n"
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
    """Neither the process nor its children have what is installed, whatever imports upstream."""
    said = loading(UNARMED)
    assert (loading.status, said.count("PASSED")) == (0, 6), said


def test_a_test_may_ask(loading: Runs) -> None:
    """By `PATCHKIT=1` for children, by `import patchkit.auto`; the plugin may be turned off."""
    said = loading("""
        import patchkit.reach.arming, up.asking
        def test_children(monkeypatch):
            monkeypatch.setenv("PATCHKIT", "1")
            assert up.asking.in_child("spawn") == (("by", "old"), True)
        def test_process():
            assert up.asking.seen() == ("old", False)
            import patchkit.auto
            assert up.asking.seen() == (("by", "old"), True)
            assert up.asking.in_child("spawn") == (("by", "old"), True)
    """)
    assert (loading.status, said.count("PASSED")) == (0, 2), said
    said = loading(
        """
        import up.asking
        def test_process():
            assert up.asking.seen() == (("by", "old"), True)
        """,
        *WITHOUT,
    )
    assert (loading.status, said.count("PASSED")) == (0, 1), said


def test_a_program_that_a_test_starts_is_on_its_own(loading: Runs) -> None:
    """It is patched by what is installed, as it would be without a test."""
    said = loading("""
        import subprocess, sys
        def test_program():
            code = "import up.asking; print(*up.asking.seen())"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            assert done.stdout == "('by', 'old') True\\n"
    """)
    assert (loading.status, said.count("PASSED")) == (0, 1), said


# -- vllm -----------------------------------------------------------------------------------------

MARKED = """
    @pytest.mark.vllm(">=0.11")
    def test_new(): ...
    @pytest.mark.vllm(">=0.11,<0.13")
    def test_range(): ...
    @pytest.mark.vllm("<0.11")
    class TestOld:
        def test_old(self): ...
        @pytest.mark.vllm(">=0.10")
        def test_ten(self): ...
    @pytest.mark.vllm
    def test_any(): ...
    def test_plain(): ...
"""


@pytest.mark.parametrize(
    ("version", "way", "passed"),
    [
        ("0.10.2", "installed", {"old", "ten", "any", "plain"}),
        ("0.9.2+cpu", "VLLM_VERSION", {"old", "any", "plain"}),
        ("0.11.0rc2.dev3+cu128", "installed", {"new", "range", "any", "plain"}),
        ("0.13.0.dev1", "VLLM_VERSION", {"new", "any", "plain"}),
    ],
)
def test_versions_count_as_patchkit_counts_them(
    run: Runs, world: World, version: str, way: str, passed: set[str]
) -> None:
    """A pre-release is its release, a local part is none; skips name version and source."""
    vllm(world, version if way == "installed" else "0.1.0")
    said = run(MARKED, **({"VLLM_VERSION": version} if way == "VLLM_VERSION" else {}))
    names = ("new", "range", "old", "ten", "any", "plain")
    found = {name for name in names if f"test_{name}\n" in said.partition("short test")[2]}
    assert (run.status, found) == (0, passed), said
    source = "distribution vllm" if way == "installed" else "VLLM_VERSION"
    skips = [line for line in said.splitlines() if line.startswith("SKIPPED")]
    assert skips
    assert all("test_it.py" in line and f"vllm {version} is outside" in line for line in skips)
    assert all(f"(version from {source})" in line for line in skips)


def test_without_vllm(run: Runs) -> None:
    """Marked tests are skipped for that reason; with `--patchkit-strict` they fail for it."""
    said = run(MARKED)
    assert (run.status, "1 passed, 5 skipped" in said) == (0, True), said
    assert "vllm is not installed" in said
    said = run(MARKED, "--patchkit-strict")
    assert (run.status, "1 passed, 5 errors" in said) == (1, True), said
    assert "vllm is not installed, and --patchkit-strict asks for it" in said


def test_a_version_that_says_nothing(run: Runs, world: World) -> None:
    """Tests with bounds fail and ask for VLLM_VERSION; the others run."""
    vllm(world, "0.1.dev16577+g123")
    said = run(MARKED)
    assert (run.status, "2 passed, 4 errors" in said) == (1, True), said
    assert "Set VLLM_VERSION to the release that runs here" in said
    said = run(MARKED, VLLM_VERSION="eleven")
    assert "found 'eleven' in VLLM_VERSION, which is no version" in said


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ('"0.11"', "found '0.11', expected bounds"),
        ("\">=0.11; python_version<'4'\"", "expected bounds"),
        ('"[extra]>=1"', "expected bounds"),
        ('">=0.11", "<0.13"', "found vllm('>=0.11', '<0.13'), expected bounds"),
        ('version=">=1"', "found vllm(version), expected bounds"),
    ],
)
def test_malformed_bounds_are_a_usage_error(run: Runs, given: str, found: str) -> None:
    """The run does not begin; the error names the test."""
    said = run(f"@pytest.mark.vllm({given})\ndef test_one(): ...\ndef test_two(): ...\n")
    assert run.status == pytest.ExitCode.USAGE_ERROR, said
    errors = [line for line in said.splitlines() if line.startswith("ERROR: test_it.py::test_one")]
    assert len(errors) == 1, said
    assert found in errors[0]


def test_malformed_settings(run: Runs) -> None:
    """A variable that patchkit cannot read is one line, in the header and for marked tests."""
    said = run(MARKED, PATCHKIT_ON_FAILURE="maybe")
    assert run.status == pytest.ExitCode.USAGE_ERROR
    assert said.count("PATCHKIT_ON_FAILURE: found 'maybe', expected one of 'stop', 'warn'") == 2


# -- around ---------------------------------------------------------------------------------------


def test_the_header_says_what_is_here(run: Runs, world: World) -> None:
    """The version of vLLM with its source, and how many patches there are."""
    import patchkit.platform
    import patchkit.worker

    count = 3 + len(patchkit.platform.PATCHES) + len(patchkit.worker.PATCHES)
    assert f"patchkit: vllm is not installed, {count} patches\n" in run("")
    vllm(world, "0.12.0")
    assert f"patchkit: vllm 0.12.0 (distribution vllm), {count} patches\n" in run("")
    said = run("", PATCHKIT_PATCHES="gone")
    assert "patchkit: pack gone, import: found ModuleNotFoundError" in said
    assert run.status == pytest.ExitCode.NO_TESTS_COLLECTED


def test_markers_are_known_and_it_can_be_turned_off(run: Runs) -> None:
    """`--markers` explains them; `-p no:patchkit` takes them and the option away."""
    said = run("", "--markers")
    assert "@pytest.mark.vllm(bounds)" in said
    assert "@pytest.mark.patched(name, ..., packs=())" in said
    said = run(MARKED, *WITHOUT)
    assert "'vllm' not found in `markers`" in said
    assert "patchkit:" not in said


def test_it_imports_nothing_until_it_is_asked(run: Runs) -> None:
    """No session, no pack, no vLLM and no torch for tests that do not use it."""
    said = run(
        """
        import sys
        def test_one():
            own = ("patchkit.reach.arming", "patchkit.process.session", "patchkit.registry")
            heavy = ("pack", "vllm", "torch", "packaging.requirements")
            assert [name for name in (*own, *heavy)
                    if name in sys.modules] == []
        """,
        "-q",  # without a header
    )
    assert run.status == 0, said


def test_patchkit_that_was_imported_before(run: Runs, world: World) -> None:
    """The bootstrap may have armed the process: no warning about late rewriting, same outcome."""
    world.module("sitecustomize", "import patchkit.auto\n")
    said = run("""
        import up.mod
        @pytest.mark.patched("p")
        def test_one():
            assert up.mod.function() == ("by", "old")
        def test_two():
            assert (up.mod.function(), up.mod.other()) == ("old", ("two", "old"))
    """)
    assert (run.status, said.count("PASSED")) == (0, 2), said
