"""How often intervals, tests and verdicts of means hold: coverage, false "negligible", false alarms and power.

    python benchmarks/benchmark_calibration.py [--results results/imdb] [--studies 20000]

Every row is a kind of differences with a known mean, every column a number of reviews. Beside Student's interval stands
BCa's, and beside sign flips of Hall's t Student's plain t test. With a folder of results there are rows of its own
differences: each contrast, centred, is drawn from with replacement. It takes two minutes.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri
from scipy.stats import t as student
from scipy.stats import ttest_1samp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow/lib"))

from homogenization.statistics.resampling import (
    bootstrap_weights,
    flip_p,
    largest_share,
    mean_interval,
    sign_flips,
)

SIZES = (10, 16, 24, 60)
LAYERS, NEIGHBOURS = 24, 0.9  # of a family, and the correlation of its neighbours
EFFECT = 2.8  # standard errors, which a t test finds four times out of five
MARGIN = 5  # standard errors
DRAWS = 999
_AT_ONCE = 2000


def normal(z: np.ndarray) -> np.ndarray:
    """Standard normal values, as they are."""
    return z


def log_normal(z: np.ndarray) -> np.ndarray:
    """Log-normal, skewness 6.2; mean 0 and standard deviation 1, as of all kinds."""
    return (np.exp(z) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)


def exponential(z: np.ndarray) -> np.ndarray:
    """Exponential, skewness 2."""
    return -np.log(ndtr(-z)) - 1


def t_3(z: np.ndarray) -> np.ndarray:
    """Student's t with 3 degrees of freedom."""
    return student.ppf(ndtr(z), 3) / np.sqrt(3)


def outliers(z: np.ndarray) -> np.ndarray:
    """Normal, but 5 % lie 10 further up."""
    far = np.random.default_rng(1).random(z.shape) < 0.05
    return (z + 10 * (far - 0.05)) / np.sqrt(1 + 100 * 0.05 * 0.95)


KINDS = {
    "normal": normal,
    "log-normal": log_normal,
    "exponential": exponential,
    "t with 3 df": t_3,
    "5 % outliers on one side": outliers,
}


