"""Jobs: each wires one source, the transforms and one sink, and holds no rule of its own."""
