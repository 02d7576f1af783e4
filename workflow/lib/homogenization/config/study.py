"""The configuration: one strict model that every key passes through, and that writes its own schema and key table.

Imported whenever the Snakefile is parsed, so it imports neither torch nor transformers nor zarr.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from homogenization.config.analysis import ClaimsFile, Components, Contrasts, Mauve, Sensitivity
from homogenization.config.base import ExpandedPath, Name, Section, Weights, whole_numbers_count
from homogenization.config.claims import load_claims
from homogenization.config.messages import describe_problem, nearest, one_of
from homogenization.config.texts import Prompt, Rewriting, Writer
from homogenization.corpus.sources import BUILDERS, is_local
from homogenization.figures.catalogue import CORRELATED_METRICS, FIGURE_TITLES
from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import ATTENTION_METRICS, METRIC_NAMES, describe_metric
from homogenization.run.errors import HomogenizationError
from homogenization.variants.names import RANDOM_PAIRS, SIDES
from homogenization.variants.positions import POSITIONS

RESERVED_VARIANTS = (RANDOM_PAIRS,)


class Corpus(Section):
    """Which reviews are read, and how many of them."""

    source: ExpandedPath = Field(description="Local .parquet, .csv, .json or .jsonl file, or a data set id on the hub.")
    subset: str | None = Field(None, description="Configuration name of a hub data set, where it has several.")
    revision: str | None = Field(None, description="Commit of a hub data set; pin it.")
    split: str = Field("train", description="Split of a hub data set.")
    text_column: str = Field("text", description="Column that holds the review.")
    label_column: str | None = Field("label", description="Column to balance the sample over; null: no balancing.")
    n_reviews: int = Field(ge=2, description="Reviews in the sample. The sample is nested: raising it adds shards.")
    shard_size: int = Field(
        50, ge=2, description="Reviews a shard. A shard is the unit of work: one job a model, variant and shard."
    )
    min_words: int = Field(20, ge=1, description="Shorter reviews (in words, cleaned) are left out.")
    max_words: int = Field(400, ge=1, description="Longer reviews are left out; keep it within the models' context.")

    @field_validator("source")
    @classmethod
    def local_file_exists(cls, source: str) -> str:
        """A source that looks like a file has to be one."""
        if is_local(source):
            suffix = Path(source).suffix
            if suffix.lower() not in BUILDERS:
                raise ValueError(f"{source!r} ends in {suffix!r}; allowed: {', '.join(BUILDERS)}")
            if not Path(source).is_file():
                raise ValueError(f"the file {source!r} does not exist; relative paths start at the working directory")
        return source

    @field_validator("max_words")
    @classmethod
    def bounds_in_order(cls, max_words: int, info: ValidationInfo) -> int:
        """The upper bound is not below the lower one."""
        if max_words < info.data.get("min_words", 1):
            raise ValueError(f"{max_words} is below min_words ({info.data['min_words']})")
        return max_words

    @property
    def is_local(self) -> bool:
        """Whether the corpus is a file on this machine."""
        return is_local(self.source)


class Keyphrases(Section):
    """How key phrases are found."""

    scorer: Literal["tfidf", "keybert", "llm"] = Field(
        "tfidf",
        description="`tfidf` knows no position; `keybert` none but what its encoder sees within a sentence; `llm` "
        "asks a language model, which sees them all.",
    )
    max_phrases: int = Field(8, ge=1, description="Distinct key phrases a review at most.")
    ngram_range: tuple[int, int] = Field((1, 3), description="Shortest and longest phrase in words.")
    min_document_frequency: int = Field(
        2, ge=1, description="Rarer terms are key phrases only where a review repeats them."
    )
    keybert: Weights | None = Field(None, description="Sentence encoder of the `keybert` scorer.")
    writer: str | None = Field(None, description="Name under `writers` of the language model that `llm` asks.")
    prompt: Prompt | None = Field(None, description="File of the prompt of `llm`.")

    @field_validator("ngram_range", mode="before")
    @classmethod
    def pair(cls, value: Any) -> Any:
        """YAML has lists, no tuples; the lower bound comes first."""
        if isinstance(value, list) and len(value) == 2 and all(type(v) is int for v in value):
            if not 1 <= value[0] <= value[1]:
                raise ValueError(f"{value} is no range of phrase lengths; write [shortest, longest], from 1 on")
            return tuple(value)
        return value

    @model_validator(mode="after")
    def what_the_scorer_needs(self) -> "Keyphrases":
        """KeyBERT cannot run without an encoder, nor a language model without being named and asked."""
        if self.scorer == "keybert" and self.keybert is None:
            raise ValueError("scorer 'keybert' needs 'keybert': the weights of a sentence encoder")
        if (self.scorer == "llm") != (self.writer is not None) or (self.scorer == "llm") != (self.prompt is not None):
            raise ValueError(
                f"scorer {self.scorer!r} with writer {self.writer!r} and prompt {self.prompt!r}: 'llm' needs both, the "
                "others take neither"
            )
        return self


class Variant(Section):
    """How a variant of each review is made."""

    rewriter: Literal["none", "rules", "llm"] = Field(
        description="`none` keeps the text; `rules` moves key phrases; `llm` asks a language model."
    )
    position: str | None = Field(
        None,
        description=f"Where `rules` moves the key phrases of each sentence: {', '.join(POSITIONS)}. Where `llm` has "
        f"to put them: {', '.join(SIDES)}; null: anywhere (a paraphrase).",
    )
    writer: str | None = Field(None, description="Name under `writers` of the language model that `llm` asks.")
    prompt: Prompt | None = Field(None, description="File of the prompt of `llm`.")

    @property
    def is_control(self) -> bool:
        """Whether the text is rewritten with key phrases brought to no place in particular."""
        if self.rewriter == "rules":
            return self.position == "scattered"
        return self.rewriter == "llm" and self.position is None

    @model_validator(mode="after")
    def what_the_rewriter_needs(self) -> "Variant":
        """`rules` needs a position, `none` has no use for one; `llm` needs a model and a prompt."""
        if self.rewriter != "llm" and (self.rewriter == "rules") != (self.position is not None):
            raise ValueError(
                f"rewriter {self.rewriter!r} with position {self.position!r}: 'rules' needs a position "
                f"({', '.join(POSITIONS)}), 'none' takes none"
            )
        if (self.rewriter == "llm") != (self.writer is not None) or (self.rewriter == "llm") != (
            self.prompt is not None
        ):
            raise ValueError(
                f"rewriter {self.rewriter!r} with writer {self.writer!r} and prompt {self.prompt!r}: 'llm' needs both, "
                "the others take neither"
            )
        if self.position is not None:
            one_of(SIDES if self.rewriter == "llm" else tuple(POSITIONS))([self.position])
        return self


class Similarity(Section):
    """BERTScore of each rewritten review against its original, and what counts as similar enough."""

    encoder: Weights = Field(description="Encoder of BERTScore.")
    layer: int = Field(ge=1, description="Layer of the encoder whose states are compared.")
    threshold: float = Field(
        ge=0, le=1, description="Least F1 (not rescaled) of an accepted review; it belongs to encoder and layer."
    )
    batch_size: int = Field(16, ge=1, description="Reviews a batch.")
    device: Literal["auto", "cpu", "cuda", "mps"] = Field("auto", description="`auto`: CUDA, then MPS, then CPU.")

    _threshold = field_validator("threshold", mode="before")(whole_numbers_count)


class Model(Section):
    """Weights, and how they are run."""

    weights: Weights = Field(description="Where the weights come from.")
    dtype: Literal["float32", "bfloat16", "float16"] = Field("float32", description="Precision of the forward pass.")
    device: Literal["auto", "cpu", "cuda", "mps"] = Field("auto", description="`auto`: CUDA, then MPS, then CPU.")
    bos: Literal["default", "always", "never"] = Field(
        "default", description="First token: what the tokenizer does, always one BOS token, or never one."
    )
    max_tokens: int | None = Field(
        None, ge=2, description="Longer reviews are cut there, and the cut recorded; null: the model's context."
    )
    token_budget: int = Field(
        2048, ge=1, description="Tokens a forward pass; whole reviews are packed up to it. Halves when memory runs out."
    )
    gpus: int = Field(1, ge=1, description="GPUs of a job; the blocks are spread over them. Nothing reruns.")
    billions: float | None = Field(
        None,
        gt=0,
        description="Billions of parameters, by which a job's memory and time are asked for; null: from the weights' "
        "files or the hub id (`8B`). Nothing reruns.",
    )

    _billions = field_validator("billions", mode="before")(whole_numbers_count)

    def without_effect(self) -> set[str]:
        """How a job is placed."""
        return {"gpus", "billions"}


class States(Section):
    """What is stored of a forward pass."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="Storage type of the states; `auto`: the model's own."
    )
    chunk_tokens: int = Field(4096, ge=1, description="Tokens a chunk of a layer's array.")
    record_attention: bool = Field(True, description="Sum the attention that each token receives, in every layer.")
    layers: list[int] | None = Field(
        None,
        min_length=2,
        description="Layers of the residual stream to store, 0 before the first block; negative ones count from the "
        "last; null: all.",
    )
    keep: bool = Field(
        True, description="false: the states of a job are deleted as soon as every metric has read them."
    )
    sample_tokens: int | None = Field(
        None, ge=1, description="Tokens of each review whose states are kept under `samples/` in any case; null: none."
    )

    @field_validator("layers")
    @classmethod
    def layers_once(cls, layers: list[int] | None) -> list[int] | None:
        """Each layer once."""
        if layers is not None and len(set(layers)) < len(layers):
            raise ValueError(f"{layers} names a layer twice; name each once")
        return layers


