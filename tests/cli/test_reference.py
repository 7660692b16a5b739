"""The generated pages of the reference, and the public names, are those of the code."""

import ast
import subprocess
import sys
import tomllib

import mainspring
from tests.cli.conftest import ROOT, environment


def test_the_reference_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "tools/reference.py", "--check"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert mainspring.__version__ == project["version"]


def test_the_stub_names_what_the_package_names() -> None:
    stub = ast.parse((ROOT / "mainspring/__init__.pyi").read_text())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    modules = vars(mainspring)["_MODULES"]
    homes = {
        alias.name: f"{node.module}.{alias.name}" if alias.name in modules else node.module
        for node in imports
        for alias in node.names
        if node.module != "typing"
    }
    assert homes == vars(mainspring)["_HOME"]
    assert {*homes, "__version__"} == set(mainspring.__all__)


def test_every_public_name_is_there() -> None:
    for name in mainspring.__all__:
        assert getattr(mainspring, name) is not None
    assert set(mainspring.__all__) <= set(dir(mainspring))
