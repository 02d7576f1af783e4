# The checked configuration, and functions that all rule files share.
from pathlib import Path

import yaml
from snakemake.utils import update_config

HERE = workflow.current_basedir
# where the rules come from, as --snakefile names it, if that is a repository's address and not a folder
ADDRESS = None
if isinstance(HERE, os.PathLike):
    # the library of this folder, for this file and for the scripts that jobs start
    LIBRARY = str(Path(HERE).parent / "lib")
    sys.path.insert(0, LIBRARY)
    os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, [LIBRARY, os.environ.get("PYTHONPATH")])))
else:
    # the library is the one that pip has installed
    ADDRESS = f"{'gl' if isinstance(HERE, gitlab) else 'gh'}:{HERE.host}:{HERE.repo}@{HERE.ref}:workflow/Snakefile"

from homogenization.config.study import load_study
from homogenization.figures.catalogue import figures_of
from homogenization.metrics.catalogue import METRIC_NAMES
from homogenization.models.built import BUILT_FILES
from homogenization.plan import resources as ask
from homogenization.run.code_hash import code_hash
from homogenization.run.errors import HomogenizationError
from homogenization.writers.prompts import load_prompt


def nested(arguments):
    """Mappings, lists and nulls of --config key=value: in these, Snakemake takes every number for a text."""
    values = {key: yaml.safe_load(text) for key, _, text in (one.partition("=") for one in arguments or [])}
    return {key: value for key, value in values.items() if value is None or isinstance(value, (dict, list))}


try:
    # a module's configuration is its parent's
    update_config(config, {} if __name__ else nested(workflow.config_settings.config_args))
    files = ", ".join(map(os.path.relpath, workflow.configfiles)) or "--config"
    # Snakemake names a module's files by the module
    STUDY = load_study(config, source=f"{files}, module {__name__}" if __name__ else files)
except HomogenizationError as error:
    raise WorkflowError(str(error)) from None

for warning in STUDY.warnings if workflow.is_main_process else []:
    logger.warning(f"{files}: {warning}")


def any_of(names):
    """A wildcard constraint: one of `names`; without any, nothing matches."""
    return "|".join(map(re.escape, names)) or "(?!)"


pathvars:
    results=STUDY.results,
    logs=f"{STUDY.results}/logs",


if workflow.pathvars.get("results") != STUDY.results:
    raise WorkflowError(
        f"{files}: pathvars set <results> to {workflow.pathvars.get('results')!r}; here, the key `results` of the "
        f"configuration does, to {STUDY.results!r}. Take it from the pathvars, and set the key or a module's prefix."
    )


wildcard_constraints:
    model=any_of(STUDY.models),
    variant=any_of(STUDY.variants),
    condition=any_of(STUDY.conditions),
    metric=any_of(METRIC_NAMES),
    shard=r"\d+",


def code(script, *parts):
    """The hash of workflow/scripts/{script}.py, and of the packages and modules of the library that its jobs use."""
    return code_hash(Path(workflow.source_path(f"../scripts/{script}.py")), *parts)


def params_of(made_with):
    """Parameters of the rule that makes a temporary file, as one of each rule that reads it.

    The file is gone when they are edited; where the new job fails, only a file that stays can tell of the edit.
    """
    return lambda wildcards: {name: value(wildcards) if callable(value) else value for name, value in made_with.items()}


def per_attempt(amount):
    """A resource that grows by `amount`, or what it is for a job's wildcards, with each attempt of a job (--retries)."""
    return lambda wildcards, attempt: attempt * (amount(wildcards) if callable(amount) else amount)


def memory(device_of=lambda wildcards: STUDY.device, **sizes):
    """The memory of a job that runs a model, by the files of its weights; as much again with each attempt (--retries)."""
    return lambda wildcards, input, attempt: attempt * ask.memory(
        device_of(wildcards), input.get("weights", input.get("encoder", [])), **sizes
    )


def model_of(wildcards):
    return STUDY.models[wildcards.model]


def writer_of(wildcards):
    """The language model that writes a variant, or finds key phrases in a job without a variant."""
    user = STUDY.variants[wildcards.variant] if "variant" in wildcards.keys() else STUDY.keyphrases
    return STUDY.writers[user.writer]


def without_prefix(files):
    """Files that jobs read; the prefix of a module is for those below the folder of results, and not for others."""
    folders = ("<results>", STUDY.results)
    return [file if any(map(Path(file).is_relative_to, folders)) else local(file) for file in files]


def weights_of(wildcards):
    """The files of a model that the workflow builds or that lies in a local folder; other files are not tracked."""
    return without_prefix(model_of(wildcards).weights.files(STUDY.results, wildcards.model))


def start_of(wildcards):
    """The files of the model that training starts from; of a model that is not trained, its own."""
    return without_prefix(model_of(wildcards).weights.start.files(STUDY.results, wildcards.model))


def of_jobs(folder, jobs, suffix=".parquet", name=None):
    """A file in a folder of results for each job (model, variant, shard; within, a condition).

    With `name`, each job has a folder, and the file of that name is in it.
    """
    return [f"<results>/{folder}/{'/'.join([*job, *([name] if name else [])])}{suffix}" for job in jobs]


def of_variants(folder, variants, suffix=".parquet"):
    """A file in a folder of results for each variant and shard; tables do not depend on the order of variants."""
    return [f"<results>/{folder}/{variant}/{shard}{suffix}" for variant in sorted(variants) for shard in STUDY.shards]


def when(condition, **named):
    """What is `named`, if the study has it; otherwise nothing."""
    return named if condition else {}


# the CSV files that the report shows
SHOWN_TABLES = []


def shown_table(table, title, category="Data", caption=None):
    """A CSV file in tables/ that the report shows."""
    file = f"<results>/tables/{table}.csv"
    SHOWN_TABLES.append({"file": file, "title": title, "caption": f"{caption or table}.rst"})
    labels = {"title": f"{title} (CSV)"}
    return report(file, caption=f"../report/{caption or table}.rst", category=category, labels=labels)


def drawn(names):
    """The files of those of these figures that the study draws; the report shows most."""
    files = []
    for figure in figures_of(STUDY, *names):
        file, shown = f"<results>/figures/{figure.name}", {
            "category": figure.section,
            "labels": {"title": figure.title},
        }
        svg = report(f"{file}.svg", caption=f"../report/{figure.caption}", **shown) if figure.on_page else f"{file}.svg"
        files += [svg, f"{file}.pdf"]
    return files


def drawing_functions(names):
    """What draws these figures, and their own fields, in the order of their files."""
    return [(figure.function, {"title": figure.title, **figure.fields}) for figure in figures_of(STUDY, *names)]


def in_words(caption):
    """The text of a caption."""
    return Path(workflow.source_path(f"../report/{caption}")).read_text("utf-8")
