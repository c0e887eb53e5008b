"""What Encoderscope costs, measured against what others cost: `python -m benchmarks`, or `make bench`.

README.md beside this file says what is measured and how, and what was found.
"""
