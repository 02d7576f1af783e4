# What the other files here use: the checked configuration, the shards, and what goes into params.
import json
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

LIBRARY = Path(workflow.basedir, "workflow", "lib")
SCRIPTS = Path(workflow.basedir, "workflow", "scripts")
# for this file, and for the scripts that jobs start
sys.path.insert(0, str(LIBRARY))
os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, [str(LIBRARY), os.environ.get("PYTHONPATH")])))

from homogenization.code_hash import code_hash
from homogenization.config import load_config
from homogenization.errors import HomogenizationError
from homogenization.figure_titles import FIGURE_TITLES, FIRST_TOKEN_METRICS
from homogenization.metric_names import ATTENTION_METRICS, describe_metric

try:
    CONFIG = load_config(config, source=", ".join(map(os.path.relpath, workflow.configfiles)) or "--config")
except HomogenizationError as error:
    raise WorkflowError(str(error)) from None


pathvars:
    results=CONFIG.results,
    logs=f"{CONFIG.results}/logs",
    benchmarks=f"{CONFIG.results}/benchmarks",


wildcard_constraints:
    model="|".join(map(re.escape, CONFIG.models)),
    variant="|".join(map(re.escape, CONFIG.variants)),
    metric="|".join(CONFIG.metrics),
    shard=r"\d+",


MODELS = list(CONFIG.models)
VARIANTS = list(CONFIG.variants)
REWRITTEN = [name for name in VARIANTS if name != "original"]
SHARDS = [f"{i:03d}" for i in range(-(-CONFIG.corpus.n_reviews // CONFIG.corpus.shard_size))]


def plain(section):
    """A section of the configuration as sorted JSON values: what `params` can track, in whatever order it was written."""
    return json.loads(json.dumps(section.model_dump(mode="json"), sort_keys=True))


def code(script):
    """The hash of what workflow/scripts/{script}.py does; a changed formula changes it, a comment does not."""
    return code_hash(SCRIPTS / f"{script}.py", LIBRARY / "homogenization")


def shard_bounds(wildcards):
    """First rank of a shard, and the rank after its last."""
    start = int(wildcards.shard) * CONFIG.corpus.shard_size
    return start, min(start + CONFIG.corpus.shard_size, CONFIG.corpus.n_reviews)


def weights_of(wildcards):
    """The files of a model that the workflow builds itself; other weights are not files of the workflow."""
    if CONFIG.models[wildcards.model].weights.random is None:
        return []
    return multiext(f"<results>/models/{wildcards.model}/", *MODEL_FILES.values())


def over_jobs(pattern):
    """One file for every model, variant and shard, in the order of JOBS."""
    return expand(pattern, zip, **dict(zip(("model", "variant", "shard"), zip(*JOBS))))


def labelled(names):
    """[name, display name] pairs for figures, in the order of the configuration."""
    return [[name, CONFIG.figures.labels.get(name, name)] for name in names]


def title(figure):
    """The configured title of a figure or metric, or its own."""
    own = FIGURE_TITLES[figure] if figure in FIGURE_TITLES else describe_metric(figure).title
    return CONFIG.figures.titles.get(figure, own)


MODEL_FILES = {
    "config": "config.json",
    "weights": "model.safetensors",
    "tokenizer": "tokenizer.json",
    "tokenizer_config": "tokenizer_config.json",
}
# tables do not depend on the order in which the configuration names things; figures show that order
JOBS = [[model, variant, shard] for model in sorted(MODELS) for variant in sorted(VARIANTS) for shard in SHARDS]
REWRITING_JOBS = [[variant, shard] for variant in sorted(REWRITTEN) for shard in SHARDS]
VARIANT_JOBS = [[variant, shard] for variant in sorted(VARIANTS) for shard in SHARDS]

ATTENTION = CONFIG.states.record_attention
METRICS = [name for name in CONFIG.metrics if ATTENTION or name not in ATTENTION_METRICS]
TABLES = [
    f"<results>/tables/{table}"
    for table in (
        "similarity.parquet",
        "acceptance.csv",
        "placement.parquet",
        "metrics.parquet",
        "summary.parquet",
        "summary.csv",
        "mauve.parquet",
        *(["attention.parquet"] if ATTENTION else []),
        "cosines.parquet",
        "extraction.parquet",
    )
]
FIGURES = [
    f"<results>/figures/{figure}.{suffix}"
    for figure in (
        *(f"metrics/{metric}" for metric in METRICS),
        "mauve",
        "cosine_histogram",
        *(["first_token"] if set(FIRST_TOKEN_METRICS) & set(METRICS) else []),
        *(["attention_profile", "attention_heatmap"] if ATTENTION else []),
        *(["similarity", "placement"] if REWRITTEN else []),
    )
    for suffix in ("svg", "png")
]
