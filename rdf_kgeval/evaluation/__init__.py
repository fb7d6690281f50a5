"""The loop between people and the graph: what to ask next, when to stop, what is known."""
