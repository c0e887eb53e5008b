"""A model with its input: TextEncoder, ImageEncoder, AudioEncoder, and JointEncoder for images with texts."""
