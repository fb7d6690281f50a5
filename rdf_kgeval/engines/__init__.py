"""Engines: where heavy work is done.

Modules, in reading order:
    engine: the interface, and the local engine.
    spark/: Apache Spark.
"""
