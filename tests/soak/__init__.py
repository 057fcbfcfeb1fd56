"""Long series with real processes that are killed: `make soak`."""
