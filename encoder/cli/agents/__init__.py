"""A door for agents: `encoderscope mcp` answers questions over the Model Context Protocol.

The numbers are those of the command line, to the digit.

`tools` has the questions, one row each; `asking` runs the command behind one; `answer` is what comes back; `server`
speaks the protocol.
"""
