"""What somebody has reviewed, and whether the source here is still that."""