def bca_interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bias-corrected and accelerated bootstrap interval of the mean (Efron 1987), at 95 %."""
    n = len(values)
    drawn = np.sort(bootstrap_weights(n, DRAWS, 0) @ values, axis=0)
    mean = values.mean(axis=0)
    bias = ndtri((drawn < mean).mean(axis=0).clip(0.5 / DRAWS, 1 - 0.5 / DRAWS))
    centred = values - mean
    acceleration = (centred**3).sum(axis=0) / (6 * (centred**2).sum(axis=0).clip(1e-30) ** 1.5)
    ends = []
    for level in (0.025, 0.975):
        shifted = bias + ndtri(level)
        share = ndtr(bias + shifted / (1 - acceleration * shifted))
        place = np.round(share * (DRAWS - 1)).astype(int)
        ends.append(drawn[place, np.arange(values.shape[1])])
    return ends[0], ends[1]


def rates_of_intervals(values: np.ndarray) -> dict[str, str]:
    """What intervals of (n, cells) values of a mean of 0 say, in percent.

    Falsely negligible: the mean is as large as the margin, on the side where more studies are misled. Truly: it is 0.
    """
    parts = [values[:, start : start + _AT_ONCE] for start in range(0, values.shape[1], _AT_ONCE)]
    low, high = np.concatenate([mean_interval(part) for part in parts], axis=1)
    bca_low, bca_high = np.concatenate([bca_interval(part) for part in parts], axis=1)
    least, most = mean_interval(values, 0.99)
    dominated = largest_share(values) > 0.5
    margin = MARGIN / np.sqrt(len(values))
    covers, by_bca = (100 * ((a <= 0) & (b >= 0)).mean() for a, b in ((low, high), (bca_low, bca_high)))
    false = 100 * max((side & ~dominated).mean() for side in (most < 0, least > 0))
    true = 100 * ((least > -margin) & (most < margin) & ~dominated).mean()
    return {
        "covers: Student's, BCa": f"{covers:.1f}, {by_bca:.1f}",
        "falsely, truly negligible": f"{false:.1f}, {true:.1f}",
        "one review decides": f"{100 * dominated.mean():.1f}",
    }


def rates_of_tests(studies: np.ndarray | list[np.ndarray]) -> dict[str, str]:
    """How often p is below .05 in studies (n, layers) of a mean of 0, and of `EFFECT`, in percent."""
    flips = sign_flips(len(studies[0]), DRAWS, 0)
    shift = EFFECT / np.sqrt(len(studies[0]))
    moved = [study + side * shift for study in studies for side in (1, -1)]
    of_null, of_effect = ([flip_p(study, flips) for study in among] for among in (studies, moved))
    by_t = [100 * np.mean([ttest_1samp(study[:, 0], 0).pvalue < 0.05 for study in among]) for among in (studies, moved)]
    found = [100 * np.mean([p[0][0] < 0.05 for p in among]) for among in (of_null, of_effect)]
    any_layer = 100 * np.mean([(p[1] < 0.05).any() for p in of_null])
    power = 100 * np.mean([p[1] < 0.05 for p in of_effect])
    return {
        "false alarm, one layer: flips, t test": f"{found[0]:.1f}, {by_t[0]:.1f}",
        "false alarm, any layer": f"{any_layer:.1f}",
        "power, one layer: flips, t test": f"{found[1]:.1f}, {by_t[1]:.1f}",
        "power, corrected for the layers": f"{power:.1f}",
    }


def layers_of(kind: Callable[[np.ndarray], np.ndarray], n: int, studies: int) -> np.ndarray:
    """(studies, n, layers) values of a kind; neighbouring layers follow each other."""
    z = np.random.default_rng(2).standard_normal((LAYERS, studies, n))
    for layer in range(1, LAYERS):
        z[layer] = NEIGHBOURS * z[layer - 1] + np.sqrt(1 - NEIGHBOURS**2) * z[layer]
    return kind(z).transpose(1, 2, 0)


def print_rows(name: str, sizes: dict[int, dict[str, str]]) -> None:
    """The rows of a kind, from its rates by number of reviews."""
    for what in sizes[SIZES[0]]:
        print(f"| {name} | {what} | " + " | ".join(rates[what] for rates in sizes.values()) + " |")


def real_differences(results: Path) -> tuple[np.ndarray, list[np.ndarray]]:
    """Centred differences of contrasts: (reviews, cells), and families of layers (reviews, layers).

    Those with the most reviews count.
    """
    tables = results / "tables"
    metrics = pl.read_parquet(tables / "metrics.parquet").filter(point="residual_stream")
    pairs = pl.read_parquet(tables / "contrasts.parquet").select("variant", "minus", "metric").unique().sort(pl.all())
    keys, families = ["model", "view", "layer", "review_id"], []
    for variant, minus, metric in pairs.rows():
        sides = [metrics.filter(variant=name, metric=metric).select(*keys, "value") for name in (variant, minus)]
        both = sides[0].join(sides[1], on=keys).with_columns(value=pl.col("value") - pl.col("value_right"))
        for _, rows in sorted(both.partition_by("model", "view", as_dict=True).items()):
            wide = rows.pivot("layer", index="review_id", values="value").drop("review_id").drop_nulls().to_numpy()
            wide = wide[:, np.isfinite(wide).all(axis=0)]
            wide = wide[:, wide.std(axis=0) > 1e-9]
            wide = (wide - wide.mean(axis=0)) / wide.std(axis=0)
            if wide.shape[1] > 1:
                families.append(wide)
    most = max(map(len, families))
    families = [family for family in families if len(family) == most]
    return np.concatenate(families, axis=1), families


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="folder of results whose differences are drawn from")
    parser.add_argument("--studies", type=int, default=20_000, help="simulated studies of an interval")
    asked = parser.parse_args()
    tested = max(asked.studies // 50, 20)
    print("| differences | % | " + " | ".join(f"n = {n}" for n in SIZES) + " |")
    print("| --- | --- |" + " --- |" * len(SIZES))
    for name, kind in KINDS.items():
        rates = {}
        for n in SIZES:
            values = kind(np.random.default_rng(n).standard_normal((n, asked.studies)))
            rates[n] = rates_of_intervals(values) | rates_of_tests(layers_of(kind, n, tested))
        print_rows(name, rates)
    if asked.results:
        pool, families = real_differences(asked.results)
        drawn, rates = np.random.default_rng(3), {}
        for n in SIZES:
            chosen = drawn.integers(pool.shape[1], size=asked.studies)
            values = pool[drawn.integers(len(pool), size=(n, asked.studies)), chosen]
            of_studies = [families[place] for place in drawn.integers(len(families), size=tested)]
            studies = [family[drawn.integers(len(family), size=n)] for family in of_studies]
            rates[n] = rates_of_intervals(values) | rates_of_tests(studies)
        print_rows(f"real, of {len(pool)} reviews", rates)


if __name__ == "__main__":
    main()
