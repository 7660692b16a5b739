"""What ``mainspring init`` copies: a small project that runs, fails, and can be mended."""
