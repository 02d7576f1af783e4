"""Claims as data: what is read of them, and every mistake that ends a run before it begins."""

from pathlib import Path

import pytest
import yaml

from configured import study_of
from conftest import ROOT
from homogenization.config.claims import load_claims
from homogenization.run.errors import HomogenizationError

CHANGE = {"net_change": {"metric": "cosine_anisotropy"}, "above": 0.5}
CONTRAST = {"contrast": {"metric": "effective_rank", "variant": "front", "minus": "original"}, "below": 0}


@pytest.fixture
def write(tmp_path):
    """Write claims (each with a name, statement and source unless it has one) to a file; its path."""

    def write_claims(*claims: dict) -> str:
        described = [
            {"claim": f"claim{number}", "statement": "So it is.", "source": "someone", **claim}
            for number, claim in enumerate(claims)
        ]
        (tmp_path / "claims.yaml").write_text(yaml.safe_dump(described))
        return str(tmp_path / "claims.yaml")

    return write_claims


def test_what_is_left_out_has_its_defaults(write):
    change, contrast = load_claims(write(CHANGE, CONTRAST))
    assert change == {
        "claim": "claim0",
        "statement": "So it is.",
        "source": "someone",
        "convention": "raw",
        "statistic": "net_change",
        "metric": "cosine_anisotropy",
        "view": "all_tokens",
        "variant": "original",
        "since": "input",
        "above": 0.5,
    }
    assert [contrast[name] for name in ("view", "point", "layers", "below")] == ["raw", "residual_stream", "all", 0.0]


def test_several_layers_and_conventions_have_a_verdict_each(write):
    contrast = CONTRAST["contrast"] | {"layers": ["middle", "output"]}
    claims = load_claims(write({"contrast": contrast, "above": 0.5, "conventions": ["raw", "thesis"]}, CONTRAST))
    assert [(claim["claim"], claim["convention"], claim["layers"]) for claim in claims] == [
        ("claim0", "raw", "middle"),
        ("claim0-output", "raw", "output"),
        ("claim0-thesis", "thesis", "middle"),
        ("claim0-output-thesis", "thesis", "output"),
        ("claim1", "raw", "all"),
    ]


def test_a_component_is_held_against_the_others(write):
    (claim,) = load_claims(write({"component": {"metric": "singular_anisotropy", "largest": ["norm"]}}))
    assert claim["above"] == 0.0
    assert claim["largest"] == ["norm"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"net_change": {"metric": "cosine_anisotropie"}},
            "metric: 'cosine_anisotropie' is not allowed (did",
        ),
        ({"net_change": {"metric": "cosine_anisotropy", "view": "raw"}}, "no view 'raw'; allowed: all_tokens, without"),
        ({"net_change": {"metric": "participation_ratio", "view": "row"}}, "no view 'row' (did you mean 'raw'?)"),
        (
            {"net_change": {"metric": "participation_ratio", "sinc": "input"}},
            "sinc: unknown key (did you mean 'since'?)",
        ),
        ({"below": 1}, "the criteria ['above', 'below']; a net_change takes exactly one"),
        ({"above": None}, "the criteria none; a net_change takes exactly one"),
        ({"above": None, "between": [0.7, 0.6]}, "[0.7, 0.6] is no range; write [lower, upper]"),
        ({"slope": {"metric": "participation_ratio"}}, "names ['net_change', 'slope']; give exactly one"),
        ({"net_change": None}, "names no statistic; give exactly one of"),
        ({"statement": ""}, "statement"),
        ({"conventions": ["theses"]}, "conventions[0]: 'theses' is not allowed"),
        ({"claims": "x"}, "claims: unknown key (did you mean 'claim'?)"),
        *(
            ({"net_change": None, "contrast": CONTRAST["contrast"] | given}, said)
            for given, said in (
                ({"layers": "half"}, "contrast.layers[0]: 'half' is not allowed"),
                ({"layers": ["all", "all"]}, "name each once"),
                ({"layers": []}, "contrast.layers"),
                ({"minus": "a control"}, "minus"),
            )
        ),
        (
            {"net_change": None, "correlation": {"metric": "participation_ratio", "with_metric": "first_token_norm"}}
            | {"conventions": ["raw", "thesis"]},
            "a correlation has the convention raw alone",
        ),
        *(
            ({"net_change": None, "intervention": {"pattern": "first", "metric": "cosine_anisotropy", **given}}, said)
            for given, said in (
                ({}, "the kind 'steering' has a strength; give it"),
                ({"strength": 1.5}, "strength"),
                ({"strength": 0.2, "at": "kl"}, "with that of a control, which 'minus' names"),
                ({"strength": 0.2, "view": "raw"}, "view: 'raw' is not allowed"),
            )
        ),
        (
            {"net_change": None, "above": 1, "component": {"metric": "cosine_anisotropy", "largest": ["mlp"]}},
            "largest[0]",
        ),
    ],
)
def test_a_mistake_is_named_with_the_claim(write, change, said):
    with pytest.raises(HomogenizationError) as raised:
        load_claims(write(CONTRAST, CHANGE | change))
    assert "claims.yaml" in str(raised.value)
    assert "claim1: " in str(raised.value)
    assert said in str(raised.value)


