"""Check of the sdist and the wheel: missing, generated and unwanted files are found."""

import tarfile
import zipfile

import pytest

from tests.expectations import names_values
from tools.archives import FILES, find_problems

SOURCES = {
    "src/mercer/__init__.py": "x = 1",
    "src/mercer/py.typed": "",
    "src/mercer/explorer/static/style.css": "a {}",
    "tests/test_x.py": "",
    "docs/index.md": "",
    "benchmarks/x.py": "",
    "papers/x.py": "",
    "tools/x.py": "",
    **dict.fromkeys((*FILES, "constraints.txt"), "some words"),
}
PACKAGE = {
    **{
        name.removeprefix("src/"): text for name, text in SOURCES.items() if name.startswith("src/")
    },
    "mercer-0.dist-info/licenses/LICENSE": "some words",
}


@pytest.fixture
def root(tmp_path):
    """A project with generated files."""
    made = {"src/mercer/__pycache__/x.pyc": "", "docs/_build/html/index.html": ""}
    for name, text in (SOURCES | made).items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "project"


def check(root, sources=SOURCES, package=PACKAGE):
    sdist, wheel = root.parent / "a.tar.gz", root.parent / "a.whl"
    with tarfile.open(sdist, "w:gz") as archive:
        for name, text in sources.items():
            file = root.parent / "member"
            file.write_text(text)
            archive.add(file, f"mercer-0/{name}")
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in package.items():
            archive.writestr(name, text)
    return find_problems(sdist, wheel, root)


def without(members, name):
    return {key: text for key, text in members.items() if key != name}


def test_complete_archives_pass(root):
    assert check(root) == []


@pytest.mark.parametrize("name", SOURCES)
def test_files_missing_from_the_sdist_are_found(root, name):
    (found,) = check(root, without(SOURCES, name))
    assert names_values(found, "sdist", name) == []


@pytest.mark.parametrize("name", PACKAGE)
def test_files_missing_from_the_wheel_are_found(root, name):
    (found,) = check(root, package=without(PACKAGE, name))
    assert names_values(found, "wheel", name.rpartition("/")[2]) == []


def test_generated_files_are_found(root):
    name = "mercer/__pycache__/x.cpython-311.pyc"
    (found,) = check(root, package=PACKAGE | {name: ""})
    assert names_values(found, "wheel", name) == []


def test_other_packages_in_the_wheel_are_found(root):
    (found,) = check(root, package=PACKAGE | {"papers/x.py": ""})
    assert "papers/x.py" in found


def test_paths_of_the_build_machine_are_found(root):
    (found,) = check(root, SOURCES | {"docs/index.md": f"see {root}/docs"})
    assert names_values(found, "docs/index.md", root) == []
