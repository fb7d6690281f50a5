"""Sampling designs beside their estimators, and intervals."""
