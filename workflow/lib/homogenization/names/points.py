"""Names of a store's arrays: points of the network at which states are read, and attention; and parts of the depth."""

ALL_TOKENS = slice(None)  # of a store
RESIDUAL_STREAM = "residual_stream"
FINAL_NORM = "final_norm"
ATTENTION_RECEIVED = "attention_received"
# ranges of depth, upper end excluded
REGIONS = {"first": (0.0, 0.25), "middle": (0.25, 0.75), "last": (0.75, float("inf"))}


def layer_name(layer: int) -> str:
    """Name of the array of the residual stream at `layer`: 0 before the first block, l after block l."""
    return f"{RESIDUAL_STREAM}/{layer:03d}"
