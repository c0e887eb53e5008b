"""What Encoderscope costs, measured against what others cost: `python -m benchmarks`, or `make bench`.

docs/benchmarks.md says what is measured and how, with results.
"""
