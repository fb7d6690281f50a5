"""What people say: the log, who answers, and what several answers amount to."""
