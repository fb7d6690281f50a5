"""What leaves: the record as linked data, and reports for people."""