def test_all_mistakes_are_told_at_once(write):
    with pytest.raises(HomogenizationError) as raised:
        load_claims(write(CHANGE | {"below": 1}, CONTRAST | {"source": ""}, CHANGE, CHANGE | {"claim": "claim2"}))
    for said in ("claim0: ", "claim1: source", "claim2: stands twice"):
        assert said in str(raised.value)


def test_the_claims_on_causes_name_what_an_intervention_has():
    claims = load_claims(ROOT / "config/claims-causes.yaml")
    assert {claim["statistic"] for claim in claims} == {"intervention"}
    assert {(claim["pattern"], claim["minus"], claim["at"]) for claim in claims} >= {
        ("first", "untouched", "strength"),
        ("first", "removed", "strength"),
        ("first", "scattered", "kl"),
    }


@pytest.mark.parametrize(
    ("content", "said"), [("a: b", "no list"), ("- [", "not readable as YAML"), (None, "No such file")]
)
def test_a_file_that_holds_no_claims(tmp_path, content, said):
    if content is not None:
        (tmp_path / "claims.yaml").write_text(content)
    with pytest.raises(HomogenizationError, match=said):
        load_claims(tmp_path / "claims.yaml")


def test_a_mistake_in_claims_is_one_in_the_configuration(write):
    with pytest.raises(HomogenizationError, match=r"(?s)claims: .*claim0: slope.metric: 'rank' is not allowed"):
        study_of(claims=write({"slope": {"metric": "rank"}, "above": 0}))


def test_claims_of_several_files_have_names_of_their_own(write, tmp_path):
    first = write(CHANGE)
    second = tmp_path / "more.yaml"
    second.write_text(Path(first).read_text().replace("claim0", "another"))
    names = [claim["claim"] for claim in study_of(claims=[first, str(second)]).judged_claims]
    assert names == ["claim0", "another"]
    with pytest.raises(HomogenizationError, match=r"claims: .*claim0: stands in another file too"):
        study_of(claims=[first, first])


VARIANTS = {
    "original": {"rewriter": "none"},
    "front": {"rewriter": "rules", "position": "front"},
    "end": {"rewriter": "rules", "position": "end"},
    "inward": {"rewriter": "rules", "position": "inward", "like": "front"},
    "others": {"rewriter": "rules", "position": "front", "phrases": "other"},
}


@pytest.mark.parametrize(
    ("variant", "role", "control"),
    [
        ("front", "edge", "inward"),
        ("front", "key", "others"),
        ("end", "edge", "edge control"),  # none: it is not tested
        ("original", "key", "key control"),
    ],
)
def test_a_control_is_that_of_the_variant(write, variant, role, control):
    contrast = {"metric": "participation_ratio", "variant": variant, "minus": f"{role} control"}
    claims = write({"contrast": contrast, "below": 0})
    assert study_of(variants=VARIANTS, claims=claims).judged_claims[0]["minus"] == control


def test_the_name_of_a_convention_is_taken(write):
    with pytest.raises(HomogenizationError, match="claim0-thesis: stands twice"):
        load_claims(write(CHANGE | {"conventions": ["thesis"]}, CHANGE | {"claim": "claim0-thesis"}))
