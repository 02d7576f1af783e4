"""The figure of the similarity of the variants to the original."""

from functools import cache

import polars as pl

from drawings import VARIANTS, N, require_axis_labels, require_house_style, require_refusal, shown, texts
from homogenization.figures.similarity import draw


def similarity_table(random_pairs=True, variants=VARIANTS[1:]):
    rows = []
    for shift, (variant, _) in enumerate(variants):
        for index in range(N):
            f1 = 0.8 + 0.004 * index - 0.01 * shift
            rows.append((variant, f"{index:012x}", f1, f1, f1, f1 >= 0.85))
    for index in range(N if random_pairs else 0):
        rows.append(("random_pairs", f"{index:012x}", 0.5, 0.5, 0.5 + 0.002 * index, None))
    schema = dict.fromkeys(("precision", "recall", "f1"), pl.Float64)
    schema = {"variant": pl.String, "review_id": pl.String, **schema, "accepted": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def figure_of(table, threshold=0.85):
    return draw({"similarity": table}, shown(rewritten=VARIANTS[1:], threshold=threshold))


@cache
def drawn():
    return figure_of(similarity_table())


def test_it_keeps_the_house_style():
    require_house_style(drawn(), f"{N} rewritten reviews accepted")
    require_axis_labels(drawn())


def test_it_states_acceptance_threshold_and_baseline():
    # front: .8 + .004 i reaches .85 from i = 13 on
    assert "27 of 40 rewritten reviews accepted (67.5 %)" in drawn().axes[0].get_title(loc="left")
    assert drawn().axes[-1].get_title(loc="left").startswith("Random pairs of originals: median 0.539, 40 pairs")
    assert all(axes.lines[-1].get_xdata()[0] == 0.85 for axes in drawn().axes)
    assert len({axes.get_xlim() for axes in drawn().axes}) == 1
    assert "No review was rewritten" not in texts(drawn())
    assert "No review was rewritten: End." in texts(figure_of(similarity_table(variants=VARIANTS[1:2] + VARIANTS[3:])))


def test_without_baseline_without_variants_and_of_equal_scores():
    assert "no random pairs" in texts(figure_of(similarity_table(random_pairs=False)))
    assert len(figure_of(similarity_table(variants=[])).axes) == 1
    equal = similarity_table(random_pairs=False).with_columns(f1=pl.lit(1.0))
    assert len(figure_of(equal, threshold=1.0).axes) == 3


def test_a_table_without_scores_is_refused():
    chosen = shown(rewritten=VARIANTS[1:])
    require_refusal(draw, {"similarity": similarity_table().clear()}, chosen, "variants front, end, scattered")
    without = similarity_table().with_columns(f1=pl.lit(None, pl.Float64))
    require_refusal(draw, {"similarity": without}, chosen, "the table holds end, front, random_pairs, scattered")
