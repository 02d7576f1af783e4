from pathlib import Path

import pytest
import yaml

from homogenization.run.errors import HomogenizationError
from homogenization.writers.prompts import load_prompt, render

PROMPTS = Path(__file__).parents[3] / "config" / "prompts"
GOOD = {"version": 1, "system": "Be brief.", "user": "Rephrase: $review"}


def test_front_and_end_differ_from_the_control_by_one_clause_and_from_each_other_by_the_ends():
    front, end, control = (load_prompt(PROMPTS / f"{name}.yaml") for name in ("front", "end", "paraphrase"))
    assert front["system"] == end["system"] == control["system"]
    user = front["user"]
    start, stop = user.index("- Begin every sentence"), user.index("- Keep the meaning")
    assert user[:start] + user[stop:] == control["user"]
    for one, other in (("Begin every", "End every"), ("first words", "last words"), ("its beginning", "its end")):
        assert user.count(one) == 1
        user = user.replace(one, other)
    assert user == end["user"]


def test_what_is_filled_in_is_taken_as_it_is():
    prompt = {"system": "Costs $$5: $phrases", "user": "<$review>"}
    system, user = render(prompt, review="$review {x}", phrases="$$ $phrases")
    assert user == {"role": "user", "content": "<$review {x}>"}
    assert system == {"role": "system", "content": "Costs $5: $$ $phrases"}
    assert render({**prompt, "system": ""}, review="$review {x}") == [user]
    with pytest.raises(HomogenizationError, match="'phrases' has no value in this step"):
        render(prompt, review="A dull film.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 0}, "version: .*greater than or equal to 1"),
        ({"user": "Rephrase $phrases, $$review."}, "user: .*review"),
        ({"user": "$review by $author"}, r"user: .*allowed are \$review, \$phrases, \$max_phrases"),
        ({"system": "It costs $ 5."}, r"system: .*'\$\$' for a dollar"),
        ({"style": "terse"}, "style: Extra inputs"),
    ],
)
def test_a_wrong_prompt_is_refused_by_key(tmp_path, change, message):
    path = tmp_path / "prompt.yaml"
    path.write_text(yaml.safe_dump({**GOOD, **change}))
    with pytest.raises(HomogenizationError, match=rf"prompt\.yaml: {message}"):
        load_prompt(path)
