"""Grounding and inference on Apache Spark; the rest of kgeval sees only the engine."""
