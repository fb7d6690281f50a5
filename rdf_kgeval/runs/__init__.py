"""Run directories: made whole, opened, checked for damage."""
