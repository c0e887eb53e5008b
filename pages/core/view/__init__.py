"""The open model, input, layer, head and token, and what several pages compute from them."""
