"""Every key of the configuration, and whether they fit each other."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import Field, ValidationInfo, field_validator

from homogenization.config.analysis import (
    ClaimsFiles,
    Components,
    Contrasts,
    Extrema,
    Figures,
    Mauve,
    Pooled,
    Sensitivity,
)
from homogenization.config.consequences import Consequences
from homogenization.config.examples import Examples
from homogenization.config.interventions import Interventions
from homogenization.config.models import Model, States
from homogenization.config.networks import refuse_untrainable, refuse_without_head, refuse_without_rotation
from homogenization.config.positional import Positional
from homogenization.config.reading import problems
from homogenization.config.texts import (
    DEFAULT_VARIANTS,
    AnyKeyphrases,
    AnyVariant,
    Corpus,
    CountedKeyphrases,
    Fluency,
    Parser,
    Rewriting,
    RuleVariant,
    Similarity,
    WrittenKeyphrases,
    WrittenVariant,
)
from homogenization.config.training import arms_of, check_pairs, single_models
from homogenization.config.writers import AnyWriter
from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import METRIC_NAMES
from homogenization.models.declared import Declared
from homogenization.names.variants import RANDOM_PAIRS
from homogenization.run.errors import nearest
from homogenization.run.sections import ExpandedPath, Name, Section, lies_here, one_of, one_path, pairs_of

RESERVED_VARIANTS = (RANDOM_PAIRS,)


class Keys(Section):
    """What a user may write."""

    results: ExpandedPath = Field("results", min_length=1)
    """Folder of everything that is made."""
    seed: int = Field(0, ge=0)
    """Seed of the sample, of scattered positions, of MAUVE."""
    corpus: Corpus
    writers: dict[Name, AnyWriter] = Field({})
    """Language models that write, by name."""
    parser: Parser = Parser()
    keyphrases: AnyKeyphrases = CountedKeyphrases()
    rewriting: Rewriting = Rewriting()
    variants: dict[Name, AnyVariant] = Field(DEFAULT_VARIANTS, validate_default=True)
    """Variants by name; `original` is one of them."""
    similarity: Similarity = Field({}, validate_default=True)
    fluency: Fluency | None = None
    """How well the texts read; null: not computed."""
    models: dict[Name, Model] = Field(min_length=1)
    """Models by name."""
    arms: list[list[str]] = Field([])
    """Pairs [arm, minus] of trained models that are compared seed by seed; `minus` may be any model."""
    states: States = States()
    views: list[str] = Field(list(VIEWS), min_length=1)
    """How the token matrix is looked at."""
    metrics: list[str] = Field(list(METRIC_NAMES), min_length=1)
    """Metrics to tabulate and draw."""
    mauve: Mauve = Mauve()
    pooled: Pooled = Pooled()
    contrasts: Contrasts = Contrasts()
    extrema: Extrema | None = Extrema()
    """Peaks and troughs over depth; null: not looked for."""
    components: Components | None = None
    """Which blocks are taken apart; null: none."""
    positional: Positional | None = None
    """Whose attention is compared with what positions alone predict; null: none."""
    interventions: Interventions | None = None
    """What is done to the attention of models; null: nothing."""
    consequences: Consequences | None = None
    """What homogenization costs, untouched and under interventions; null: not computed."""
    examples: Examples | None = None
    """Reviews that are shown token by token; null: none."""
    sensitivity: Sensitivity | None = Sensitivity()
    """What the metrics answer to; null: left out."""
    claims: ClaimsFiles = Field(["config/claims.yaml"])
    """File of claims to judge, or several files; null: none."""
    figures: Figures = Figures()
    pilot: int | None = Field(None, ge=4)
    """Reviews that `snakemake plan` reads with each model, to time jobs; null: none, and no hours. Nothing else \
