"""Every table of a study: the rule that makes it, what this reads, its place in the report, and when a study has it.

To add a table, add one entry here, and a module with its schema, its function `tabulate`, and `SCHEMAS`, the schemas of
its tables in their order; `INPUT_SCHEMAS` are, by name, those of tables that it reads as CSV. If the report shows the
table, it has a caption in workflow/report. This module is pure data that the Snakefile reads, so it imports next to
nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FOLDER = "<results>/tables"
Job = tuple[str, ...]  # model, variant, shard; of what is read in a condition, this before the shard


@dataclass(frozen=True)
class File:
    """A file in results/tables.

    Attributes:
        name: its name; the suffix says whether it is Parquet or CSV.
        label: name of the table in the report; "" if the report does not show it.
        category: heading in the report.
        caption: name of the caption in workflow/report; "" for that of the file.
    """

    name: str
    label: str = ""
    category: str = "Data"
    caption: str = ""

    @property
    def stem(self) -> str:
        """Its name without the suffix: that under which a rule reads it."""
        return self.name.split(".")[0]

    @property
    def path(self) -> str:
        """Its path, as rules write it."""
        return f"{_FOLDER}/{self.name}"

    @property
    def reported(self) -> dict[str, Any]:
        """The arguments of Snakemake's `report`, without the path."""
        caption = f"../report/{self.caption or self.stem}.rst"
        return {"caption": caption, "category": self.category, "labels": {"title": f"{self.label} (CSV)"}}


@dataclass(frozen=True)
class Tables:
    """The tables that one rule makes.

    Attributes:
        module: module of the library whose function `tabulate` makes the tables.
        files: their files, in the order in which `tabulate` returns them; (): a Parquet file of the module's name.
        reads: tables that it reads, by name without suffix. Of a table that the study does not make, it gets no path.
        inputs: other files of a study that it reads, by name.
        params: parameters of `tabulate` for a study.
        memory_mb: memory of an attempt for a study; None: that of the profile.
        minutes: run time of an attempt; None: that of the profile.
        when: test whether a study (`config.study.Study`) makes the tables.
        rule: name of the rule; "" for `tabulate_X` of a module `tables.X`.
    """

    module: str
    files: tuple[File, ...] = ()
    reads: tuple[str, ...] = ()
    inputs: Callable[[Any], Mapping[str, Sequence[str]]] = lambda study: {}
    params: Callable[[Any], Mapping[str, Any]] = lambda study: {}
    memory_mb: Callable[[Any], int] | None = None
    minutes: int | None = None
    when: Callable[[Any], Any] = lambda study: True
    rule: str = ""

    def __post_init__(self) -> None:
        """Name the file of a module that makes one table."""
        if not self.files:
            object.__setattr__(self, "files", (File(f"{self.module.split('.')[1]}.parquet"),))

    @property
    def name(self) -> str:
        """Name of the rule."""
        return self.rule or self.module.replace("tables.", "tabulate_")

    @property
    def package(self) -> str:
        """The package of the module."""
        return self.module.split(".")[0]

    @property
    def does(self) -> str:
        """What the rule does, for `snakemake --list-rules`: the first line of the module."""
        source = Path(__file__).parents[1].joinpath(*self.module.split(".")).with_suffix(".py")
        return source.read_text("utf-8").partition("\n")[0].strip('"')

    @property
    def stage(self) -> str:
        """`tables` for what is tabulated from measures, otherwise `statistics`."""
        return "statistics" if self.rule else "tables"

    def files_read(self, study: Any, made: Sequence["Tables"]) -> dict[str, str | Sequence[str]]:
        """All that the rule reads, by name; `made` are the tables of the study."""
        return files_of(self.reads, made) | dict(self.inputs(study))

    def resources(self, study: Any) -> dict[str, int]:
        """What the rule asks for in each attempt besides the defaults of the profile: `mem_mb` and `runtime`."""
        asked = {"mem_mb": self.memory_mb and self.memory_mb(study), "runtime": self.minutes}
        return {name: amount for name, amount in asked.items() if amount is not None}


def files_of(names: Iterable[str], made: Sequence[Tables]) -> dict[str, str | Sequence[str]]:
    """The files of tables, by name without suffix; none of a table that is not `made`."""
    paths = {file.stem: file.path for tables in made for file in tables.files}
    return {name: paths.get(name, []) for name in names}


def over_jobs(folder: str, jobs: Iterable[Job], suffix: str = ".parquet") -> list[str]:
    """A file in a folder of results for every job, in their order."""
    return [f"<results>/{folder}/{'/'.join(job)}{suffix}" for job in jobs]


