"""How shared columns are used: tables, engines, networks, the training loop, checkpoints, evaluation and export.

Public: `trainer.training` trains a model of a plan, and loads one; `trainer.loop` is what runs between its steps;
`trainer.engines.contract` is what engines give; `trainer.export` writes a model for serving; `trainer.errors` is what
can go wrong.
"""
