"""Samples drawn at an endpoint, where the beliefs stay."""
