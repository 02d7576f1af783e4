import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.run.yaml_files import read_arguments, read_yaml


def written(tmp_path, text):
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_key_that_stands_twice_is_named_with_its_lines(tmp_path):
    path = written(tmp_path, "variants:\n  front: {position: front}\n  end: {a: 1, a: 2}\n  front: {position: end}\n")
    with pytest.raises(HomogenizationError) as raised:
        read_yaml(path)
    said = "'a' in line 3, and before in line 3; 'front' in line 4, and before in line 2"
    assert str(raised.value).startswith(f"{path}: a mapping has a key twice: {said}. ")


def test_keys_of_lists_and_of_other_mappings_are_others(tmp_path):
    assert read_yaml(written(tmp_path, "a: &x {b: 1}\nc: *x\nd:\n- {b: 1}\n- {b: 2}\n"))["d"] == [{"b": 1}, {"b": 2}]
    assert read_yaml(written(tmp_path, "")) is None
    with pytest.raises(HomogenizationError, match="a key twice: 'b' in line 2"):
        read_yaml(written(tmp_path, "- b: 1\n  b: 2\n"))


@pytest.mark.parametrize("text", ["a: [1", "a: 1\n b: 2", "\tx"])
def test_what_is_no_yaml_is_named(tmp_path, text):
    with pytest.raises(HomogenizationError, match=r"a\.yaml: not readable as YAML"):
        read_yaml(written(tmp_path, text))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(HomogenizationError, match=r"none\.yaml: there is no such file"):
        read_yaml(tmp_path / "none.yaml")


def test_nested_arguments_have_the_types_of_yaml():
    given = ["corpus={n_reviews: 6, source: a}", "views=[raw, 1]", "examples=null", "seed=3", "results=x", "claims={a"]
    assert read_arguments(given) == {"corpus": {"n_reviews": 6, "source": "a"}, "views": ["raw", 1], "examples": None}
    assert read_arguments(None) == {}
