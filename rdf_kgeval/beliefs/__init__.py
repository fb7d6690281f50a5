"""Beliefs: triples in columns, their terms and their names."""
