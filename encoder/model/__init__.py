"""The forward pass: configuration, hook points, attention, embeddings, layers, the encoder and the heads on top of it.

Read `config` first, then `encoder` and `layers`. `attend` has all that turns queries and keys into weights. `device`
says where a model runs and how much memory is free.
"""
