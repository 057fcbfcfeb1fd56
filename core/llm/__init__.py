"""The one way to a model: catalogue, gateway, worker process, demo models."""
