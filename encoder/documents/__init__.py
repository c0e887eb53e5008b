"""What a file holds: a page that opens without a network, and tables."""
