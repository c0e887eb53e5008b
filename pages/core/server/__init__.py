"""The process: the server and its middleware (hosts, uploads, compression, first paint, channel)."""
