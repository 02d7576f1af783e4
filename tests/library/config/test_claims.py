"""Claims as data: the rows that each asks for, every mistake that ends a run before it begins, and their files."""

import pytest
import yaml

from configured import study_of
from conftest import ROOT
from homogenization.claims.keys import CONTROLS
from homogenization.config.claims import load_all_claims
from homogenization.config.study import load_study
from homogenization.interventions.patterns import PATTERNS
from homogenization.run.errors import HomogenizationError

TOLD = {"statement": "So it is.", "source": "someone"}
DEPTH = {"depth": {"metric": "cosine_anisotropy", "statistic": "net_change"}, "above": 0.5}
CONTRAST = {"contrast": {"metric": "effective_rank", "variant": "front", "minus": "original"}, "below": 0}
EFFECT = {"metric": "cosine_anisotropy", "pattern": "first", "strength": 0.2}
FILES = sorted(path.name for path in (ROOT / "config").glob("claims*.yaml"))


@pytest.fixture
def write(tmp_path):
    """Write claims (each with a name, statement and source unless it has one) to a file; its path."""

    def write_claims(*claims: dict, name: str = "claims.yaml") -> str:
        described = [{"claim": f"claim{number}"} | TOLD | claim for number, claim in enumerate(claims)]
        (tmp_path / name).write_text(yaml.safe_dump(described))
        return str(tmp_path / name)

    return write_claims


def test_a_claim_asks_for_a_row_of_each_of_its_layers_and_views(write):
    depth, *contrasts = load_all_claims([write(DEPTH, CONTRAST)])[1:]
    where = {"metric": "cosine_anisotropy", "variant": "original", "statistic": "net_change", "view": "all_tokens"}
    told = TOLD | {"claim": "claim0", "statistic": "net_change", "table": "depth"}
    assert depth == told | {"where": where, "criterion": {"above": 0.5}}
    assert [(row["where"]["layers"], row["where"]["view"]) for row in contrasts] == [
        (layers, view) for layers in ("all", "output") for view in ("raw_without_first", "raw")
    ]


@pytest.mark.parametrize(
    ("kind", "keys", "views"),
    [
        ("contrast", {"metric": "effective_rank"}, ["raw_without_first", "raw"]),
        ("contrast", {"metric": "cosine_anisotropy"}, ["without_first", "all_tokens"]),
        ("contrast", {"metric": "first_token_attention_excess"}, ["all_tokens"]),
        ("contrast", {"metric": "early_excess_among_others"}, ["without_first"]),
        ("contrast", {"metric": "effective_rank", "view": "unit"}, ["unit"]),
        ("contrast", {"metric": "loss_per_word"}, ["predictions"]),
        ("effect", EFFECT, ["without_first", "all_tokens"]),
        ("effect", EFFECT | {"metric": "cosine_to_first_token"}, ["all_tokens"]),
        ("harm", {"metric": "kl"}, ["predictions"]),
        ("harm", {"metric": "probe_log_loss"}, ["pooled"]),
    ],
)
def test_a_claim_without_a_view_is_judged_without_the_first_token_and_with_it(write, kind, keys, views):
    compared = {} if kind == "effect" else {"variant": "front", "minus": "original"}
    rows = load_all_claims([write({kind: compared | keys, "above": 0})])
    assert list(dict.fromkeys(row["where"]["view"] for row in rows)) == views
    of_predictions = views == ["predictions"]
    assert {row["where"]["layers"] for row in rows} == ({"output"} if of_predictions else {"all", "output"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"depth": DEPTH["depth"] | {"metric": "cosine_anisotropie"}}, "'cosine_anisotropie' is not allowed (did you"),
        ({"depth": DEPTH["depth"] | {"view": "raw"}}, "no view 'raw'; allowed: all_tokens, without_first, pooled_c"),
        ({"depth": DEPTH["depth"] | {"view": ["all_token"]}}, "no view 'all_token' (did you mean 'all_tokens'?)"),
        ({"depth": DEPTH["depth"] | {"statistics": "slope"}}, "unknown key (did you mean 'statistic'?)"),
        ({"depth": {"metric": "effective_rank"}}, "depth.statistic: missing"),
        ({"below": 1}, "has above and below of above, below, between; give exactly one"),
        ({"above": None, "between": [0.7, 0.6]}, "[0.7, 0.6] is no range; write [lower, upper]"),
        ({"contrast": CONTRAST["contrast"]}, "has contrast and depth of contrast, depth, effect"),
        ({"depth": None}, "has none of contrast, depth, effect, harm, correlation, component; give exactly one"),
        ({"statement": ""}, "statement"),
        ({"depth": None, "contrast": CONTRAST["contrast"] | {"layers": "half"}}, "contrast.layers[0]: 'half' is not"),
        ({"depth": None, "contrast": CONTRAST["contrast"] | {"minus": "a control"}}, "contrast.minus: 'a control' is"),
        ({"depth": None, "effect": EFFECT | {"kind": "untouched"}}, "effect.kind: 'untouched' is not allowed"),
        ({"depth": None, "effect": EFFECT | {"view": "raw"}}, "no view 'raw'; allowed: all_tokens, without_first, cen"),
        ({"depth": None, "component": {"metric": "cosine_anisotropy", "largest": ["mlp"]}}, "largest[0]: 'mlp'"),
        ({"depth": None, "component": {"metric": "cosine_anisotropy"}}, "give exactly one of change, largest"),
    ],
)
def test_a_mistake_is_named_with_the_claim(write, change, said):
    with pytest.raises(HomogenizationError) as raised:
        load_all_claims([write(CONTRAST, DEPTH | change)])
    assert "claims.yaml" in str(raised.value)
    assert "claim1: " in str(raised.value)
    assert said in str(raised.value)


