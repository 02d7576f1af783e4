"""The whole workflow against the plain script, each from its first import to its last file, in turn on the same cores.

    python benchmarks/end_to_end.py --configfile config/untrained.yaml
    python benchmarks/end_to_end.py --configfile config/untrained.yaml --views 2 6 --rounds 2 --rules

The workflow: `snakemake --cores 2` in a fresh folder, from the raw reviews to the report, so with variants, BERTScore,
MAUVE, components, claims and figures. The plain script (`plain.py`): metrics of every layer, view and review, from the
variants that the workflow has left, which favours it; as one process with a thread for each core, and as processes side
by side, one thread each, which share the reviews. The metrics of accepted reviews are compared with `tables/metrics`.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import psutil
import yaml

from check import TOLERANCE, largest_differences, models_of

ROOT = Path(__file__).parents[1]
PLAIN = Path(__file__).parent / "plain.py"
WORKFLOW_PARTS = ("Snakefile", "config", "envs", "profiles", "workflow")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass
class Measured:
    """What it took, a number each round: wall and CPU seconds, and the largest resident memory of all processes."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)

    def run(self, commands: list[list[str]], folder: Path, log: Path, **environment: str) -> None:
        """Run the commands side by side, and stop with the end of their log where one fails."""
        processes, ended, peaks = [], threading.Event(), []
        watch = threading.Thread(target=lambda: peaks.append(_watched_memory(processes, ended)))
        with log.open("w") as printed:
            variables = {**os.environ, **environment}
            started = time.perf_counter()
            for command in commands:
                processes.append(subprocess.Popen(command, cwd=folder, env=variables, stdout=printed, stderr=printed))
            watch.start()
            try:
                usages = [os.wait4(process.pid, 0) for process in processes]  # with the jobs that Snakemake waited for
                self.wall.append(time.perf_counter() - started)
            finally:
                ended.set()
                watch.join()
        for process, (_, status, _) in zip(processes, usages, strict=True):
            process.returncode = os.waitstatus_to_exitcode(status)
        if any(process.returncode for process in processes):
            raise SystemExit(f"{log} shows an error; its last lines:\n{log.read_text()[-4000:]}")
        self.cpu.append(sum(usage.ru_utime + usage.ru_stime for _, _, usage in usages))
        self.memory_mb.append(peaks[0] / 1e6)


def _watched_memory(processes: list[subprocess.Popen], ended: threading.Event) -> int:
    """Largest sum of the resident memory of the processes and all below them, in bytes, looked at twice a second."""
    peak = 0
    while not ended.wait(0.5):
        total = 0
        for process in processes:
            try:
                root = psutil.Process(process.pid)
                for member in [root, *root.children(recursive=True)]:
                    total += member.memory_info().rss
            except psutil.NoSuchProcess:  # it has just ended
                continue
        peak = max(peak, total)
    return peak


def copy_workflow(folder: Path, configfile: Path) -> None:
    """A copy of the workflow in which nothing has run, with the configuration as benchmark.yaml."""
    for part in WORKFLOW_PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / part)
    configuration = yaml.safe_load(configfile.read_text()) | {"results": "results"}
    (folder / "benchmark.yaml").write_text(yaml.safe_dump(configuration, sort_keys=False))


