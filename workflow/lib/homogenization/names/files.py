"""Names of files that several stages know."""

# of a model that the workflow has built: where its weights come from, and what made it
ORIGIN_FILE = "origin.txt"
