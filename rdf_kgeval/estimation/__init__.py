"""Estimation: sampling designs beside their estimators, and intervals.

Modules, in reading order:
    population: the beliefs that a design samples.
    design: what a design is, its options, and a base for sequential ones.
    intervals: intervals for a proportion.
    strata: the beliefs to sample, by stratum.
    srs: simple random sampling (`srs/...`, `anytime/betting`).
    twcs: two-stage weighted cluster sampling (`twcs/...`).
    hierarchy: the hierarchical Beta model of strata.
    beta_interval: intervals of a fixed width under a Beta posterior.
    calibration: constants of the calibrated methods.
    stratified: strata by predicate (`stratified/bayes`).
    assisted: a forecast by inference, corrected by a sample (`assisted/difference`).
    groups: estimates for groups of beliefs, such as predicates.
"""
