"""The controls of an input: images, sounds, a second input, long texts, edits, files of texts."""
