"""How alike a transformer's token representations grow, layer by layer, and what position has to do with it."""
