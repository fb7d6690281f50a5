"""What knows nothing of graphs: text, arrays and logs on disk, memory, compiled code."""
