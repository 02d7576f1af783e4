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

from homogenization.run.code_hash import code_hash
from homogenization.config.study import load_config
from homogenization.run.errors import HomogenizationError
from homogenization.figures.catalogue import CORRELATED_METRICS, FIGURE_TITLES, FIRST_TOKEN_METRICS
from homogenization.metrics.catalogue import ATTENTION_METRICS, describe_metric
from homogenization.writers.prompts import load_prompt
from homogenization.plan.resources import (
    billions_of_parameters,
    extraction_memory_mb,
    extraction_runtime_minutes,
    writer_memory_mb,
    writer_runtime_minutes,
)

try:
    CONFIG = load_config(config, source=", ".join(map(os.path.relpath, workflow.configfiles)) or "--config")
    CLAIMS = CONFIG.judged_claims()
except HomogenizationError as error:
    raise WorkflowError(str(error)) from None


def any_of(names):
    """A wildcard constraint: one of `names`; without any, nothing matches."""
    return "|".join(map(re.escape, names)) or "(?!)"


pathvars:
    results=CONFIG.results,
    logs=f"{CONFIG.results}/logs",
    benchmarks=f"{CONFIG.results}/benchmarks",


wildcard_constraints:
    model=any_of(CONFIG.models),
    variant=any_of(CONFIG.variants),
    metric=any_of(CONFIG.metrics),
    shard=r"\d+",


