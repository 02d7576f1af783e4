"""A parameter that Snakemake keeps and shows by a digest, while its job gets all of it."""

import json
import pickle
from types import SimpleNamespace

from conftest import SMALL
from homogenization.config.study import load_study
from homogenization.run.digested import Digested, DigestedText
from homogenization.run.job import arguments
from homogenization.tables.catalogue import TABLES

ENTRIES = [{"claim": "a", "above": 0.5}, {"claim": "b", "below": 0}]


def test_the_text_tells_every_change_and_the_entries_stay():
    text = repr(Digested(ENTRIES))
    assert text.startswith("2 entries, SHA-256 ")
    assert text == repr(Digested([dict(reversed(entry.items())) for entry in ENTRIES])), "keys have no order"
    for changed in (ENTRIES[:1], ENTRIES[::-1], [ENTRIES[0] | {"above": 0.6}, ENTRIES[1]]):
        assert repr(Digested(changed)) != text
    sent = pickle.loads(pickle.dumps(Digested(ENTRIES)))
    assert (sent, json.loads(json.dumps(sent))) == (ENTRIES, ENTRIES)


def test_an_edited_claim_is_a_short_reason(in_project):
    study = load_study(SMALL)
    claims = TABLES["judge_claims"].params(study)["claims"]
    assert claims == study.judged_claims
    assert len(repr(claims)) < 100 < len(json.dumps(claims))


def test_a_template_is_told_by_its_digest_wherever_it_is_shown_and_its_job_gets_it():
    template = "<script>{{ many }}</script>\n" * 100
    parameter = pickle.loads(pickle.dumps(DigestedText([template])))
    for shown in (repr(parameter), str(parameter), f"{parameter}"):
        assert "script" not in shown
        assert len(shown) < 100
    params = {"template": parameter, "code": "0", "module": "report.curves"}
    assert arguments(SimpleNamespace(params=params)) == {"template": template}
