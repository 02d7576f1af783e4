"""The table of predictions: the accepted reviews of all jobs, in their order."""

import polars as pl

from homogenization.measures.measure import READ_TEXTS_SCHEMA
from homogenization.tables.predictions import PREDICTIONS_SCHEMA, tabulate
from measured import accepted


def test_accepted_reviews_of_all_jobs(tmp_path):
    paths = []
    for variant, reviews in (("original", "ab"), ("front", "ba")):
        rows = [{"model": "m", "variant": variant, "review_id": name, "loss_per_word": 5.0} for name in reviews]
        paths.append(str(tmp_path / f"{variant}.parquet"))
        pl.DataFrame(rows, schema=READ_TEXTS_SCHEMA).write_parquet(paths[-1])
    table = tabulate(paths, accepted("a"))
    assert table.select("variant", "review_id").rows() == [("original", "a"), ("original", "b"), ("front", "a")]
    assert table.columns == list(PREDICTIONS_SCHEMA)
