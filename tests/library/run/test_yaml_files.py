import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.run.yaml_files import read_arguments, read_yaml


def written(tmp_path, text):
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a: [1", "line 1, column 4"),
        ("a: 1\n b: 2", "line 2"),
        ("a:\n\tx", "line 2, column 1"),
        ("models:\n  a: 1\n  a: 2", "'a' stands in line 2 and in line 3"),
    ],
)
def test_what_is_no_yaml_is_named_with_its_line(tmp_path, text, where):
    with pytest.raises(HomogenizationError, match=rf"a\.yaml: not readable as YAML \(.*{where}"):
        read_yaml(written(tmp_path, text))


def test_json_is_read_as_json(tmp_path):
    """To YAML, half of a surrogate pair is no character."""
    path = tmp_path / "a.json"
    path.write_text('{"labels": {"tiny": "\\ud83c\\udfac"}}')
    assert read_yaml(path) == {"labels": {"tiny": "🎬"}}


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(HomogenizationError, match=r"none\.yaml: there is no such file"):
        read_yaml(tmp_path / "none.yaml")


def test_nested_arguments_have_the_types_of_yaml():
    given = ["corpus={n_reviews: 6, source: a}", "views=[raw, 1]", "examples=null", "seed=3", "results=x", "claims={a"]
    assert read_arguments(given) == {"corpus": {"n_reviews": 6, "source": "a"}, "views": ["raw", 1], "examples": None}
    assert read_arguments(None) == {}
