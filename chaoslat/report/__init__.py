"""What people and machines read after a run: tables, explanations and summaries. Pure functions of verdicts."""
