"""The part of the configuration on consequences: what homogenization costs."""

from pydantic import Field, field_validator

from homogenization.names.consequences import PERTURBATIONS
from homogenization.run.sections import Section, one_of


class Probes(Section):
    """Logistic regressions that tell the labels of the reviews from pooled states."""

    folds: int = Field(5, ge=2)
    """Folds of the cross-validation; a review and its texts are in one."""
    penalty: float = Field(100.0, gt=0)
    """Strength of the L2 penalty, fixed: 1/C of scikit-learn, of standardised states."""
    permutations: int = Field(5, ge=1)
    """Orders of the labels of which the null is the mean."""


class Consequences(Section):
    """Texts read untouched and under interventions: what homogenization costs predictions, probes and comparisons."""

    models: list[str] | None = Field(None, min_length=1)
    """Models by name; null: all."""
    variants: list[str] | None = Field(None, min_length=1)
    """Variants by name, `original` among them; null: all."""
    n_reviews: int = Field(200, ge=2)
    """Reviews: the first of the sample by rank."""
    perturbations: list[str] = Field(list(PERTURBATIONS))
    """Mildest changes of a text, which shifts are compared with: `typo` (two neighbouring letters of a word swapped), \
`deleted_word`."""
    conditions: list[str] | None = None
    """Conditions of `interventions` by their keys, such as `steering:first:0.1:all`; null: all of them. The untouched \
model is always there."""
    intervened: list[str] | None = None
    """Texts that are read in these conditions, `original` among them: variants and perturbations; null: `original` \
and the perturbations. The others are read by the untouched model alone."""
    probes: Probes | None = Probes()
    """Probes of the labels; null: none. Needs labels."""

    _perturbations = field_validator("perturbations")(one_of(PERTURBATIONS))

    @field_validator("variants", "intervened")
    @classmethod
    def with_the_original(cls, texts: list[str] | None) -> list[str] | None:
        """The original is among them."""
        if texts is not None and "original" not in texts:
            raise ValueError(f"{texts} lack 'original', which all others are compared with; add it")
        return texts
