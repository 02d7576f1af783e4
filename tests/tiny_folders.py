"""The folder of a tiny model with random weights, of whose files a test may edit any."""

import json

LLAMA = {
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
}
TEXTS = ["The plot is thin, the acting is not."] * 4
ENTRY = {"dtype": "float32", "device": "cpu", "bos": "default"}


def edit(path, **fields):
    """Change fields of a JSON file; None is null."""
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
