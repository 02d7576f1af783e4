"""Names of a store's arrays: points of the network at which states are read, and attention."""

ALL_TOKENS = slice(None)  # of a store
RESIDUAL_STREAM = "residual_stream"
FINAL_NORM = "final_norm"
ATTENTION_RECEIVED = "attention_received"


def layer_name(layer: int) -> str:
    """Name of the array of the residual stream at `layer`: 0 before the first block, l after block l."""
    return f"{RESIDUAL_STREAM}/{layer:03d}"
