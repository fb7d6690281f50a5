"""Publishing: the record as linked data, and reports for people.

Modules, in reading order:
    rdf: publishes an evaluation as linked data.
    record: the names and lines of a published record.
    measurements: the head of a record: measurements, provenance, rules, annotators.
    annotations: the body of a record: an annotation for each belief.
    writeback: writes a record to a store, whole or not at all.
    labels: the labels of beliefs, a row each.
    outputs: the formats of a report, by name (`OUTPUTS`).
    view: an evaluation as users of Python see it and write it down.
    report/: what a report tells, and its formats.
"""
