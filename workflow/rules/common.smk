# The checked configuration, and functions that all rule files share.
from pathlib import Path

# Rules in a folder, and the scripts of their jobs, use the library beside them; rules from the address of a repository
# use the one that pip has installed.
if isinstance(workflow.current_basedir, os.PathLike):
    LIBRARY = str(Path(workflow.current_basedir).parent / "lib")
    sys.path.insert(0, LIBRARY)
    os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, [LIBRARY, os.environ.get("PYTHONPATH")])))

from homogenization.config.models import penalty_controls
from homogenization.config.study import load_study
from homogenization.figures.catalogue import figures_of
from homogenization.models.built import BUILT_FILES
from homogenization.plan import resources as ask
from homogenization.run.code_hash import code_hash
from homogenization.run.errors import HomogenizationError
from homogenization.run.yaml_files import read_yaml
from homogenization.writers.prompts import load_prompt

try:
    # Snakemake says nothing of a key that stands twice
    list(map(read_yaml, workflow.configfiles))
    STUDY = load_study(config, source=", ".join(map(os.path.relpath, workflow.configfiles)) or "--config")
except HomogenizationError as error:
    raise WorkflowError(str(error)) from None

PENALTY_CONTROLS = penalty_controls(STUDY.models)
# GPUs that a job asks for in which a model runs
GPU = ask.gpus(STUDY.device)


def any_of(names):
    """A wildcard constraint: one of `names`; without any, nothing matches."""
    return "|".join(map(re.escape, names)) or "(?!)"


pathvars:
    results=STUDY.results,
    logs=f"{STUDY.results}/logs",


wildcard_constraints:
    model=any_of(STUDY.models),
    variant=any_of(STUDY.variants),
    condition=any_of(STUDY.conditions),
    shard=r"\d+",


def code(script, *parts):
    """The hash of workflow/scripts/{script}.py, and of the packages and modules of the library that its jobs use."""
    return code_hash(Path(workflow.source_path(f"../scripts/{script}.py")), *parts)


def per_attempt(amount):
    """A resource that grows by `amount` with each attempt of a job (--retries)."""
    return lambda wildcards, attempt: attempt * amount


def memory(device_of=lambda wildcards: STUDY.device, **sizes):
    """Memory of a job that runs a model, by the files of its weights; as much again with each attempt (--retries)."""
    return lambda wildcards, input, attempt: attempt * ask.memory(
        device_of(wildcards), input.get("weights", input.get("encoder", [])), **sizes
    )


def model_of(wildcards):
    return STUDY.models[wildcards.model]


def writer_of(wildcards):
    """The language model that writes a variant, or finds key phrases in a job without a variant."""
    user = STUDY.variants[wildcards.variant] if "variant" in wildcards.keys() else STUDY.keyphrases
    return STUDY.writers[user.writer]


def writer_files(wildcards):
    """The files of the weights of the language model that writes; an endpoint has its own."""
    weights = writer_of(wildcards).weights
    return weights.files(STUDY.results) if weights else []


def writing_device(wildcards):
    """Where the language model of a job runs that writes; an endpoint runs it elsewhere."""
    return STUDY.device if writer_of(wildcards).weights else None


def of_jobs(folder, jobs, suffix=".parquet", name=None):
    """A file in a folder of results, or in one of its own there, for each job: model, variant, condition, shard."""
    return [f"<results>/{folder}/{'/'.join(filter(None, [*job, name]))}{suffix}" for job in jobs]


def of_variants(folder, variants, suffix=".parquet"):
    """A file in a folder of results for each variant and shard; tables do not depend on the order of variants."""
    return expand(f"<results>/{folder}/{{variant}}/{{shard}}{suffix}", variant=sorted(variants), shard=STUDY.shards)


# tables that not every study has
OPTIONAL = {
    "audit": STUDY.audit.ratings,
    "balance": STUDY.balanced,
    "claims": STUDY.judged_claims,
    "components": STUDY.components,
    "consequences": STUDY.consequences,
    "doses": STUDY.intervention_jobs,
    "extrema": STUDY.contrasted_metrics,
    "interventions": STUDY.intervention_jobs,
    "intervened": STUDY.intervention_jobs,
    "penalties": PENALTY_CONTROLS,
    "probes": STUDY.consequences,
    "rewriting": STUDY.written,
    "training": STUDY.trained_models,
}
# tables that are CSV, which the report shows: sections and titles
SHOWN = {
    "acceptance": ("Data", "Accepted rewritings"),
    "audit": ("Data", "Sound sentences"),
    "balance": ("Data", "Balance of the controls"),
    "claims": ("Claims", "Every claim and model"),
    "doses": ("Causes", "Doses of each condition"),
    "rewriting": ("Data", "Rejected rewritings"),
}


def tables(*names):
    """Files of tables, by their names; none of a table that the study does not have."""
    files = {name: f"<results>/tables/{name}.{'csv' if name in SHOWN else 'parquet'}" for name in names}
    return {name: file if OPTIONAL.get(name, True) else [] for name, file in files.items()}


def made(*names):
    """The same, as output of the rule that makes them."""
    files = tables(*names)
    for name in filter(files.get, SHOWN.keys() & files):
        category, title = SHOWN[name]
        labels = {"title": f"{title} (CSV)"}
        files[name] = report(files[name], caption=f"../report/{name}.rst", category=category, labels=labels)
    return files


def drawn(names):
    """The files of those of these figures that the study draws; the report shows most."""
    files = []
    for figure in figures_of(STUDY, *names):
        svg = f"<results>/figures/{figure.name}.svg"
        if figure.on_page:
            labels = {"title": figure.title}
            svg = report(svg, caption=f"../report/{figure.caption}", category=figure.section, labels=labels)
        files += [svg, f"<results>/figures/{figure.name}.pdf"] if STUDY.figures.style == "paper" else [svg]
    return files


def drawing_functions(names):
    """What draws these figures, and their own fields, in the order of their files."""
    return [(figure.function, {"title": figure.title, **figure.fields}) for figure in figures_of(STUDY, *names)]


def in_words(caption):
    """The text of a caption."""
    return Path(workflow.source_path(f"../report/{caption}")).read_text("utf-8")
