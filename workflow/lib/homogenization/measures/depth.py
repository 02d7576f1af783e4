"""Parts of the depth. Every parse of the Snakefile imports them."""

# upper end excluded
REGIONS = {"first": (0.0, 0.25), "middle": (0.25, 0.75), "last": (0.75, float("inf"))}