depends on it."""
    hardware: dict[str, float] = Field({})
    """No longer read: a `pilot` times jobs instead."""
    container: str | None = Field(None, min_length=1)
    """Image of the jobs with `--sdm apptainer`: a file (.sif) or an address (docker://…); null: none."""

    @field_validator("results")
    @classmethod
    def results_in_a_folder(cls, results: str, info: ValidationInfo) -> str:
        """It is a folder for results alone, where a folder can be made, spelt in one way."""
        if special := sorted(set(results) & set("*?")):
            raise ValueError(f"{results!r}: the name of a folder of results has no {' or '.join(map(repr, special))}")
        if "://" in results:
            scheme, _, place = results.partition("://")
            bucket, _, folder = place.partition("/")
            raise ValueError(
                f"{results!r} is an address; name a folder alone ({folder or 'results'}), and call Snakemake with "
                f"--default-storage-provider {'gcs' if scheme == 'gs' else scheme} --default-storage-prefix "
                f"{scheme}://{bucket}, which keeps the folder there (docs/cluster.md)"
            )
        place, results = Path(results).resolve(), os.path.normpath(results)
        if place != Path(results).resolve():
            raise ValueError(f"{results!r} leads through a link and '..'; write the path out")
        if not lies_here(info):
            return results
        if Path.cwd().is_relative_to(place) or (place / "Snakefile").exists():
            raise ValueError(
                f"{results!r} holds other files than results (the working directory or a Snakefile); name a folder of "
                "its own, which may not exist yet"
            )
        there = next(folder for folder in (place, *place.parents) if folder.exists())
        if not there.is_dir():
            raise ValueError(f"{results!r}: {str(there)!r} is a file; name a folder, which may not exist yet")
        if there != place and not os.access(there, os.W_OK):
            raise ValueError(f"{results!r}: {str(there)!r} can't be written to; name another folder")
        return results

    @field_validator("container")
    @classmethod
    def image_exists(cls, container: str | None, info: ValidationInfo) -> str | None:
        """An image that is a file exists."""
        is_file = container is not None and one_path(container).endswith(".sif") and "://" not in container
        if is_file and lies_here(info) and not Path(container).is_file():
            raise ValueError(f"the file {container!r} does not exist; build it (docs/cluster.md), or name an address")
        return container

    _views = field_validator("views")(one_of(VIEWS))
    _metrics = field_validator("metrics")(one_of(METRIC_NAMES))

    @field_validator("keyphrases")
    @classmethod
    def writer_of_keyphrases_exists(cls, keyphrases: AnyKeyphrases, info: ValidationInfo) -> AnyKeyphrases:
        """The language model that finds key phrases is among the writers."""
        if isinstance(keyphrases, WrittenKeyphrases):
            _check_writer(keyphrases.writer, info)
        return keyphrases

    @field_validator("variants")
    @classmethod
    def writers_of_variants_exist(cls, variants: dict[str, AnyVariant], info: ValidationInfo) -> dict[str, AnyVariant]:
        """The language models that rewrite are among the writers."""
        for name, variant in variants.items():
            if isinstance(variant, WrittenVariant):
                _check_writer(variant.writer, info, f"{name}: ")
                writer = info.data.get("writers", {}).get(variant.writer)
                if variant.unit == "sentence" and writer and writer.regex_problem:
                    raise ValueError(
                        f"{name}: unit 'sentence' with the writer {variant.writer!r}: {writer.regex_problem}"
                    )
        return variants

    @field_validator("variants")
    @classmethod
    def original_among_variants(cls, variants: dict[str, AnyVariant]) -> dict[str, AnyVariant]:
        """The untouched reviews are a variant, since everything is compared with them."""
        if variants.get("original") != RuleVariant(rewriter="none"):
            raise ValueError("needs 'original: {rewriter: none}': every comparison starts from the untouched reviews")
        for name in RESERVED_VARIANTS:
            if name in variants:
                raise ValueError(f"the name {name!r} is taken by the workflow; choose another")
        return variants

    @field_validator("variants")
    @classmethod
    def variants_differ(cls, variants: dict[str, AnyVariant]) -> dict[str, AnyVariant]:
        """Each variant is made in a way of its own: two that are alike compare a text with itself."""
        names = list(variants)
        for number, name in enumerate(names):
            for other in names[:number]:
                if variants[name] == variants[other]:
                    raise ValueError(f"{other!r} and {name!r} are made alike; leave one of them out, or change it")
        return variants

    @field_validator("mauve", "pooled")
    @classmethod
    def measured_variants_exist(cls, measured: Mauve | Pooled, info: ValidationInfo) -> Mauve | Pooled:
        """The variants of a measure that not all of them have exist."""
        _check_names(measured.variants or (), info, "variants", "variants")
        return measured

    @field_validator("contrasts")
    @classmethod
    def contrasts_of_what_there_is(cls, contrasts: Contrasts, info: ValidationInfo) -> Contrasts:
        """Pairs name existing variants, and metrics are computed."""
        _check_names([name for pair in contrasts.pairs or () for name in pair], info, "variants", "pairs")
        _check_computed("metrics", contrasts.metrics, info, METRIC_NAMES)
        return contrasts

    @field_validator("components", "positional", "interventions", "consequences", "examples")
    @classmethod
    def read_what_there_is(cls, chosen: Section | None, info: ValidationInfo) -> Section | None:
        """Models and variants exist."""
        if chosen is not None:
            _check_names(chosen.models or (), info, "models", "models")
            _check_names(chosen.variants or (), info, "variants", "variants")
        return chosen

    @field_validator("examples")
    @classmethod
    def examples_of_what_there_is(cls, examples: Examples | None, info: ValidationInfo) -> Examples | None:
        """The contrast by which reviews are chosen is one of two existing variants."""
        if examples is not None and examples.contrast is not None:
            pairs_of("variant")([examples.contrast])
            _check_names(examples.contrast, info, "variants", "contrast")
        return examples

    @field_validator("interventions")
    @classmethod
    def interventions_in_what_there_is(cls, chosen: Interventions | None, info: ValidationInfo) -> Interventions | None:
        """Heads, rotations and templates exist, and so does the table that `steepest` reads."""
        if chosen is not None:
            if chosen.needs_depth and "cosine_anisotropy" not in info.data.get("metrics", METRIC_NAMES):
                raise ValueError(
                    "blocks: 'steepest' needs 'cosine_anisotropy' among the computed 'metrics'; add it there, or name "
                    "the blocks"
                )
            if chosen.template:
                _check_templates(chosen, info)
            refuse_without_head(_read_by(chosen.models, info), "interventions")
            if chosen.positions:
                refuse_without_rotation(_read_by(chosen.models, info))
        return chosen

    @field_validator("consequences")
    @classmethod
    def consequences_of_what_there_is(cls, chosen: Consequences | None, info: ValidationInfo) -> Consequences | None:
        """Heads and conditions exist; there are enough reviews for the folds of the probes."""
        if chosen is None or not {"variants", "models", "corpus"} <= info.data.keys():
            return chosen
        refuse_without_head(_read_by(chosen.models, info), "consequences")
        mistakes = problems(chosen, info.data.get("interventions"), list(info.data["variants"]))
        if mistakes:
            raise ValueError("; ".join(mistakes))
        corpus = info.data["corpus"]
        n_reviews = min(chosen.n_reviews, corpus.n_reviews)
        if chosen.probes and corpus.label_column and n_reviews < 2 * chosen.probes.folds:
            raise ValueError(
                f"probes.folds: {chosen.probes.folds} folds need {2 * chosen.probes.folds} reviews of two labels, and "
                f"{n_reviews} are read; lower the folds, raise n_reviews (here and in 'corpus'), or set probes: null"
            )
        return chosen

    @field_validator("models")
    @classmethod
    def one_model_for_each_seed(cls, models: dict[str, Model], info: ValidationInfo) -> dict[str, Model]:
        """An entry that is trained stands for a model of each seed and snapshot; its start can be trained."""
        single = single_models(models)
        for model in single.values():
            if model.weights.arm and "results" in info.data and lies_here(info):
                refuse_untrainable(model.weights, model.weights.start.declared(info.data["results"]))
        return single

    @field_validator("arms")
    @classmethod
    def arms_exist(cls, pairs: list[list[str]], info: ValidationInfo) -> list[list[str]]:
        """Pairs name arms that have seeds in common."""
        if "models" in info.data:
            check_pairs(pairs, info.data["models"])
        return pairs

    @field_validator("figures")
    @classmethod
    def figures_of_what_is_computed(cls, figures: Figures, info: ValidationInfo) -> Figures:
        """Views and metrics are computed, and labels belong to existing models and variants."""
        _check_computed("views", figures.views, info, VIEWS)
        _check_computed("metrics", figures.metrics, info, METRIC_NAMES)
        if {"models", "variants"} <= info.data.keys():
            models = info.data["models"]
            arms = dict.fromkeys(arm for _, arm, _, _ in arms_of(models))
            _check_labels(figures.labels, (*models, *info.data["variants"], *arms))
            for names in (models, info.data["variants"], arms):
                _check_shown(figures.labels, names)
        return figures


def _check_computed(key: str, names: Sequence[str] | None, info: ValidationInfo, known: Sequence[str]) -> None:
    """Refuse views or metrics that the study does not compute; where this key holds mistakes, those that are known."""
    missing = [name for name in names or () if name not in info.data.get(key, known)]
    if missing:
        raise ValueError(f"{key} {missing} are not among the computed '{key}'; add them there or leave them out")


def _check_labels(labels: Mapping[str, str], entries: Sequence[str]) -> None:
    empty = [name for name, label in labels.items() if not label.strip()]
    if empty:
        raise ValueError(f"labels for {empty} are empty; write a name that figures can show, or leave them out")
    unknown = [name for name in labels if name not in entries]
    if unknown:
        raise ValueError(f"labels for {unknown}: no such model, variant or arm; allowed: {', '.join(entries)}")


def _check_shown(labels: Mapping[str, str], names: Iterable[str]) -> None:
    """Refuse two entries that figures would show under one name."""
    shown = Counter(labels.get(name, name) for name in names)
    repeated = sorted(label for label, number in shown.items() if number > 1)
    if repeated:
        raise ValueError(f"labels: {repeated} would be shown for two entries each; give each a label of its own")


def _check_names(names: Sequence[str], info: ValidationInfo, key: str, where: str) -> None:
    """Refuse a name that is not among those of a section; where this holds mistakes itself, the context has them."""
    known = info.data.get(key) or (info.context or {}).get(key)
    for name in names if known else ():
        if name not in known:
            raise ValueError(f"{where}: {name!r} is not among {key}{nearest(name, known)}; allowed: {', '.join(known)}")


def _check_templates(chosen: Interventions, info: ValidationInfo) -> None:
    """The attention by position, from which templates are made, is computed for the same models and variants."""
    positional = info.data.get("positional")
    models = list(info.data.get("models", ()))
    for key, wanted, computed in (
        ("models", chosen.models or models, (positional and positional.models) or models),
        ("variants", chosen.variants, positional and positional.variants),
    ):
        missing = wanted if positional is None else sorted(set(wanted) - set(computed))
        if missing:
            raise ValueError(
                f"template: needs the section 'positional' for the {key} {missing}; add them to 'positional.{key}', or "
                "leave 'template' out"
            )


def _read_by(names: Sequence[str] | None, info: ValidationInfo) -> dict[str, Declared | None]:
    """What files tell of the networks of some models, or of all; their jobs say the rest."""
    models = info.data.get("models", {}) if "results" in info.data and lies_here(info) else {}
    return {name: models[name].weights.declared(info.data["results"]) for name in names or models if name in models}


def _check_writer(name: str, info: ValidationInfo, where: str = "") -> None:
    writers = info.data.get("writers")
    if writers is not None and name not in writers:
        allowed = ", ".join(writers) or "none is there; add it under 'writers'"
        raise ValueError(f"{where}no writer is called {name!r}{nearest(name, writers)}; allowed: {allowed}")
