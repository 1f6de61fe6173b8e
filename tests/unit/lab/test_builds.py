"""What old releases need after their install, and the recipes that hold the builds."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib import metadata
from textwrap import dedent
from typing import TYPE_CHECKING

import environments
import pytest
from builds import (
    BuildError,
    distribution,
    elf,
    lane_file,
    packages_of,
    vllm_0_7_3,
    vllm_0_9_2,
    vllm_0_11_2,
    vllm_0_33_0,
)
from recipes import RECIPES, Layer, Recipe
from steps import EnvironmentsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

LOAD = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).answer())"
NEWER = "OLD_1 {{ global: base; }}; {version} {{ global: added; }};"
OLDER = "OLD_1 { global: base; };"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder of an environment without packages."""
    (tmp_path / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    return tmp_path


def library(folder: Path, versions: str) -> Path:
    """Make a library with two functions, of which it exports those that have a version."""
    (folder / "base.c").write_text(
        "int base(void) { return 1; } int added(void) { return 2; }"
    )
    (folder / "versions").write_text(versions + " LAST { local: *; };")
    script = f"-Wl,--version-script={folder / 'versions'}"
    return linked(folder / "libbase.so", folder / "base.c", script)


def user(folder: Path, version: str = "NEW_2") -> Path:
    """Make a library that was linked with the newer of two, and calls only what both have."""
    source = folder / "user.c"
    source.write_text(
        "int base(void); int added(void);"
        "int answer(void) { return 41 + base(); } int never(void) { return added(); }"
    )
    base = library(folder, NEWER.format(version=version))
    file = linked(
        folder / "user.so", source, str(base), f"-Wl,-rpath,{folder}", "-Wl,-z,now"
    )
    library(folder, OLDER)
    return file


def linked(file: Path, *arguments: str | Path) -> Path:
    """Link a shared library."""
    command = ["cc", "-shared", "-fPIC", *map(str, arguments), "-o", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    return file


def loaded(file: Path) -> subprocess.CompletedProcess[str]:
    """Load a library in a fresh Python, which prints the library's answer."""
    command = [sys.executable, "-c", LOAD, str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.processes
def test_a_library_loads_without_the_version_that_was_weakened(tmp_path: Path) -> None:
    """The dynamic linker itself refuses the library before, and loads it after."""
    file = user(tmp_path)
    assert "version `NEW_2' not found" in loaded(file).stderr
    elf.weaken(file, "NEW_2")
    assert loaded(file).stdout == "42\n"


@pytest.mark.processes
def test_weakening_changes_a_flag_and_a_binding_and_nothing_else(
    tmp_path: Path,
) -> None:
    """Weakening a second time changes nothing more."""
    file = user(tmp_path)
    before = file.read_bytes()
    elf.weaken(file, "NEW_2")
    after = file.read_bytes()
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 2
    elf.weaken(file, "NEW_2")
    assert file.read_bytes() == after


@pytest.mark.processes
def test_weakening_leaves_a_file_that_shares_the_content(tmp_path: Path) -> None:
    """The cache of packages may hold the same file by a hard link."""
    file = user(tmp_path)
    cached = tmp_path / "cached.so"
    cached.hardlink_to(file)
    before = cached.read_bytes()
    elf.weaken(file, "NEW_2")
    assert cached.read_bytes() == before
    assert file.stat().st_mode == cached.stat().st_mode


@pytest.mark.processes
def test_weakening_what_is_not_needed_is_an_error(tmp_path: Path) -> None:
    """It says which file, and which version was expected."""
    file = user(tmp_path)
    with pytest.raises(
        BuildError, match=r"user\.so: found no need of NEW_3, expected one"
    ):
        elf.weaken(file, "NEW_3")


def test_weakening_needs_an_elf_file(tmp_path: Path) -> None:
    """Another file is refused before anything is read of it."""
    file = tmp_path / "a.so"
    file.write_text("no library")
    with pytest.raises(
        BuildError, match=r"a\.so: found no 64-bit little-endian ELF file"
    ):
        elf.weaken(file, "NEW_2")


def test_the_distribution_vllm_has_the_release_and_names_the_cpu(place: Path) -> None:
    """What a release asks `importlib.metadata` for is there, once."""
    for _ in range(2):
        distribution.name_vllm(place, "0.9.2")
    installed = metadata.distributions(name="vllm", path=[str(packages_of(place))])
    assert [vllm.version for vllm in installed] == ["0.9.2+cpu"]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("module", "version", "variables"),
    [
        (vllm_0_9_2, "GLIBCXX_3.4.32", {"VLLM_CPU_OMP_THREADS_BIND": "all|all"}),
        (vllm_0_11_2, "CXXABI_1.3.15", {}),
    ],
)
def test_a_build_lets_operators_load_that_ask_for_a_newer_library(
    module: ModuleType, version: str, variables: dict[str, str], place: Path
) -> None:
    """The environment then holds operators that load, a name, and what processes need."""
    operators = packages_of(place) / "vllm" / "_C.abi3.so"
    operators.parent.mkdir()
    user(place, version).rename(operators)
    module.build(place)
    assert loaded(operators).stdout == "42\n"
    assert [*metadata.distributions(name="vllm", path=[str(packages_of(place))])]
    assert lane_file.read(place) == variables


def test_an_environment_without_packages_is_an_error(tmp_path: Path) -> None:
    """The error says how many folders of packages there are."""
    with pytest.raises(BuildError, match=r"found 0 folders of packages, expected one"):
        packages_of(tmp_path)


def test_the_hybrid_keeps_shared_objects_and_no_python(tmp_path: Path) -> None:
    """All else is the other release's, without its bytecode, also when it is done twice."""
    source, package = tmp_path / "source", tmp_path / "vllm"
    (source / "__pycache__").mkdir(parents=True)
    for file in (
        source / "core.py",
        package / "core.py",
        package / "gone.py",
        package / "_C.so",
    ):
        file.parent.mkdir(exist_ok=True)
        file.write_text(file.parent.name)
    (package / "core.py").rename(tmp_path / "cached.py")
    (package / "core.py").hardlink_to(tmp_path / "cached.py")
    for _ in range(2):
        vllm_0_33_0.replace_python(package, source)
    held = {file.name: file.read_text() for file in package.iterdir()}
    assert held == {"core.py": "source", "_C.so": "vllm"}
    assert (tmp_path / "cached.py").read_text() == "vllm"


@pytest.mark.parametrize("moment", ["before the exchange", "in it", "after it"])
def test_an_interrupted_exchange_loses_no_operators(
    moment: str, tmp_path: Path
) -> None:
    """The next one finds them wherever the last one was stopped."""
    source, package = tmp_path / "source", tmp_path / "vllm"
    for file in (
        source / "core.py",
        package / "_C.so",
        tmp_path / "vllm.new" / "half.py",
    ):
        file.parent.mkdir(exist_ok=True)
        file.write_text("")
    if moment == "in it":
        package.rename(tmp_path / "vllm.old")
    elif moment == "after it":
        (tmp_path / "vllm.old").mkdir()
    vllm_0_33_0.replace_python(package, source)
    assert {file.name for file in package.iterdir()} == {"core.py", "_C.so"}
    assert {place.name for place in tmp_path.iterdir()} == {"source", "vllm"}


def test_a_hybrid_without_operators_is_an_error(tmp_path: Path) -> None:
    """The package stays as it was."""
    source, package = tmp_path / "source", tmp_path / "vllm"
    for file in (source / "core.py", package / "old.py", package / "spinloop.so"):
        file.parent.mkdir(exist_ok=True)
        file.write_text("")
    with pytest.raises(
        BuildError, match=r"vllm: found no _C\*\.so, expected native operators"
    ):
        vllm_0_33_0.replace_python(package, source)
    assert (package / "old.py").exists()


@pytest.mark.processes
def test_a_compiler_that_is_missing_is_named() -> None:
    """The error also says what to install."""
    with pytest.raises(
        BuildError, match=r"found no g\+\+-of-nobody, expected one: install a C\+\+"
    ):
        vllm_0_7_3.run(["g++-of-nobody"])


@pytest.mark.processes
def test_a_compiler_that_fails_is_quoted() -> None:
    """The end of what it said is in the message."""
    command = [sys.executable, "-c", "import sys; sys.exit('no such header')"]
    with pytest.raises(BuildError, match=r"exit 1\nno such header"):
        vllm_0_7_3.run(command)


def made_build(folder: Path) -> Callable[[Path], None]:
    """A build in a file of its own, which fails."""
    folder.mkdir()
    file = folder / "made.py"
    file.write_text(
        dedent("""
        from builds import BuildError

        def build(place):
            raise BuildError("found no compiler")
        """)
    )
    spec = importlib.util.spec_from_file_location("made", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    build: Callable[[Path], None] = module.build
    return build


def test_a_build_that_fails_says_which_environment_and_why(tmp_path: Path) -> None:
    """A failed build is a failed step, as a failed install is."""
    layer = Layer("operators", (), build=made_build(tmp_path / "builds"))
    message = r"vllm-9: building operators: found no compiler"
    with pytest.raises(EnvironmentsError, match=message):
        environments.run_build(tmp_path / "vllm-9", layer)


def test_a_build_is_done_again_when_a_file_beside_it_changes(tmp_path: Path) -> None:
    """What builds share is among what they depend on."""
    recipe = Recipe((Layer("operators", (), build=made_build(tmp_path / "builds")),))
    before = environments.digest(recipe, 0)
    assert environments.digest(recipe, 0) == before
    (tmp_path / "builds" / "shared.py").write_text("SHARED = 1")
    assert environments.digest(recipe, 0) != before


OF_PILES = ("vllm-0.8.5", "vllm-0.26.0")
"""For the study of piles, which starts no engine."""
ENGINES = [
    name
    for name in RECIPES
    if name.startswith(("vllm-", "ray-")) and name not in OF_PILES
]


@pytest.mark.parametrize("name", ENGINES)
def test_an_environment_of_an_engine_holds_patchkit_and_the_machine(name: str) -> None:
    """Torch is held to one release, and what is under test comes after it."""
    layers = RECIPES[name].layers
    assert layers[0].torch
    assert {"patchkit", "the simulated NPU machine"} <= {
        layer.title for layer in layers[1:]
    }


@pytest.mark.parametrize("name", RECIPES)
def test_every_layer_does_something_and_watches_files_that_exist(name: str) -> None:
    """A recipe that could not be made would say so only after minutes."""
    for layer in RECIPES[name].layers:
        assert layer.arguments or layer.build
        assert all(file.is_file() for file in layer.watched)
