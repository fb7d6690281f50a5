"""Solutions that are kept up to date, one verdict after another."""
