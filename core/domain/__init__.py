"""Values and rules of the product; nothing here reads, writes or waits."""