def over_variants(folder: str, variants: Iterable[str], study: Any, suffix: str = ".parquet") -> list[str]:
    """A file in a folder of results for every variant and shard, sorted."""
    return [f"<results>/{folder}/{name}/{shard}{suffix}" for name in sorted(variants) for shard in study.shards]


def _by_readings(megabytes: int) -> Callable[[Any], int]:
    """Memory of what holds a number of each text that each model reads, above so many megabytes."""
    return lambda study: megabytes + 6 * study.n_readings // 5


def _resampling(study: Any, *further: str) -> dict[str, Any]:
    """Fields of `statistics.resampling.Resampling`, the same for all tables; of those with verdicts, `margin` too."""
    return {"resampling": {"seed": study.seed, **study.contrasts.params("draws", "confidence", *further)}}


def _reviews(study: Any) -> dict[str, Any]:
    """What decides whether a comparison has enough reviews."""
    return {"n_reviews": study.corpus.n_reviews, **study.contrasts.params("min_reviews")}


def _consequences_read(study: Any) -> dict[str, list[str]]:
    reading = study.reading
    return {
        "metrics": over_jobs("consequences", reading.jobs),
        "texts": over_jobs("consequences", reading.jobs, ".doses.parquet"),
        "readings": [f"<results>/consequences/{model}.parquet" for model in reading.models],
    }


