from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from homogenization.run.errors import HomogenizationError
from homogenization.writers.prompts import load_prompt, render

PROMPTS = Path(__file__).parents[3] / "config" / "prompts"
GOOD = {"version": 1, "system": "Be brief.", "user": "Rephrase: $review"}


def rendered(prompt, **values):
    return [message["content"] for message in render(load_prompt(PROMPTS / f"{prompt}.yaml"), **values)]


@pytest.mark.parametrize(("variant", "edge"), [("front", "beginning"), ("end", "end")])
def test_variants_differ_from_the_control_by_one_clause_on_position(variant, edge):
    values = {"review": "A dull film.", "phrases": "- dull film"}
    system, user = rendered(variant, **values)
    control_system, control_user = rendered("paraphrase", **values)
    assert system == control_system
    start = user.index(f"- {'Begin' if variant == 'front' else 'End'} every sentence")
    stop = user.index("- Keep the meaning")
    assert edge in user[start:stop]
    assert user[:start] + user[stop:] == control_user
    control = " ".join(rendered("paraphrase", review="", phrases="")).casefold()
    assert not any(word in control for word in ("begin", "end ", "front", "first word", "last word", "position"))


def test_front_and_end_say_the_same_with_the_ends_exchanged():
    values = {"review": "A dull film.", "phrases": "- dull film"}
    front, end = (rendered(name, **values)[1] for name in ("front", "end"))
    for one, other in (("Begin every", "End every"), ("first words", "last words"), ("its beginning", "its end")):
        assert front.count(one) == 1
        front = front.replace(one, other)
    assert front == end


@given(review=st.text(st.characters(codec="utf-8")), phrases=st.text(st.characters(codec="utf-8")))
def test_what_is_filled_in_is_taken_as_it_is(review, phrases):
    prompt = {"system": "Costs $$5: $phrases", "user": "<$review>"}
    system, user = render(prompt, review=review, phrases=phrases)
    assert user == {"role": "user", "content": f"<{review}>"}
    assert system == {"role": "system", "content": f"Costs $5: {phrases}"}
    assert render({**prompt, "system": ""}, review=review) == [user]


def test_a_placeholder_without_a_value_is_named():
    with pytest.raises(HomogenizationError, match=r"\$phrases has no value in this step, which knows \$review"):
        render({**GOOD, "system": "$phrases"}, review="A dull film.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 0}, "version: .*greater than or equal to 1"),
        ({"version": True}, "version: .*valid integer"),
        ({"version": "1"}, "version: .*valid integer"),
        ({"user": "Rephrase it."}, r"user: .*lacks \$review"),
        ({"user": "Rephrase $phrases."}, r"user: .*lacks \$review"),
        ({"user": "$review by $author"}, r"user: .*unknown \$author; allowed: \$review, \$phrases, \$max_phrases"),
        ({"system": "It costs $ 5."}, r"system: .*'\$\$' for a dollar"),
        ({"user": None}, "user: .*valid string"),
        ({"style": "terse"}, "style: Extra inputs"),
    ],
)
def test_a_wrong_prompt_is_refused_by_key(tmp_path, change, message):
    path = tmp_path / "prompt.yaml"
    path.write_text(yaml.safe_dump({**GOOD, **change}))
    with pytest.raises(HomogenizationError, match=rf"prompt\.yaml: {message}"):
        load_prompt(path)


@pytest.mark.parametrize("content", [b"- a list", b"", b"user: [", b"\xff\xfe\x00", None])
def test_what_is_no_prompt_file_is_named(tmp_path, content):
    path = tmp_path / "prompt.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(HomogenizationError, match=r"prompt\.yaml: "):
        load_prompt(path)
