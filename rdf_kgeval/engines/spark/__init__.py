"""Grounding and inference on Apache Spark; the rest of kgeval sees only the engine.

Modules, in reading order:
    engine: the engine.
    session: a Spark session, its checks and its failures.
    tables: tables as Parquet files that Spark joins.
    solving: a model solved on the executors.
    tasks: what runs on the executors.
"""
