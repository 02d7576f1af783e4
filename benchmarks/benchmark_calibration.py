"""How often intervals and tests of means hold: coverage, false "negligible", family-wise error and power.

    python benchmarks/benchmark_calibration.py [--results results/imdb] [--studies 20000]

Every row is a kind of differences with a known mean, every column a number of reviews; a cell has the numbers by BCa
and plain sign flips, which the workflow had before, and those of the library, behind an arrow. With a folder of results
there are rows of its own differences: each contrast, centred, is drawn from with replacement. It takes half a minute.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri
from scipy.stats import t as student

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow/lib"))

from homogenization.statistics.resampling import (
    bootstrap_weights,
    flip_p,
    mean_interval,
    sign_flips,
)

SIZES = (8, 16, 24, 60)
LAYERS, NEIGHBOURS = 24, 0.9  # of a family, and the correlation of its neighbours
EFFECT = 2.8  # standard errors, which a t test finds four times out of five
DRAWS = 999
CARRIED = 0.5  # share of the variance of a layer that is one review's
_AT_ONCE = 2000

# (n, cells) -> low and high, (cells,)
Interval = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


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
    """Normal, but 5 % lie 10 further out, on either side."""
    far = np.random.default_rng(1).random(z.shape) < 0.05
    return (z + 10 * far * np.sign(z)) / np.sqrt(1 + 0.05 * (100 + 20 * np.sqrt(2 / np.pi)))


KINDS = {
    "normal": normal,
    "log-normal": log_normal,
    "exponential": exponential,
    "t with 3 df": t_3,
    "5 % outliers of 10 sd": outliers,
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


def plain_flips(values: np.ndarray, flips: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P by |t| of all flips, and the single-step max-T over cells."""
    n = len(values)
    share = (flips @ values / n) ** 2 / (values**2).mean(axis=0).clip(1e-30)
    size = (n - 1) * share / np.maximum(1 - share, 1e-12)
    least = size[0] * (1 - 1e-9)
    return (size >= least).mean(axis=0), (size.max(axis=1)[:, None] >= least).mean(axis=0)


def rates_of_intervals(
    values: np.ndarray, interval: Interval, margin: float | np.ndarray
) -> tuple[float, float, float]:
    """Coverage of a mean of 0, false and true verdicts "negligible" in percent.

    False: the mean is as large as a wide margin, on the side where more studies are misled. True: the mean is 0.
    """
    low, high = (np.concatenate(ends) for ends in zip(*map(interval, _parts(values)), strict=True))
    false = max((high < 0).mean(), (low > 0).mean())
    return 100 * ((low <= 0) & (high >= 0)).mean(), 100 * false, 100 * ((low > -margin) & (high < margin)).mean()


def _parts(values: np.ndarray) -> list[np.ndarray]:
    return [values[:, start : start + _AT_ONCE] for start in range(0, values.shape[1], _AT_ONCE)]


def layers_of(kind: Callable[[np.ndarray], np.ndarray], n: int, studies: int) -> np.ndarray:
    """(studies, n, layers) values of a kind; neighbouring layers follow each other."""
    z = np.random.default_rng(2).standard_normal((LAYERS, studies, n))
    for layer in range(1, LAYERS):
        z[layer] = NEIGHBOURS * z[layer - 1] + np.sqrt(1 - NEIGHBOURS**2) * z[layer]
    return kind(z).transpose(1, 2, 0)


def print_rates(name: str, sample: Callable[[int], np.ndarray]) -> None:
    """Coverage, false and true "negligible", of a kind; `sample` gives (n, studies) values of a mean of 0."""
    cells = []
    for n in SIZES:
        values = sample(n)
        margin = 5 * values.std() / np.sqrt(n)
        rates = [rates_of_intervals(values, interval, margin) for interval in (bca_interval, mean_interval)]
        cells.append([f"{old:.1f} → {new:.1f}" for old, new in zip(*rates, strict=True)])
    for what, row in zip(("covers", "false negligible", "true negligible"), zip(*cells, strict=True), strict=True):
        print(f"| {name} | {what} | " + " | ".join(row) + " |")