MODELS = list(CONFIG.models)
VARIANTS = list(CONFIG.variants)
REWRITTEN = [name for name in VARIANTS if name != "original"]
WRITTEN = [name for name in VARIANTS if CONFIG.variants[name].rewriter == "llm"]
SHARDS = [f"{i:03d}" for i in range(-(-CONFIG.corpus.n_reviews // CONFIG.corpus.shard_size))]


def plain(section):
    """A section of the configuration as sorted JSON values: what `params` can track, in whatever order it was written."""
    return json.loads(json.dumps(section.model_dump(mode="json", exclude=section.without_effect()), sort_keys=True))


def code(script):
    """The hash of what workflow/scripts/{script}.py does; a changed formula changes it, a comment does not."""
    return code_hash(SCRIPTS / f"{script}.py", LIBRARY / "homogenization")


def shard_bounds(wildcards):
    """First rank of a shard, and the rank after its last."""
    start = int(wildcards.shard) * CONFIG.corpus.shard_size
    return start, min(start + CONFIG.corpus.shard_size, CONFIG.corpus.n_reviews)


def per_attempt(amount):
    """A resource that a job asks for more of when it is tried again (--retries)."""
    return lambda wildcards, attempt: amount * attempt


def weights_of(wildcards):
    """The files of a model that the workflow builds itself, or that lie in a local folder; others it does not track."""
    weights = model_of(wildcards).weights
    if weights.random is not None:
        return [f"<results>/models/{wildcards.model}/{file}" for file in MODEL_FILES.values()]
    if weights.path is not None:
        return sorted(str(file) for pattern in LOCAL_WEIGHTS for file in Path(weights.path).glob(pattern))
    return []


def stored(file):
    """A file of an extraction, which goes when all has been read from it unless the configuration keeps it."""
    return file if CONFIG.states.keep else temp(file)


def model_of(wildcards):
    return CONFIG.models[wildcards.model]


def writer_of(wildcards):
    """The language model that writes: key phrases where there is no variant."""
    user = CONFIG.variants[wildcards.variant] if "variant" in wildcards.keys() else CONFIG.keyphrases
    return CONFIG.writers[user.writer]


def over_jobs(pattern):
    """One file for every model, variant and shard, in the order of JOBS."""
    return expand(pattern, zip, **dict(zip(("model", "variant", "shard"), zip(*JOBS))))


def gpus_of(entry):
    """GPUs that a job of a model or writer asks for: none where it runs on the CPU, or behind an endpoint."""
    return entry.gpus if runs_here(entry) and entry.device in ("auto", "cuda") else 0


def gpus_of_encoder(used=True):
    """Likewise for a job that computes BERTScore."""
    return int(used and CONFIG.similarity.device in ("auto", "cuda"))


def runs_here(entry):
    return getattr(entry, "backend", "transformers") == "transformers"


def size_of(entry):
    """Billions of parameters, precision, and whether on a GPU: what memory and run time follow from."""
    return billions_of_parameters(plain(entry.weights), entry.billions), entry.dtype, entry.device != "cpu"


def extraction_memory(wildcards, attempt):
    return extraction_memory_mb(*size_of(model_of(wildcards)), attempt)


def extraction_runtime(wildcards, attempt):
    billions, _, on_gpu = size_of(model_of(wildcards))
    return extraction_runtime_minutes(billions, on_gpu, CONFIG.corpus.shard_size, attempt)


def writer_memory(wildcards, attempt):
    writer = writer_of(wildcards)
    return writer_memory_mb(*size_of(writer), attempt) if runs_here(writer) else 4000 * attempt


def writer_runtime(wildcards, attempt):
    writer, reviews, candidates = writer_of(wildcards), CONFIG.corpus.shard_size, CONFIG.rewriting.candidates
    if not runs_here(writer):
        return 240 * attempt
    billions, _, on_gpu = size_of(writer)
    return writer_runtime_minutes(
        billions, on_gpu, reviews, candidates, writer.max_new_tokens, writer.batch_size, attempt
    )


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
    "digests": "weights.sha256",
}
LOCAL_WEIGHTS = ("config.json", "*.safetensors", "tokenizer*")
# tables do not depend on the order in which the configuration names things; figures show that order
JOBS = [[model, variant, shard] for model in sorted(MODELS) for variant in sorted(VARIANTS) for shard in SHARDS]
VARIANT_JOBS = [[variant, shard] for variant in sorted(VARIANTS) for shard in SHARDS]
REWRITING_JOBS = [[variant, shard] for variant in sorted(REWRITTEN) for shard in SHARDS]
WRITING_JOBS = [[variant, shard] for variant in sorted(WRITTEN) for shard in SHARDS]
# a language model's variants are not there before it has written them: the plan counts their originals
COUNTING_JOBS = [[*job, "original" if job[0] in WRITTEN else job[0]] for job in VARIANT_JOBS]

ATTENTION = CONFIG.states.record_attention
METRICS = [name for name in CONFIG.metrics if ATTENTION or name not in ATTENTION_METRICS]
CONTRASTS = [list(pair) for pair in CONFIG.contrast_pairs()]
CONTRAST_METRICS = sorted(name for name in CONFIG.contrast_metrics() if name in METRICS)
COMPONENT_JOBS = [job for job in JOBS if CONFIG.takes_apart(*job[:2])]
FIRST_TOKEN = all(name in METRICS for name in CORRELATED_METRICS)
SAMPLES = over_jobs("<results>/samples/{model}/{variant}/{shard}.zarr.zip") if CONFIG.states.sample_tokens else []
TABLES = [
    f"<results>/tables/{table}"
    for table in (
        "similarity.parquet",
        "acceptance.csv",
        *(["candidates.parquet", "rewriting.csv"] if WRITTEN else []),
        "placement.parquet",
        "metrics.parquet",
        "summary.parquet",
        "summary.csv",
        "mauve.parquet",
        *(["attention.parquet"] if ATTENTION else []),
        "cosines.parquet",
        "extraction.parquet",
        *(["contrasts.parquet"] if CONTRASTS and CONTRAST_METRICS else []),
        *(["common_length.parquet"] if CONTRASTS and CONTRAST_METRICS and CONFIG.contrasts.common_tokens else []),
        "depth.parquet",
        *(["first_token.parquet"] if FIRST_TOKEN else []),
        *(["components.parquet"] if COMPONENT_JOBS else []),
        *(["sensitivity.parquet", "sensitivity.csv"] if CONFIG.sensitivity else []),
        *(["claims.csv", "verdicts.csv"] if CLAIMS else []),
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
        *([f"contrasts/{metric}" for metric in CONTRAST_METRICS] if CONTRASTS else []),
        *(["first_token_scatter"] if FIRST_TOKEN else []),
        *(["components"] if COMPONENT_JOBS else []),
        *(["sensitivity"] if CONFIG.sensitivity else []),
        *(["claims"] if CLAIMS else []),
    )
    for suffix in ("svg", "png")
]
# what the report shows
REPORTED = FIGURES + [
    f"<results>/tables/{table}"
    for table in (
        "acceptance.csv",
        *(["rewriting.csv"] if WRITTEN else []),
        *(["claims.csv", "verdicts.csv"] if CLAIMS else []),
    )
]
