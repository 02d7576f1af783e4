"""States measured in the pass against states that are stored and then measured, from the same texts to the same files.

    PYTHONPATH=workflow/lib .venv/bin/python benchmarks/benchmark_roads.py --configfile config/config.yaml
    PYTHONPATH=workflow/lib .venv/bin/python benchmarks/benchmark_roads.py --corpus r.parquet --reviews 200 --plain
    ... --reviews 100 --variants original front front-inward front-other --plain --plain-share 4

Texts and weights are made first, where no clock runs. Then Snakemake makes the measures of states of all models and
variants, with the start of every job and its imports: over stores (`states.keep: true`) and in the pass (`false`), in
turn. The plain script (`plain.py`), as one process for each core, reads the same texts; it stores nothing and makes
no MAUVE, pooled tokens or common number of tokens. Every file of the two roads is compared.

With `--plain-share 4` it reads every fourth review. What it takes beyond its start, which is measured by one review for
each process, then counts four times.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import polars as pl
import yaml
from end_to_end import ROOT, THREADS, Measured, copy_workflow, describe_models, plain_commands

from homogenization.config.study import load_study
from homogenization.measures.catalogue import made_measures

_MORE_THAN_REVIEWS = 100_000
ROADS = {"stored, then measured": True, "measured in the pass": False}


def configure(folder: Path, keep: bool) -> list[str]:
    """Set `states.keep` in the configuration of `folder`; the files of measures that the study reads."""
    path = folder / "benchmark.yaml"
    raw = yaml.safe_load(path.read_text())
    raw["states"] = {**(raw.get("states") or {}), "keep": keep}
    path.write_text(yaml.safe_dump(raw, sort_keys=False))
    study = load_study(raw | {"claims": None})
    return [
        f"{study.results}/{path.format(model=model, variant=variant, shard=shard)}"
        for measure in made_measures(study)
        for model, variant, shard in study.jobs_of(measure.variants(study))
        for path in measure.paths
    ]


def take_reviews(folder: Path, corpus: Path | None, n_reviews: int | None) -> None:
    """Set the file of reviews and their number, in one shard, in the configuration of `folder`; None leaves them."""
    path = folder / "benchmark.yaml"
    raw = yaml.safe_load(path.read_text())
    if corpus is not None:
        raw["corpus"] = {"source": str(corpus.resolve()), "min_words": 50, "max_words": 400}
    if n_reviews is not None:
        raw["corpus"] |= {"n_reviews": n_reviews, "shard_size": n_reviews}
    path.write_text(yaml.safe_dump(raw, sort_keys=False))


def choose(folder: Path, models: list[str] | None, variants: list[str] | None) -> None:
    """Keep these models and variants in the configuration of `folder`, without claims and labels; None keeps all."""
    path = folder / "benchmark.yaml"
    raw = yaml.safe_load(path.read_text())
    for section, names in (("models", models), ("variants", variants)):
        if names is not None:
            raw[section] = {name: raw[section][name] for name in names}
    if (raw.get("mauve") or {}).get("variants"):
        raw["mauve"]["variants"] = [name for name in raw["mauve"]["variants"] if name in raw["variants"]]
    raw["claims"], raw["figures"] = None, {}
    path.write_text(yaml.safe_dump(raw, sort_keys=False))


def run_plain(folder: Path, cores: int, share: int) -> Measured:
    """What the plain script takes with six views, a process for each core, from one review in `share`."""
    threads = dict.fromkeys(THREADS, "1")
    taken, start = Measured(), Measured()
    taken.run(plain_commands(folder, 6, cores * share, cores)[:cores], folder, folder / "plain.log", **threads)
    if share > 1:
        one_review = plain_commands(folder, 6, _MORE_THAN_REVIEWS, cores)[:cores]
        start.run(one_review, folder, folder / "plain_start.log", **threads)
        for of, of_start in ((taken.wall, start.wall), (taken.cpu, start.cpu)):
            of[0] = of_start[0] + share * (of[0] - of_start[0])
    return taken


def snakemake(cores: int, targets: list[str]) -> list[str]:
    return [sys.executable, "-m", "snakemake", *targets, "--cores", str(cores), "--configfile", "benchmark.yaml"]


def main() -> None:
    """Measure, compare the files, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configfile", type=Path, default=ROOT / "config" / "config.yaml")
    parser.add_argument("--corpus", type=Path, help="a file of reviews, in the place of the configuration's")
    parser.add_argument("--reviews", type=int, help="how many of them, in one shard")
    parser.add_argument("--models", nargs="+", help="these of the configuration's alone")
    parser.add_argument("--variants", nargs="+", help="these of the configuration's alone, with the original")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="the plain script too, with six views")
    parser.add_argument("--plain-share", type=int, default=1, help="the plain script reads one review in so many")
    parser.add_argument("--folder", type=Path, help="where all is made; by default a temporary folder")
    arguments = parser.parse_args()
    everything: dict[str, Measured] = defaultdict(Measured)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as temporary:
        start = Path(temporary) / "start"
        start.mkdir()
        copy_workflow(start, arguments.configfile)
        take_reviews(start, arguments.corpus, arguments.reviews)
        choose(start, arguments.models, arguments.variants)
        configure(start, keep=True)
        study = load_study(yaml.safe_load((start / "benchmark.yaml").read_text()) | {"claims": None})
        weights = [file for name, model in study.models.items() for file in model.weights.files(study.results, name)]
        Measured().run([snakemake(arguments.cores, ["variants", *weights])], start, start / "start.log")
        for turn in range(arguments.rounds):
            for name, keep in ROADS.items():
                folder = Path(temporary) / f"{'stored' if keep else 'in_pass'}{turn}"
                shutil.copytree(start, folder, symlinks=True)
                files = configure(folder, keep)
                print(f"round {turn + 1}: {name}", file=sys.stderr, flush=True)
                everything[name].run([snakemake(arguments.cores, files)], folder, folder / "run.log")
            stored, in_pass = (Path(temporary) / f"{name}{turn}" for name in ("stored", "in_pass"))
            for file in files:
                if not pl.read_parquet(stored / file).equals(pl.read_parquet(in_pass / file)):
                    raise SystemExit(f"The roads differ in {file}")
            size = sum(file.stat().st_size for file in (stored / "results/states").rglob("*.zarr.zip")) / 1e6
            if arguments.plain:
                describe_models(stored)
                print(f"round {turn + 1}: plain", file=sys.stderr, flush=True)
                taken = run_plain(stored, arguments.cores, arguments.plain_share)
                for field in ("wall", "cpu", "memory_mb"):
                    getattr(everything["plain processes"], field).extend(getattr(taken, field))
            for folder in (stored, in_pass):
                shutil.rmtree(folder)
    print(f"{len(files)} files are equal in both roads; the stores of one take {size:.0f} MB\n")
    print(f"{'':24}{'wall s':>20}{'CPU s':>20}{'memory MB':>12}  wall and CPU time of the first / this one's")
    first = everything[next(iter(ROADS))]
    for name, taken in everything.items():
        wall, cpu = (" ".join(f"{value:.0f}" for value in of) for of in (taken.wall, taken.cpu))
        ratios = [sum(of) / sum(mine) for of, mine in ((first.wall, taken.wall), (first.cpu, taken.cpu))]
        print(f"{name:24}{wall:>20}{cpu:>20}{max(taken.memory_mb):12.0f}  {ratios[0]:.2f} {ratios[1]:.2f}")


if __name__ == "__main__":
    main()
