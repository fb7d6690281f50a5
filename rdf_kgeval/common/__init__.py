"""Common: what knows nothing of graphs.

Modules, in reading order:
    text: text made safe for a terminal; plurals.
    disk: files: read plainly, written whole or not at all.
    tables: CSV that users write, row by row.
    arrays: arrays on disk, mapped into memory and checked.
    types: one name for each type of array.
    registry: names that users may choose, loaded when chosen.
    progress: how far a long task is.
    jsonlog: append-only logs that lose no record.
    validation: values from JSON against their annotations.
    arguments: arguments of another kind than a call takes.
    memory: memory limits, and sizes in words.
    extras: packages that only some users need.
    jit: kernels: functions that run as Python on small problems, compiled on large ones.
    http/: requests with a deadline, credentials, documents by IRI.
"""