def plain_commands(folder: Path, views: int, processes: int, cores: int) -> list[list[str]]:
    """The plain script, as processes that share the reviews."""
    command = [sys.executable, str(PLAIN), "--variants", "results/variants", "--models", "models.json"]
    command += ["--views", str(views), "--threads", str(max(1, cores // processes))]
    parts = range(processes)
    return [[*command, "--part", f"{k}/{processes}", "--output", f"plain{k}.parquet"] for k in parts]


def time_by_rule(folder: Path) -> pl.DataFrame:
    """By rule: jobs, and their wall seconds (mean, largest, sum), from Snakemake's metadata of their outputs."""
    jobs: dict[tuple[str, ...], tuple[float, float]] = {}
    for file in (folder / ".snakemake" / "metadata").iterdir():
        record = json.loads(file.read_text())
        jobs[record["rule"], *record["log"]] = (record["starttime"], record["endtime"])
    by_rule = defaultdict(list)
    for (rule, *_), (start, end) in jobs.items():
        by_rule[rule].append(end - start)
    rows = [
        {"rule": rule, "jobs": len(s), "mean (s)": statistics.mean(s), "max (s)": max(s), "sum (s)": sum(s)}
        for rule, s in by_rule.items()
    ]
    return pl.DataFrame(rows).sort("sum (s)", descending=True)


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Measured]:
    """Run everything in turn, as often as asked; what each took."""
    cores = arguments.cores
    everything: dict[str, Measured] = defaultdict(Measured)
    for turn in range(arguments.rounds):
        run = folder / f"run{turn}"
        run.mkdir(parents=True)
        copy_workflow(run, arguments.configfile)
        if turn == 0:  # libraries come from the disk once, before any clock runs
            subprocess.run([sys.executable, "-c", "import transformers, torch, polars, scipy"], check=True)
        print(f"round {turn + 1}: the workflow", file=sys.stderr, flush=True)
        snakemake = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--configfile", "benchmark.yaml"]
        everything["workflow"].run([snakemake], run, run / "workflow.log")
        with contextlib.chdir(run):
            (run / "models.json").write_text(json.dumps(models_of(Path("benchmark.yaml"), "results"), indent=1))
        for views in arguments.views:
            for processes in (1, cores):
                name = f"plain, {views} views, {processes} process{'es' if processes > 1 else ''}"
                print(f"round {turn + 1}: {name}", file=sys.stderr, flush=True)
                threads = dict.fromkeys(THREADS, str(max(1, cores // processes)))
                commands = plain_commands(run, views, processes, cores)
                everything[name].run(commands, run, run / f"{name.replace(', ', '_').replace(' ', '_')}.log", **threads)
    return everything


def main() -> None:
    """Measure, compare the numbers, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configfile", type=Path, default=ROOT / "config" / "untrained.yaml")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--views", type=int, nargs="+", choices=(2, 6), default=[2, 6])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--rules", action="store_true", help="also the workflow's time rule by rule")
    parser.add_argument("--folder", type=Path, help="keep all runs here; by default they are deleted")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.folder or Path(temporary)).absolute()
        everything = measure(folder, arguments)
        last = folder / f"run{arguments.rounds - 1}"
        parts = [pl.read_parquet(last / f"plain{k}.parquet") for k in range(arguments.cores)]
        metrics = pl.read_parquet(last / "results/tables/metrics.parquet")
        differences = largest_differences(pl.concat(parts), metrics)
        by_rule = time_by_rule(last)
        n_files = sum(file.is_file() for file in (last / "results" / "figures").rglob("*"))

    workflow = everything["workflow"]
    print(f"{arguments.configfile}, {arguments.cores} cores, medians of {arguments.rounds} round(s)")
    print(f"the workflow ran {by_rule['jobs'].sum()} jobs and drew {n_files} files of figures\n")
    print(f"{'':36}{'wall s':>9}{'CPU s':>9}{'memory MB':>11}  wall time / the workflow's")
    for name, taken in everything.items():
        ratios = [theirs / ours for theirs, ours in zip(taken.wall, workflow.wall, strict=True)]
        spread = f" ({min(ratios):.2f} to {max(ratios):.2f})" if arguments.rounds > 1 else ""
        medians = [statistics.median(values) for values in (taken.wall, taken.cpu, taken.memory_mb)]
        numbers = f"{medians[0]:9.1f}{medians[1]:9.1f}{medians[2]:11.0f}"
        print(f"{name:36}{numbers}  {statistics.median(ratios):.2f}{spread}")
    largest = differences.row(0, named=True)
    print(
        f"\n{differences['numbers'].sum()} numbers of {len(differences)} metrics in both; largest relative difference "
        f"{largest['difference']:.1e} ({largest['metric']}), median metric {differences['difference'].median():.1e}"
    )
    if arguments.rules:
        with pl.Config(tbl_rows=-1, float_precision=1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
            print(f"\n{by_rule}")
    if largest["difference"] > TOLERANCE:
        raise SystemExit(f"The numbers differ by more than {TOLERANCE}:\n{differences}")


if __name__ == "__main__":
    main()
