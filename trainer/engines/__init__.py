"""Embedding engines: where tables lie, and the training step around them."""
