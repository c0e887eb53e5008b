"""What a model receives: texts and tokenizers, images, sounds, their files with limits, and the bundled examples."""