def test_all_mistakes_are_told_at_once(write):
    with pytest.raises(HomogenizationError) as raised:
        load_all_claims([write(DEPTH | {"below": 1}, CONTRAST | {"source": ""}, DEPTH, DEPTH | {"claim": "claim2"})])
    for said in ("claim0: ", "claim1: source", "claim2: stands twice"):
        assert said in str(raised.value)


@pytest.mark.parametrize(("content", "said"), [("a: b", "no list"), ("- [", "not readable as YAML")])
def test_a_file_that_holds_no_claims(tmp_path, content, said):
    (tmp_path / "claims.yaml").write_text(content)
    with pytest.raises(HomogenizationError, match=said):
        load_all_claims([tmp_path / "claims.yaml"])


def test_claims_of_several_files_have_names_of_their_own(write):
    first, second = write(DEPTH), write(DEPTH | {"claim": "another"}, name="more.yaml")
    assert {row["claim"] for row in study_of(claims=[first, second]).judged_claims} == {"claim0", "another"}
    with pytest.raises(HomogenizationError, match=r"claim0: stands twice"):
        study_of(claims=[first, first])


VARIANTS = {
    "original": {"rewriter": "none"},
    "front": {"rewriter": "rules", "position": "front"},
    "end": {"rewriter": "rules", "position": "end"},
    "inward": {"rewriter": "rules", "position": "inward", "like": "front"},
    "others": {"rewriter": "rules", "position": "front", "phrases": "other"},
}


@pytest.mark.parametrize(
    ("variant", "minus", "found", "estimated"),
    [
        ("front", "edge control", "inward", "inward"),
        ("front", "key control", "others", "others"),
        ("end", "edge control", "edge control", None),  # none: it is not tested
        ("original", "key control", "key control", None),
        ("front", "disorder", "disorder", "original"),
    ],
)
def test_what_a_claim_subtracts_is_estimated(write, variant, minus, found, estimated):
    claims = write({"contrast": {"metric": "participation_ratio", "variant": variant, "minus": minus}, "below": 0})
    study = study_of(variants=VARIANTS, claims=claims, contrasts={"pairs": []})
    assert {row["where"]["minus"] for row in study.judged_claims} == {found}
    assert study.estimated_contrasts == ([(variant, estimated)] if estimated else [])
    assert "participation_ratio" in study.estimated_metrics("contrasts")
    assert "participation_ratio" not in study.estimated_metrics("depth")


@pytest.mark.parametrize("file", FILES)
def test_each_claim_of_a_file_names_what_a_study_that_judges_it_has(file, monkeypatch):
    monkeypatch.chdir(ROOT)
    configs = [yaml.safe_load(path.read_text()) for path in (ROOT / "config").glob("*.yaml")]
    configs = [raw for raw in configs if isinstance(raw, dict) and "variants" in raw]
    studies = [load_study(raw) for raw in configs if file in str(raw.get("claims"))] or map(load_study, configs)
    known = {name for study in studies for name in study.variants} | PATTERNS.keys()
    known |= {"disorder", "untouched", "layers middle", *CONTROLS}
    for claim in load_all_claims([f"config/{file}"]):
        where = claim["where"]
        minus = where.get("minus", "original").removesuffix(" at equal KL")
        assert {where["variant"], minus, where.get("pattern", "first")} <= known, claim["claim"]
