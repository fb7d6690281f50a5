"""Where the heavy work is done: in this process, or on Spark."""
