"""The outside of the product: platform adapters, the web servers, the command line and the wiring."""
