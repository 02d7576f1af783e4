"""The rules as Snakemake reads them from the Snakefile, over studies that have every rule between them."""

import ast
import os
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest
import yaml
from snakemake.api import SnakemakeApi
from snakemake.iocontainers import Wildcards
from snakemake.rules import Rule
from snakemake.settings.types import ConfigSettings, OutputSettings, Quietness, ResourceSettings

from conftest import ROOT, SMALL
from homogenization.config.models import TrainedWeights
from homogenization.run.code_hash import LIBRARY

SCRIPTS = ROOT / "workflow/scripts"
ENVIRONMENTS = [ROOT / f"envs/{name}.yaml" for name in ("torch", "texts", "analysis")]
PIP_NAMES = {"sklearn": "scikit-learn"}
BROUGHT = {"yaml", "jinja2", "markupsafe"}  # by transformers
WHEEL = {"wheel": "tiny-lm==1.0", "gguf": "tiny_lm/model.gguf", "sha256": "0123456789abcdef" * 4}
WRITER = {"backend": "openai", "model": "any", "base_url": "http://127.0.0.1:9/v1"}
# every metric, key phrases and a variant by language models, a control, fluency, an audit
WRITTEN = {key: value for key, value in SMALL.items() if key != "metrics"} | {
    "writers": {"served": WRITER, "local": {"backend": "transformers", "weights": WHEEL}},
    "keyphrases": {"scorer": "llm", "writer": "served", "prompt": "config/prompts/keyphrases.yaml"},
    "variants": SMALL["variants"]
    | {
        "inward": {"rewriter": "rules", "position": "inward", "like": "front"},
        "paraphrase": {"rewriter": "llm", "writer": "local", "prompt": "config/prompts/paraphrase.yaml"},
    },
    "fluency": {"weights": WHEEL},
    "audit": {"ratings": [str(ROOT / "tests/ratings.csv")]},
    "models": SMALL["models"] | {"tuned": {"weights": {"trained": {"of": WHEEL, "steps": 2}, "seeds": [3]}}},
}
TEMPORARY = SMALL | {"states": {"keep": False}, "keyphrases": {"scorer": "column", "column": "text"}}

# wildcards of a job, of any rule
CONVERTED = TrainedWeights(**WHEEL).converted_in
JOB = Wildcards(fromdict={"model": "tiny", "variant": "paraphrase", "shard": "000", "gguf": CONVERTED})


@cache
def loaded_rules() -> dict[str, Rule]:
    """Name -> rule with a script, of the small study, of one without stores and of one in which language models write.

    Functions among their parameters answer for the latter: Snakemake keeps one set of global names.
    """
    rules = [rule for config in (TEMPORARY, SMALL, WRITTEN) for rule in rules_of(config)]
    return {rule.name: rule for rule in rules if rule.script is not None}


def rules_of(config: dict) -> list[Rule]:
    """The rules of a study, as Snakemake reads them."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file, pytest.MonkeyPatch.context() as patch:
        yaml.safe_dump(config, file)
        file.flush()
        # the Snakefile changes them for the scripts that it starts
        patch.setattr(sys, "path", [*sys.path])
        patch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        # legible, for `parts_of`
        patch.setattr("homogenization.run.code_hash.code_hash", lambda script, *parts: " ".join(parts))
        with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
            workflow = api.workflow(
                resource_settings=ResourceSettings(),
                config_settings=ConfigSettings(configfiles=[Path(file.name)]),
                snakefile=ROOT / "Snakefile",
                workdir=ROOT,
            )
            return list(workflow._workflow.rules)


def value_of(param: object) -> object:
    """A parameter as a job gets it."""
    return param(JOB) if callable(param) else param


def parts_of(rule: Rule) -> list[str]:
    """The packages and modules of the library of which an edit runs a rule again."""
    return value_of(rule.params.code).split()


def file_of(rule: Rule, path: str) -> Path:
    """The script of a rule, or the file of its environment, which Snakemake keeps relative to the rule file."""
    return (Path(str(rule.snakefile)).parent / path).resolve()


def pins_of(environment: Path) -> list[str]:
    """The pip packages of a conda environment, such as "numpy==2.0"."""
    return yaml.safe_load(environment.read_text("utf-8"))["dependencies"][-1]["pip"]


def imports_of(rule: Rule, at_once: bool = False) -> tuple[set[str], set[str]]:
    """Modules of the library ("metrics.spectral") and pip packages that the job of a rule imports, at any depth.

    With `at_once`, those that modules import as soon as they are loaded themselves.
    """
    named = [module for module in (value_of(rule.params.get("module")),) if module]
    named += [*(value_of(rule.params.get("tables")) or {})]
    if rule.script.endswith("plot.py"):
        named += [f"figures.{function.partition('.')[0]}" for function, _ in rule.params.figures]
    modules, packages, waiting = {*named}, set(), [file_of(rule, rule.script), *map(_file_of, named)]
    while waiting:
        tree = ast.parse(waiting.pop().read_text("utf-8"))
        for node in tree.body if at_once else ast.walk(tree):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            names = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                names = [node.module, *(f"{node.module}.{name}" for name in names)]
            own = {name.removeprefix("homogenization.") for name in names if name.startswith("homogenization.")}
            found = {name for name in own - modules if _file_of(name).is_file()}
            modules |= found
            waiting += map(_file_of, found)
            packages |= {name.partition(".")[0] for name in names} - {"homogenization", *sys.stdlib_module_names}
    return modules, {PIP_NAMES.get(name, name) for name in packages - BROUGHT}


def _file_of(module: str) -> Path:
    return LIBRARY.joinpath(*module.split(".")).with_suffix(".py")
