"""Editing what a rule computes with changes its hash; editing anything else does not."""

import pytest

from homogenization.run import code_hash as module
from homogenization.run.code_hash import code_hash


@pytest.fixture
def hash_of(tmp_path, monkeypatch):
    """The hash of a script and of parts of a library with the packages `shapes` and `others`, as the files are now."""
    for name in ("shapes/area", "shapes/round/circle", "others/area"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.py").write_text("PI = 3\n")
    (tmp_path / "script.py").write_text("print(3)\n")
    monkeypatch.setattr(module, "LIBRARY", tmp_path)

    def fresh(*parts: str) -> str:
        module._digest.cache_clear()
        return code_hash(tmp_path / "script.py", *parts)

    return fresh


@pytest.mark.parametrize(
    ("edited", "reached"),
    [("script", True), ("shapes/area", True), ("shapes/round/circle", True), ("others/area", False)],
)
def test_the_script_and_all_modules_of_a_package_count(hash_of, tmp_path, edited, reached):
    before = hash_of("shapes")
    (tmp_path / f"{edited}.py").write_text("PI = 4\n")
    assert (hash_of("shapes") != before) == reached


def test_a_module_counts_alone(hash_of, tmp_path):
    before = hash_of("shapes.area")
    (tmp_path / "shapes/round/circle.py").write_text("PI = 4\n")
    assert hash_of("shapes.area") == before != hash_of("shapes")
    with pytest.raises(FileNotFoundError):
        hash_of("missing")
