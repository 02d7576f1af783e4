from pathlib import Path

import pytest
import yaml

from homogenization.run.errors import HomogenizationError
from homogenization.writers.prompts import load_prompt, render

PROMPTS = Path(__file__).parents[3] / "config" / "prompts"
GOOD = {"version": 1, "system": "Be brief.", "user": "Rephrase: $review"}


@pytest.mark.parametrize(("variant", "first"), [("front", "Begin"), ("end", "End")])
def test_variants_differ_from_the_control_by_one_clause_on_position(variant, first):
    prompt, control = (load_prompt(PROMPTS / f"{name}.yaml") for name in (variant, "paraphrase"))
    user = prompt["user"]
    start, stop = user.index(f"- {first} every sentence"), user.index("- Keep the meaning")
    assert prompt["system"] == control["system"]
    assert user[:start] + user[stop:] == control["user"]


def test_front_and_end_say_the_same_with_the_ends_exchanged():
    front, end = (load_prompt(PROMPTS / f"{name}.yaml")["user"] for name in ("front", "end"))
    for one, other in (("Begin every", "End every"), ("first words", "last words"), ("its beginning", "its end")):
        assert front.count(one) == 1
        front = front.replace(one, other)
    assert front == end


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
        ({"user": "Rephrase $phrases."}, "user: .*review"),
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


def test_what_is_no_prompt_file_is_named(tmp_path):
    path = tmp_path / "prompt.yaml"
    for content in ("- a list", "user: ["):
        path.write_text(content)
        with pytest.raises(HomogenizationError, match=r"prompt\.yaml: "):
            load_prompt(path)
