"""Numbers of a finished run beside those of plain transformers and numpy (`plain.py`), review by review.

    python benchmarks/check.py                                        # config/config.yaml, one review of each variant
    python benchmarks/check.py --configfile my.yaml --reviews 10

It prints the largest relative difference of each metric over all layers and views, and ends with status 1 where one is
above the tolerance.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import polars as pl
import yaml

import plain
from homogenization.config.study import load_study
from homogenization.metrics.catalogue import describe_metric
from homogenization.models.weights import resolve_weights
from homogenization.tables.metrics import values_of

TOLERANCE = 1e-5  # of float32 states that another order of additions rounds differently


def models_of(configfile: Path, results: str) -> dict[str, dict[str, Any]]:
    """What the plain script needs to know about each model of a study: folder, bos, dtype, device."""
    study = load_study(yaml.safe_load(configfile.read_text()) | {"results": results}, source=str(configfile))
    models = {}
    for name, model in study.models.items():
        made = [Path(file) for file in model.weights.files(results, name) if file.endswith("config.json")]
        folder = made[0].parent if made else Path(resolve_weights(model.params()["weights"]).folder)
        models[name] = {key: getattr(model, key) for key in ("bos", "dtype")} | {"device": study.device}
        models[name]["folder"] = str(folder.absolute())
    return models


def largest_differences(numbers: pl.DataFrame, metrics: pl.DataFrame) -> pl.DataFrame:
    """By metric, the largest difference between the plain script and the workflow, and how many numbers were compared.

    A difference is relative to the largest of the number, the metric's mean absolute value and, where a metric has two
    bounds, .01: random weights attend so evenly that nothing is left of some. The plain script's last layer is what
    transformers gives, which is after the final norm where a model has one.

    Args:
        numbers: the table that the plain script writes.
        metrics: the table `metrics` of the run.
    """
    table = values_of(metrics)
    normed = table.filter(point="final_norm").select("model", "layer").unique().with_columns(normed=True)
    table = table.join(normed, on=["model", "layer"], how="left").filter(
        # metrics of attention stand at the residual stream alone
        (pl.col("point") == "final_norm") | pl.col("normed").is_null() | pl.col("metric").str.contains("attention|sink")
    )
    keys = ["model", "variant", "review_id", "layer", "view", "metric"]
    both = table.join(numbers, on=keys, suffix="_plain").filter(pl.col("value").is_finite())
    bounded = {name: 0.01 for name in both["metric"].unique() if None not in describe_metric(name).bounds}
    floor = pl.col("metric").replace_strict(bounded, default=0.0)
    scale = pl.max_horizontal(pl.col("value").abs(), pl.col("value").abs().mean().over("metric"), floor)
    relative = (pl.col("value") - pl.col("value_plain")).abs() / scale
    differences = both.group_by("metric").agg(relative.max().alias("difference"), pl.len().alias("numbers"))
    return differences.sort("difference", descending=True)


def main() -> None:
    """Compare, and print a row for each metric."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configfile", type=Path, default=Path("config/config.yaml"))
    parser.add_argument("--reviews", type=int, default=1, help="of each variant and model")
    arguments = parser.parse_args()
    results = yaml.safe_load(arguments.configfile.read_text())["results"]
    if not Path(results, "tables/metrics.parquet").is_file():
        sys.exit(f"{results}/tables/metrics.parquet is not there: run the study first")
    metrics = pl.read_parquet(f"{results}/tables/metrics.parquet")
    texts = pl.concat(
        pl.read_parquet(file, columns=["variant", "review_id", "text"]).head(arguments.reviews)
        for file in sorted(Path(results, "variants").glob("*/*.parquet"))
        if "candidates" not in file.name
    )
    models = models_of(arguments.configfile, results)
    numbers = pl.concat(plain.measure_model(name, model, texts, list(plain.LOOKS)) for name, model in models.items())
    numbers = plain.as_rows(numbers)
    differences = largest_differences(numbers, metrics)
    with pl.Config(tbl_rows=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=2):
        print(differences.with_columns(pl.col("difference").map_elements("{:.1e}".format, pl.String)))
    largest = differences["difference"].max()
    n_numbers = differences["numbers"].sum()
    print(f"{n_numbers:,} numbers of {len(models)} models; largest relative difference {largest:.1e}")
    if not largest <= TOLERANCE:
        sys.exit(f"The numbers differ by more than {TOLERANCE}.")


if __name__ == "__main__":
    main()
