"""Lessons: files of Markdown (lesson.py, library.py), and the open lesson of this session (progress.py)."""
