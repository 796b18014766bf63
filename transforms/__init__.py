"""What to compute: model specs, expressions and operators, the feature graph, and its compiler to TensorFlow.

Public: `transforms.specs` are the values, `transforms.spec_files` reads them from YAML, `transforms.binding` gives
expressions their meaning over a log, `transforms.graph` merges models, `transforms.compiler` makes a function of nodes,
`transforms.errors` is what can go wrong.
"""
