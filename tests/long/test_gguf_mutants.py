"""A thousand damaged GGUF files: each is refused with a message, is the same, or gives other numbers, all finite."""

from collections import Counter

import pytest

from gguf_mutants import FINE, fate, mutants
from homogenization.models.gguf import convert_gguf
from tiny_gguf import write_gguf


@pytest.mark.parametrize(("kind", "seed"), [("Q4_1", 1), ("F32", 2), ("Q8_0", 3)])
def test_damaged_files(tmp_path, kind, seed):
    whole = write_gguf(tmp_path / "model.gguf", kind)
    convert_gguf({"path": str(tmp_path), "gguf": "model.gguf"}, tmp_path / "whole")
    fates = {
        what: fate(content, tmp_path / "whole", tmp_path / str(number))
        for number, (what, content) in enumerate(mutants(whole, seed, 330))
    }
    print(Counter(fates.values()))
    assert set(fates.values()) <= FINE, {what: found for what, found in fates.items() if found not in FINE}
