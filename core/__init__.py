"""The product without any platform: rules, storage, models, durable runs, and the commands of a person."""