class Figures(Section):
    """What figures say and show; nothing here reruns a computation."""

    views: list[str] = Field(
        ["raw", "raw_without_first"], min_length=1, description="Views that the metric figures show, a row each."
    )
    titles: dict[str, str] = Field({}, description="Title of a figure, by figure or metric name.")
    labels: dict[str, str] = Field({}, description="Display name of a model or variant.")

    _views = field_validator("views")(one_of(VIEWS))

    @field_validator("titles")
    @classmethod
    def titles_of_figures(cls, titles: dict[str, str]) -> dict[str, str]:
        """Titles belong to figures that exist."""
        one_of((*FIGURE_TITLES, *METRIC_NAMES))(list(titles))
        return titles


class Study(Section):
    """The whole configuration."""

    results: ExpandedPath = Field("results", min_length=1, description="Folder of everything that is made.")
    seed: int = Field(0, ge=0, description="Seed of the sample, of scattered positions, of MAUVE.")
    corpus: Corpus
    writers: dict[Name, Writer] = Field({}, description="Language models that write, by name.")
    keyphrases: Keyphrases = Keyphrases()
    rewriting: Rewriting = Rewriting()
    variants: dict[Name, Variant] = Field(description="Variants by name; `original` is one of them.")
    similarity: Similarity
    models: dict[Name, Model] = Field(min_length=1, description="Models by name.")
    states: States = States()
    views: list[str] = Field(list(VIEWS), min_length=1, description="How the token matrix is looked at.")
    metrics: list[str] = Field(list(METRIC_NAMES), min_length=1, description="Metrics to tabulate and draw.")
    mauve: Mauve = Mauve()
    contrasts: Contrasts = Contrasts()
    components: Components | None = Field(None, description="Blocks taken apart; null: not.")
    sensitivity: Sensitivity | None = Field(Sensitivity(), description="What the metrics answer to; null: left out.")
    claims: ClaimsFile | None = Field("config/claims.yaml", description="Claims to judge; null: none.")
    figures: Figures = Figures()

    _views = field_validator("views")(one_of(VIEWS))
    _metrics = field_validator("metrics")(one_of(METRIC_NAMES))

    @field_validator("keyphrases")
    @classmethod
    def writer_of_keyphrases_exists(cls, keyphrases: Keyphrases, info: ValidationInfo) -> Keyphrases:
        """The language model that finds key phrases is among the writers."""
        _check_writer(keyphrases.writer, info)
        return keyphrases

    @field_validator("variants")
    @classmethod
    def writers_of_variants_exist(cls, variants: dict[str, Variant], info: ValidationInfo) -> dict[str, Variant]:
        """The language models that rewrite are among the writers."""
        for name, variant in variants.items():
            _check_writer(variant.writer, info, f"{name}: ")
        return variants

    @field_validator("variants")
    @classmethod
    def original_among_variants(cls, variants: dict[str, Variant]) -> dict[str, Variant]:
        """Everything is compared with the untouched reviews, so they have to be there."""
        if variants.get("original") != Variant(rewriter="none"):
            raise ValueError("needs 'original: {rewriter: none}': every comparison starts from the untouched reviews")
        for name in RESERVED_VARIANTS:
            if name in variants:
                raise ValueError(f"the name {name!r} is taken by the workflow; choose another")
        return variants

    @field_validator("contrasts")
    @classmethod
    def contrasts_of_what_there_is(cls, contrasts: Contrasts, info: ValidationInfo) -> Contrasts:
        """Pairs of existing variants, metrics that are computed."""
        _check_names([name for pair in contrasts.pairs or () for name in pair], info, "variants", "pairs")
        missing = [name for name in contrasts.metrics or () if name not in info.data.get("metrics", METRIC_NAMES)]
        if missing:
            raise ValueError(
                f"metrics {missing} are not among the computed 'metrics'; add them there or leave them out"
            )
        return contrasts

    @field_validator("components")
    @classmethod
    def components_of_what_there_is(cls, components: Components | None, info: ValidationInfo) -> Components | None:
        """Existing models and variants."""
        if components is not None:
            _check_names(components.models or (), info, "models", "models")
            _check_names(components.variants, info, "variants", "variants")
        return components

    @field_validator("figures")
    @classmethod
    def figures_of_computed_views(cls, figures: Figures, info: ValidationInfo) -> Figures:
        """A figure cannot show a view that is not computed, nor label what does not exist."""
        missing = [view for view in figures.views if view not in info.data.get("views", VIEWS)]
        if missing:
            raise ValueError(f"views {missing} are not among the computed 'views'; add them there or leave them out")
        known = tuple(info.data.get("models", {})) + tuple(info.data.get("variants", {}))
        unknown = [name for name in figures.labels if known and name not in known]
        if unknown:
            raise ValueError(f"labels for {unknown}: no such model or variant; allowed: {', '.join(known)}")
        return figures

    @property
    def shards(self) -> list[str]:
        """Numbers of the shards, three digits each."""
        return [f"{number:03d}" for number in range(-(-self.corpus.n_reviews // self.corpus.shard_size))]

    def ranks(self, shard: str) -> tuple[int, int]:
        """Rank of the first review of a shard, and the rank after its last."""
        start = int(shard) * self.corpus.shard_size
        return start, min(start + self.corpus.shard_size, self.corpus.n_reviews)

    @property
    def rewritten(self) -> list[str]:
        """Variants other than the original, in the order of the configuration."""
        return [name for name in self.variants if name != "original"]

    @property
    def written(self) -> list[str]:
        """Variants that a language model writes."""
        return [name for name, variant in self.variants.items() if variant.rewriter == "llm"]

    @property
    def jobs(self) -> list[tuple[str, str, str]]:
        """Every model, variant and shard, sorted: tables do not depend on the order of the configuration."""
        return [
            (model, variant, shard)
            for model in sorted(self.models)
            for variant in sorted(self.variants)
            for shard in self.shards
        ]

    @property
    def counted_jobs(self) -> list[tuple[str, str, str]]:
        """(variant, shard, what is counted in its place): the original of what a language model is yet to write."""
        return [
            (variant, shard, "original" if variant in self.written else variant)
            for variant in sorted(self.variants)
            for shard in self.shards
        ]

    @property
    def component_jobs(self) -> list[tuple[str, str, str]]:
        """The jobs whose blocks are taken apart."""
        chosen = self.components
        if chosen is None:
            return []
        models = chosen.models or list(self.models)
        return [job for job in self.jobs if job[0] in models and job[1] in chosen.variants]

    @property
    def tabulated_metrics(self) -> list[str]:
        """The configured metrics, less those of attention where it is not recorded."""
        return [name for name in self.metrics if self.states.record_attention or name not in ATTENTION_METRICS]

    @property
    def contrasted(self) -> list[tuple[str, str]]:
        """The contrasts, (variant, minus): as configured, or by default."""
        if self.contrasts.pairs is not None:
            return [(variant, minus) for variant, minus in self.contrasts.pairs]
        controls = [name for name in self.rewritten if self.variants[name].is_control]
        positioned = [name for name in self.rewritten if name not in controls]
        return [(name, "original") for name in self.rewritten] + [(name, c) for name in positioned for c in controls]

    @property
    def contrasted_metrics(self) -> list[str]:
        """The metrics that are contrasted, sorted: as configured, or by default."""
        chosen = self.contrasts.metrics
        if chosen is None:
            described = [(name, describe_metric(name)) for name in self.metrics]
            chosen = [
                name
                for name, metric in described
                if not metric.extensive and (metric.homogenization or name in ATTENTION_METRICS)
            ]
        return sorted(set(chosen) & set(self.tabulated_metrics))

    @property
    def correlates_first_token(self) -> bool:
        """Whether the metrics that are correlated with the first token are all there."""
        return set(CORRELATED_METRICS) <= set(self.tabulated_metrics)

    @cached_property
    def judged_claims(self) -> list[dict[str, Any]]:
        """The claims as plain values; `control` stands for the first control variant, where there is one.

        Raises:
            HomogenizationError: the file of claims can't be read, or a claim is wrong.
        """
        control = next((name for name, variant in self.variants.items() if variant.is_control), "control")
        claims = load_claims(self.claims) if self.claims else []
        roles = ("variant", "minus")
        return [claim | {role: control for role in roles if claim.get(role) == "control"} for claim in claims]

    def labelled(self, names: Iterable[str]) -> list[list[str]]:
        """[name, display name] pairs for figures, in the order of `names`."""
        return [[name, self.figures.labels.get(name, name)] for name in names]

    @staticmethod
    def axis_label(metric: str) -> str:
        """What stands at the axis of a metric."""
        return describe_metric(metric).label

    def title(self, figure: str) -> str:
        """The configured title of a figure or metric, or its own."""
        own = FIGURE_TITLES[figure] if figure in FIGURE_TITLES else describe_metric(figure).title
        return self.figures.titles.get(figure, own)


def _check_names(names: Sequence[str], info: ValidationInfo, key: str, where: str) -> None:
    known = info.data.get(key)
    for name in names if known is not None else ():
        if name not in known:
            raise ValueError(f"{where}: {name!r} is not among {key}{nearest(name, known)}; allowed: {', '.join(known)}")


def _check_writer(name: str | None, info: ValidationInfo, where: str = "") -> None:
    writers = info.data.get("writers")
    if name is not None and writers is not None and name not in writers:
        allowed = ", ".join(writers) or "none is there; add it under 'writers'"
        raise ValueError(f"{where}no writer is called {name!r}{nearest(name, writers)}; allowed: {allowed}")


def load_study(raw: Mapping[str, Any], source: str = "config") -> Study:
    """Check `raw` (as Snakemake merged it) and return it as a `Study`.

    A model, variant or writer that is set to null is dropped, so that an overlay can take away what its base has.

    Raises:
        HomogenizationError: naming every problem at once: key, value, what is allowed, nearest spelling.
    """
    kept = {
        key: _without_nulls(value) if key in ("models", "variants", "writers") else value for key, value in raw.items()
    }
    try:
        return Study.model_validate(kept)
    except ValidationError as error:
        problems = [describe_problem(problem, Study) for problem in error.errors()]
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        listed = "\n".join(f"  - {problem}" for problem in problems)
        raise HomogenizationError(f"{source}: {count}\n{listed}\nEvery key is described in config/README.md.") from None


def _without_nulls(entries: Any) -> Any:
    return {k: v for k, v in entries.items() if v is not None} if isinstance(entries, dict) else entries
