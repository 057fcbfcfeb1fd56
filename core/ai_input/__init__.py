"""What is sent to a model: pure builders from stored data and pinned prompts, one a mode (spec §4)."""
