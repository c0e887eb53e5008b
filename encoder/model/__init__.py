"""The forward pass: configuration, hook points, attention, embeddings, layers, the encoder and the heads on top of it.

Read `plain` first: the forward pass without options, in sixty lines. Then `config`, `encoder` and `layers`, which have
every option. `attend` has all that turns queries and keys into weights. `device` says where a model runs and how much
memory is free.
"""
