"""The solver: arrays in, the minimum out; it knows nothing of graphs."""
