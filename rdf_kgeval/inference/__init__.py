"""Hinge-loss MAP inference: which beliefs are true, given the verdicts."""
