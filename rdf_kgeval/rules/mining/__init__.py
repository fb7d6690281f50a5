"""Rules mined from the beliefs themselves."""
