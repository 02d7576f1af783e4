"""The figure of the similarity of the variants to the original."""

import polars as pl

from drawings import VARIANTS, texts
from library.figures.example_tables import similarity_table
from library.figures.examples import drawn, figure_of, require_refusal


def similar(table, **fields):
    return figure_of("similarity", {"similarity": table}, **fields)


def test_it_states_acceptance_threshold_and_baseline():
    axes = drawn("similarity").axes
    # front: .8 + .004 i reaches .85 from i = 13 on
    assert "27 of 40 rewritten reviews accepted (67.5 %)" in axes[0].get_title(loc="left")
    assert axes[-1].get_title(loc="left").startswith("Random pairs of originals: median 0.539, 40 pairs")
    assert all(panel.lines[-1].get_xdata()[0] == 0.85 for panel in axes)
    assert len({panel.get_xlim() for panel in axes}) == 1
    assert "No review was rewritten" not in texts(drawn("similarity"))
    without_end = similarity_table(variants=[VARIANTS[1], VARIANTS[3]])
    assert "No review was rewritten: End." in texts(similar(without_end))


def test_without_baseline_without_variants_and_of_equal_scores():
    assert "no random pairs" in texts(similar(similarity_table(random_pairs=False)))
    assert len(similar(similarity_table(variants=[])).axes) == 1
    equal = similarity_table(random_pairs=False).with_columns(f1=pl.lit(1.0))
    assert len(similar(equal, threshold=1.0).axes) == 3


def test_a_table_without_scores_is_refused():
    without = similarity_table().with_columns(f1=pl.lit(None, pl.Float64))
    require_refusal("similarity", "the table holds end, front, random_pairs, scattered", {"similarity": without})
