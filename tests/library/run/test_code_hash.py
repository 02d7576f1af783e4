"""Editing what a rule computes with changes its hash; editing anything else does not."""

import pytest

from homogenization.run import code_hash as module
from homogenization.run.code_hash import code_hash


def test_the_script_and_the_modules_that_are_named_count(tmp_path, monkeypatch):
    for name in ("shapes/area", "shapes/round/circle", "others/area", "script"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.py").write_text("PI = 3\n")
    monkeypatch.setattr(module, "LIBRARY", tmp_path)

    def hashes():
        module._digest.cache_clear()
        return [code_hash(tmp_path / "script.py", part) for part in ("shapes", "shapes.area")]

    for edited, of_package, of_module in (
        ("script", True, True),
        ("shapes/area", True, True),
        ("shapes/round/circle", True, False),
        ("others/area", False, False),
    ):
        before = hashes()
        (tmp_path / f"{edited}.py").write_text(f"PI = 4  # {edited}\n")
        assert [new != old for new, old in zip(hashes(), before, strict=True)] == [of_package, of_module], edited
    with pytest.raises(FileNotFoundError):
        code_hash(tmp_path / "script.py", "missing")
