"""Stands for the package of the weights, which wants libraries that are not installed with it."""

raise ImportError("nobody imports this package")
