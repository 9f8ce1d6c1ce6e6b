"""What runs inside a training process: orders, timed blocks, what is read back. Imports torch."""