def print_tests(name: str, sample: Callable[[int], np.ndarray]) -> None:
    """Size and power over layers; `sample` gives (studies, n, layers) values of a mean of 0."""
    cells = []
    for n in SIZES[1:]:
        values, flips = sample(n), sign_flips(n, DRAWS, 0)
        rates = []
        for way in (plain_flips, flip_p):
            of_null = [way(study, flips) for study in values]
            shift = EFFECT / np.sqrt(n) * values.std()
            moved = [way(study + side * shift, flips) for study in values for side in (1, -1)]
            found = [[p[at] < 0.05 for p in moved] for at in (0, 1)]
            rates.append(
                [
                    100 * np.mean([p[0][0] < 0.05 for p in of_null]),
                    100 * np.mean([(p[1] < 0.05).any() for p in of_null]),
                    100 * np.mean(found[0]),
                    100 * np.mean(found[1]),
                ]
            )
        cells.append([f"{old:.1f} → {new:.1f}" for old, new in zip(*rates, strict=True)])
    named = ("false alarm, one layer", "false alarm, 24 layers", "power, one layer", "power, 24 layers")
    for what, row in zip(named, zip(*cells, strict=True), strict=True):
        print(f"| {name} | {what} | " + " | ".join(row) + " |")


def real_differences(results: Path) -> tuple[np.ndarray, list[np.ndarray]]:
    """Centred differences of contrasts: (reviews, cells), and families of layers (reviews, layers).

    Those with the most reviews count. A layer in which one review has most of the variance is left out: most samples
    lack that review, and no interval of such values can hold.
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
            wide = wide[:, (wide**2).max(axis=0) < CARRIED * len(wide)]
            if wide.shape[1] > 1:
                families.append(wide)
    most = max(map(len, families))
    families = [family for family in families if len(family) == most]
    return np.concatenate(families, axis=1), families


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="folder of results whose differences are drawn from")
    parser.add_argument("--studies", type=int, default=20_000, help="simulated studies of an interval")
    asked = parser.parse_args()
    tested = max(asked.studies // 50, 20)
    print("| differences | % (before → now) | " + " | ".join(f"n = {n}" for n in SIZES) + " |")
    print("| --- | --- |" + " --- |" * len(SIZES))
    for name, kind in KINDS.items():
        print_rates(name, lambda n, kind=kind: kind(np.random.default_rng(n).standard_normal((n, asked.studies))))
    real = real_differences(asked.results) if asked.results else None
    drawn = np.random.default_rng(3)
    if real:
        pool, families = real

        def cells(n: int) -> np.ndarray:
            chosen = drawn.integers(pool.shape[1], size=asked.studies)
            return pool[drawn.integers(len(pool), size=(n, asked.studies)), chosen]

        def studies(n: int) -> list[np.ndarray]:
            chosen = [families[place] for place in drawn.integers(len(families), size=tested)]
            return [family[drawn.integers(len(family), size=n)] for family in chosen]

        print_rates(f"real, of {len(pool)} reviews", cells)
    print("\n| differences | % (before → now) | " + " | ".join(f"n = {n}" for n in SIZES[1:]) + " |")
    print("| --- | --- |" + " --- |" * len(SIZES[1:]))
    for name, kind in KINDS.items():
        print_tests(name, lambda n, kind=kind: layers_of(kind, n, tested))
    if real:
        errors = []
        for n in SIZES[1:]:
            flips, sampled = sign_flips(n, DRAWS, 0), studies(n)
            rates = [
                100 * np.mean([(way(study, flips)[1] < 0.05).any() for study in sampled])
                for way in (plain_flips, flip_p)
            ]
            errors.append("{:.1f} → {:.1f}".format(*rates))
        print(f"| real, of {len(pool)} reviews | false alarm, all layers | " + " | ".join(errors) + " |")


if __name__ == "__main__":
    main()
