"""Names of the files of a model that the workflow builds, which every parse of the Snakefile imports."""

ORIGIN_FILE = "origin.txt"  # one line: where weights come from that the workflow has built
BUILT_FILES = {  # files of a model that the workflow builds; the last lists the SHA-256 of the others
    "config": "config.json",
    "weights": "model.safetensors",
    "tokenizer": "tokenizer.json",
    "tokenizer_config": "tokenizer_config.json",
    "origin": ORIGIN_FILE,
    "digests": "weights.sha256",
}
