"""Former names of keys and values: read as the current ones, with a warning each."""

import pytest
import yaml

from conftest import SMALL
from homogenization.config.study import load_study
from homogenization.run.errors import HomogenizationError

CHANGED = SMALL["interventions"]
OTHERS = {key: value for key, value in CHANGED.items() if key not in ("steering", "masked", "clipped")}
READ = SMALL["consequences"]
CLAIM = {"claim": "c", "statement": "So it is.", "source": "someone", "above": 0}
STATISTIC = {"metric": "cosine_anisotropy", "pattern": "first", "strength": 0.2}


def test_former_names_are_read_as_current_ones_with_a_line_each(tmp_path):
    def study_of(kind, path, interventions):
        path.write_text(yaml.safe_dump([CLAIM | {"intervention": STATISTIC | {"kind": kind}}]))
        consequences = READ | {"conditions": ["untouched", f"{kind}:first:0.2:all"]}
        changes = {"interventions": interventions, "consequences": consequences, "claims": [str(path)]}
        return load_study(SMALL | {"contrasts": {"min_reviews": 6}} | changes)

    former_keys = {"dial": CHANGED["steering"], "closed": CHANGED["masked"], "capped": None}
    former = study_of("dial", tmp_path / "former.yaml", OTHERS | former_keys)
    current = study_of("steering", tmp_path / "current.yaml", CHANGED)
    assert current.warnings == []
    assert former.interventions == current.interventions
    assert former.consequences == current.consequences
    assert former.judged_claims == current.judged_claims
    assert sorted(former.warnings) == [
        "claims.intervention.kind: 'dial' is called 'steering' now; this version still reads the former name.",
        "consequences.conditions: 'dial:first:0.2:all' is called 'steering:first:0.2:all' now; this version still "
        "reads the former name.",
        *(
            f"interventions.{former}: is called {name!r} now; this version still reads the former name."
            for former, name in (("capped", "clipped"), ("closed", "masked"), ("dial", "steering"))
        ),
    ]


def test_a_key_with_both_of_its_names_is_refused():
    with pytest.raises(HomogenizationError, match="interventions: has 'dial' and its new name 'steering'"):
        load_study(SMALL | {"interventions": CHANGED | {"dial": None}})
