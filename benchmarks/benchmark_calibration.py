"""How often intervals, tests and verdicts of means hold: coverage, false alarms, false and true "negligible".

    python benchmarks/benchmark_calibration.py [--results results] [--studies 4000]

A row is a kind of differences with a known mean, a column a number of reviews. Beside Student's interval stands BCa's,
and beside sign flips of Hall's t Student's plain t test. With a folder of results there is a row of its own
differences: each contrast, centred, is drawn from with replacement. It takes a minute.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow/lib"))

from homogenization.statistics.estimate import Settings, differences, estimate
from homogenization.statistics.values import Values
from homogenization.tables.metrics import values_of

SIZES = (10, 16, 32)
LAYERS, NEIGHBOURS = 24, 0.9  # of a family, and the correlation of its neighbours
MARGIN = 5  # standard errors
SETTINGS = Settings(draws=999, confidence=0.95, seed=0, margin=1.0)
KINDS = {  # by functions of standard normal values: mean 0 and standard deviation 1
    "normal": lambda z: z,
    "log-normal": lambda z: (np.exp(z) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e),
    "t with 3 df": lambda z: stats.t.ppf(stats.norm.cdf(z), 3) / np.sqrt(3),
    "5 % outliers on one side": lambda z: (
        (z + 10 * ((np.random.default_rng(1).random(z.shape) < 0.05) - 0.05)) / np.sqrt(1 + 100 * 0.05 * 0.95)
    ),
}


def estimates(values: np.ndarray, margin: float, **more: list) -> pl.DataFrame:
    """The estimator's rows of (reviews, cells) values, of which a size of `margin` is just not negligible."""
    cells = pl.DataFrame({"metric": ["kl"] * values.shape[1], "yardstick": margin, **more})
    return estimate(cells, values, SETTINGS, list(more))


def rates(values: np.ndarray, families: np.ndarray) -> dict[str, str]:
    """What is said of means of 0, and of means as large as the margin, in percent.

    Args:
        values: (reviews, cells) of a mean of 0.
        families: (studies, reviews, layers), likewise.
    """
    margin = MARGIN / np.sqrt(len(values))
    none = estimates(values, margin)
    at_margin = [estimates(values + side * margin, margin) for side in (1, -1)]
    bca = stats.bootstrap(
        (values,), np.mean, axis=0, n_resamples=999, method="BCa", batch=20, rng=0
    ).confidence_interval
    covers = ((none["ci_low"] <= 0) & (none["ci_high"] >= 0)).mean(), ((bca.low <= 0) & (bca.high >= 0)).mean()
    alarms = (none["p_max_t"] < 0.05).mean(), (stats.ttest_1samp(values, 0).pvalue < 0.05).mean()
    layers = [(estimates(study, 1.0, family=[0] * study.shape[1])["p_max_t"] < 0.05).any() for study in families]
    said = [table["verdict"] == "negligible" for table in (none, *at_margin)]
    return {
        "covers: Student's, BCa": percent(*covers),
        "false alarm: flips, t test": percent(*alarms),
        "false alarm in any of the layers": percent(np.mean(layers)),
        "negligible: truly, falsely": percent(said[0].mean(), max(said[1].mean(), said[2].mean())),
        "one review decides": percent((none["reason"] == "one review decides").sum() / len(none)),
    }


def percent(*shares: float) -> str:
    """Shares as a cell of the table."""
    return ", ".join(f"{100 * share:.1f}" for share in shares)


def made_up(kind: str, n: int, studies: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, studies) values of a kind, and (studies / 20, n, layers) families whose neighbours follow each other."""
    z = np.random.default_rng(2).standard_normal((LAYERS, studies // 20, n))
    for layer in range(1, LAYERS):
        z[layer] = NEIGHBOURS * z[layer - 1] + np.sqrt(1 - NEIGHBOURS**2) * z[layer]
    values = KINDS[kind](np.random.default_rng(n).standard_normal((n, studies)))
    return values, KINDS[kind](z).transpose(1, 2, 0)


def real_differences(results: Path) -> list[np.ndarray]:
    """(reviews, layers) centred differences of the contrasts of a study, in units of their spread, by family."""
    metrics = values_of(pl.read_parquet(results / "tables/metrics.parquet"))
    contrasts = pl.read_parquet(results / "tables/contrasts.parquet")
    pairs = contrasts.filter(pl.col("minus").is_in(metrics["variant"].unique().implode())).select("variant", "minus")
    found = []
    for (_,), rows in metrics.filter(pl.col("metric").is_in(contrasts["metric"].unique().implode())).group_by("model"):
        values = Values.of(rows)
        layers = values.cells.with_row_index("place").filter(pl.col("layers").is_null(), point="residual_stream")
        for variant, minus in pairs.unique().sort(pl.all()).rows():
            whole = differences(*map(values.of_variant, (variant, minus)))
            for (_, _), places in layers.group_by("view", "metric", maintain_order=True):
                family = whole[:, places["place"].to_numpy()]
                family = family[:, np.isfinite(family).all(axis=0) & (family.std(axis=0) > 1e-9)]
                if family.shape[1] > 1:
                    found.append((family - family.mean(axis=0)) / family.std(axis=0))
    return found


def drawn_from(families: list[np.ndarray], n: int, studies: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """As `made_up`, of reviews and cells that are drawn with replacement from real ones."""
    generator, pool = np.random.default_rng(3), np.concatenate(families, axis=1)
    cells = generator.integers(pool.shape[1], size=studies)
    chosen = [families[place] for place in generator.integers(len(families), size=studies // 20)]
    drawn = [family[generator.integers(len(family), size=n)] for family in chosen]
    return pool[generator.integers(len(pool), size=(n, studies)), cells], drawn


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="folder of results whose differences are drawn from")
    parser.add_argument("--studies", type=int, default=4000, help="simulated studies")
    asked = parser.parse_args()
    print("| differences | % | " + " | ".join(f"n = {n}" for n in SIZES) + " |")
    print("| --- | --- |" + " --- |" * len(SIZES))
    rows = {kind: [rates(*made_up(kind, n, asked.studies)) for n in SIZES] for kind in KINDS}
    if asked.results:
        families = real_differences(asked.results)
        name = f"real, of {len(families[0])} reviews"
        rows[name] = [rates(*drawn_from(families, n, asked.studies)) for n in SIZES]
    for name, sizes in rows.items():
        for what in sizes[0]:
            print(f"| {name} | {what} | " + " | ".join(of_size[what] for of_size in sizes) + " |")


if __name__ == "__main__":
    main()
