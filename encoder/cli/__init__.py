"""The command `encoderscope`: `main` reads the arguments, each other file is one command or a part of it."""
