"""Prompts as versioned assets: read from their folders, checked, rendered (spec §10). Nothing here knows a mode."""
