"""What every room stands on: for whom the app is served, and who computes when."""