_ENTRIES = (
    Tables(
        module="tables.similarity",
        files=(File("similarity.parquet"), File("acceptance.csv", "Accepted rewritings")),
        inputs=lambda study: {
            "similarity": over_variants("similarity", study.rewritten, study),
            "random_pairs": over_variants("similarity", ["random_pairs"], study),
            "fluency": over_variants("fluency", study.variants if study.fluency else (), study),
            "originals": over_variants("variants", ["original"], study),
            "rewritten": over_variants("variants", study.rewritten, study),
        },
        params=lambda study: {
            "variants": sorted(study.rewritten),
            "positions": {name: study.variants[name].position for name in sorted(study.rewritten)},
            "threshold": study.similarity.threshold,
            "max_excess": study.fluency.max_excess if study.fluency else None,
            "n_reviews": study.corpus.n_reviews,
        },
    ),
    Tables(
        module="tables.audit",
        files=(File("audit.csv", "Sound sentences"),),
        inputs=lambda study: {
            "variants": over_variants("variants", study.audited_variants, study),
            "ratings": study.audit.ratings,
        },
        when=lambda study: study.audit.ratings,
    ),
    Tables(
        module="tables.placement",
        inputs=lambda study: {"variants": over_variants("variants", study.variants, study)},
    ),
    Tables(
        module="tables.balance",
        files=(File("balance.csv", "Balance of the controls"),),
        reads=("similarity",),
        inputs=lambda study: {
            "variants": over_variants("variants", study.variants, study),
            "geometry": over_jobs("geometry", study.jobs),
        },
        params=lambda study: {"pairs": study.balanced, "max_imbalance": study.contrasts.max_imbalance},
        when=lambda study: study.balanced,
    ),
    Tables(
        module="tables.rewriting",
        files=(File("candidates.parquet"), File("rewriting.csv", "Rejected rewritings")),
        inputs=lambda study: {
            "shards": [f"<results>/corpus/{shard}.parquet" for shard in study.shards],
            "candidates": over_variants("variants", study.written, study, ".candidates.parquet"),
        },
        params=lambda study: {"variants": study.written},
        when=lambda study: study.written,
    ),
    Tables(
        module="tables.metrics",
        reads=("similarity",),
        inputs=lambda study: {
            "spectra": over_jobs("spectra", study.jobs),
            "geometry": over_jobs("geometry", study.jobs),
            "attention": over_jobs("attention", study.jobs if study.states.record_attention else ()),
        },
        params=lambda study: {"metrics": sorted(study.tabulated_metrics)},
        memory_mb=_by_readings(2000),
    ),
    Tables(
        module="tables.summary",
        reads=("metrics",),
        memory_mb=_by_readings(2000),
    ),
    Tables(
        module="tables.mauve",
        inputs=lambda study: {"mauve": over_jobs("mauve", study.jobs_of(study.mauve_variants))},
    ),
    Tables(
        module="tables.attention",
        reads=("similarity",),
        inputs=lambda study: {"attention": over_jobs("attention", study.jobs)},
        when=lambda study: study.states.record_attention,
    ),
    Tables(
        module="tables.intervened",
        files=(
            File("intervened.parquet"),
            File("intervened_layers.parquet"),
            File("doses.csv", "Doses of each condition", "Causes"),
        ),
        reads=("similarity",),
        inputs=lambda study: {
            "intervened": over_jobs("interventions", study.intervention_jobs),
            "doses": over_jobs("interventions", study.intervention_jobs, ".doses.parquet"),
        },
        # the runs of one model and variant are in memory at a time
        memory_mb=lambda study: 4000 + study.n_runs // 4,
        when=lambda study: study.intervention_jobs,
    ),
    Tables(
        module="tables.pooled",
        inputs=lambda study: {"pooled": over_jobs("pooled", study.jobs_of(study.pooled.variants))},
    ),
    Tables(
        module="tables.extraction",
        inputs=lambda study: {"runs": over_jobs("states", study.jobs, ".json")},
    ),
    Tables(
        module="tables.components",
        reads=("similarity",),
        inputs=lambda study: {"components": over_jobs("components", study.component_jobs)},
        when=lambda study: study.component_jobs,
    ),
    Tables(
        module="tables.consequences",
        reads=("similarity",),
        inputs=_consequences_read,
        memory_mb=lambda study: 8000,
        when=lambda study: study.consequences,
    ),
    Tables(
        module="tables.training",
        inputs=lambda study: {
            "losses": [f"<results>/training/{model}/losses.parquet" for model in study.trained_models]
        },
        params=lambda study: {"models": study.trained_models},
        when=lambda study: study.trained_models,
    ),
    Tables(
        module="statistics.contrasts",
        rule="test_contrasts",
        files=(File("contrasts.parquet"), File("comparisons.csv", "Reviews of each comparison")),
        reads=("metrics", "similarity", "balance"),
        params=lambda study: {
            **_resampling(study, "margin"),
            **_reviews(study),
            "contrasts": sorted({*study.contrasted, *study.claimed_contrasts}),
            "names": study.estimated_metrics("contrast"),
        },
        memory_mb=_by_readings(4000),
        minutes=120,
    ),
    Tables(
        module="statistics.depth",
        rule="measure_depth",
        reads=("metrics", "pooled"),
        params=lambda study: {
            **_resampling(study, "margin"),
            "names": study.estimated_metrics("slope", "net_change", "steepest"),
        },
        memory_mb=_by_readings(4000),
        minutes=120,
    ),
    Tables(
        module="statistics.extrema",
        rule="find_extrema",
        reads=("metrics",),
        params=lambda study: {
            **study.extrema.params(),
            **study.contrasts.params("confidence"),
            "names": study.contrasted_metrics,
        },
        memory_mb=_by_readings(4000),
        minutes=120,
        when=lambda study: study.finds_extrema,
    ),
    Tables(
        module="statistics.first_token",
        rule="correlate_first_token",
        reads=("metrics",),
        params=_resampling,
        memory_mb=_by_readings(4000),
        minutes=120,
        when=lambda study: study.correlates_first_token,
    ),
    Tables(
        module="statistics.interventions",
        rule="test_interventions",
        reads=("intervened",),
        params=lambda study: {**_resampling(study, "margin"), **study.contrasts.params("min_reviews")},
        memory_mb=lambda study: 4000 + study.n_runs // 10,
        minutes=120,
        when=lambda study: study.intervention_jobs,
    ),
    Tables(
        module="statistics.consequences",
        rule="test_consequences",
        files=(
            File("probes.parquet"),
            File("harm.csv", "Homogenization and harm of each condition", "Consequences", caption="harm_table"),
        ),
        reads=("consequences", "similarity"),
        inputs=_consequences_read,
        params=lambda study: {
            **_resampling(study),
            "controls": study.controls,
        },
        memory_mb=lambda study: 8000,
        minutes=120,
        when=lambda study: study.consequences,
    ),
    Tables(
        module="claims.judgement",
        rule="judge_claims",
        files=(File("claims.csv", "Every claim and model", "Claims"),),
        reads=(
            *("contrasts", "depth", "interventions", "metrics", "similarity"),
            *("components", "pooled", "consequences"),
        ),
        params=lambda study: {
            **_resampling(study, "margin"),
            **_reviews(study),
            "claims": study.judged_claims,
            "models": sorted(study.models),
            "variants": sorted(study.variants),
        },
        memory_mb=_by_readings(4000),
        minutes=120,
        when=lambda study: study.judged_claims,
    ),
)
TABLES = {tables.name: tables for tables in _ENTRIES}


def made_tables(study: Any) -> list[Tables]:
    """The tables that `study` makes."""
    return [tables for tables in TABLES.values() if tables.when(study)]
