"""The figure of where the key phrases stand."""

from functools import cache

import numpy as np
import polars as pl
import pytest

from drawings import VARIANTS, N, require_axis_labels, require_house_style, require_refusal, shown, texts
from homogenization.figures.placement import draw


def placement_table(variants=VARIANTS):
    rows = []
    for variant, _ in variants:
        for index in range(N):
            before = index / (N - 1)
            after = {"original": before, "front": 0.0 if index % 4 else 0.05, "end": 1.0}.get(variant, 1 - before)
            rows.append((variant, f"{index % 10:012x}", "phrase", index // 10, before, after))
        rows.append((variant, "0" * 12, "whole", 9, None, None))
    columns = ["variant", "review_id", "phrase", "sentence", "original_position", "position"]
    return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)


@cache
def drawn():
    return draw({"placement": placement_table()}, shown())


def test_it_keeps_the_house_style():
    require_house_style(drawn(), "41 key phrases in 10 reviews")
    require_axis_labels(drawn())


def test_bars_are_shares_with_exact_ends_apart():
    before, after = drawn().axes[1].containers  # front
    heights = [bar.get_height() for bar in after]
    np.testing.assert_allclose(heights[:2], [75, 25])
    assert sum(heights) == pytest.approx(100)
    assert before[0].get_height() == pytest.approx(100 / N)  # one phrase stood at exactly 0
    assert drawn().axes[2].containers[1][-1].get_height() == 100  # end
    assert "left out (1 phrase)" in texts(drawn())


def test_a_variant_without_phrases_says_so():
    assert "no key phrases" in texts(draw({"placement": placement_table(VARIANTS[:2])}, shown()))


def test_an_empty_table_is_refused():
    require_refusal(draw, {"placement": placement_table().clear()}, shown(), "variants original, front")
