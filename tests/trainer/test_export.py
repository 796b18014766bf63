"""An export gives what the store and the trainer give, where neither of them is, and appears whole or not at all."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from materialized.errors import NotMaterializedError
from materialized.plan import make_plan
from tests.trainer.served_log import MODEL, ROWS_PER_FILE, Served, served
from trainer.errors import ExportError, OutputError
from trainer.export import DESCRIPTION, export_model, new_directory
from trainer.export_check import BATCH_SIZES, answered, check_export, column_of, predictions
from trainer.export_compare import compare
from trainer.export_requests import example_request, tensor_request
from trainer.export_sample import sample_rows
from trainer.model import Model
from trainer.served_model import EXAMPLE_FEATURES, EXAMPLES, FEATURES, PREDICTION, SERVING, named_tensors
from transforms.canonical import digest

SERVER = """
import importlib.abc, sys
from pathlib import Path

OURS = ("transforms", "materialized", "pipelines", "trainer", "forebay", "apache_beam")

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in OURS:
            raise ModuleNotFoundError(f"{name} is asked for, and a server does not have it")

sys.meta_path.insert(0, Absent())

import numpy as np
import tensorflow as tf

export, work = Path(sys.argv[1]), Path(sys.argv[2])
signatures = tf.saved_model.load(str(export)).signatures
for request in sorted(work.glob("*.request")):
    signature, size = request.stem.split("-")
    dtypes = {name: spec.dtype for name, spec in signatures[signature].structured_input_signature[1].items()}
    tensors = {
        name: tf.io.parse_tensor((request / f"{number}").read_bytes(), dtypes[name])
        for number, name in enumerate(sorted(dtypes))
    }
    answer = signatures[signature](**tensors)
    np.savez(work / f"{signature}-{size}.npz", **{name: value.numpy() for name, value in answer.items()})
assert not [name for name in sys.modules if name.partition(".")[0] in OURS]
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return served(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def export(whole: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("exports") / "1"
    report = export_model(whole.trained, whole.plan, whole.store, output)
    assert report is not None
    assert report.rows == 2 * ROWS_PER_FILE
    features, kinds = set(MODEL.features), {"ids", "values", "predictions"}
    asked = {(each.name, each.signature, each.batch_size) for each in report.comparisons}
    for size in BATCH_SIZES:
        assert {(name, signature, size) for name in features for signature in (FEATURES, EXAMPLE_FEATURES)} <= asked
        assert {(PREDICTION, SERVING, size), (PREDICTION, EXAMPLES, size)} <= asked
    assert {each.kind for each in report.comparisons} == kinds
    assert not report.differing
    assert all(each.compared >= each.batch_size for each in report.comparisons if each.kind == "predictions")
    return output


def test_it_serves_where_neither_our_code_nor_the_store_is(whole: Served, export: Path, tmp_path: Path) -> None:
    sample = sample_rows(whole.trained.bound, whole.plan, whole.store, 4096)
    alone = tmp_path / "server"
    alone.mkdir()
    shutil.copytree(export, alone / "model")
    requests = {
        SERVING: tensor_request(sample.inputs, sample.columns),
        FEATURES: tensor_request(sample.inputs, sample.columns),
        EXAMPLES: {EXAMPLES: example_request(sample.inputs, sample.columns)},
        EXAMPLE_FEATURES: {EXAMPLES: example_request(sample.inputs, sample.columns)},
    }
    sizes = (0, 1, 7, 4096)
    for signature, tensors in requests.items():
        for size in sizes:
            folder = alone / f"{signature}-{size}.request"
            folder.mkdir()
            for number, name in enumerate(sorted(tensors)):
                (folder / str(number)).write_bytes(tf.io.serialize_tensor(tensors[name][:size]).numpy())
    command = [sys.executable, "-I", "-c", SERVER, str(alone / "model"), str(alone)]
    ran = subprocess.run(command, cwd=alone, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr

    features = {name: column_of(value) for name, value in sample.features.items()}
    expected = predictions(whole.trained.model, sample).numpy()
    looked_up = {lookup.feature for lookup in whole.trained.model.definition.lookups}
    for size in sizes:
        for signature in (FEATURES, EXAMPLE_FEATURES):
            answer = _answer(alone, signature, size)
            wanted = named_tensors({name: value[:size] for name, value in sample.features.items()})
            assert set(answer) == set(wanted)
            for name in features:
                found = answered([answer], name)
                column = column_of(sample.features[name][:size])
                outcome = compare(name, "ids" if name in looked_up else "values", signature, size, found, column)
                assert not outcome.differing, outcome
        for signature in (SERVING, EXAMPLES):
            answer = _answer(alone, signature, size)
            assert set(answer) == {"prediction", "logit"}
            np.testing.assert_allclose(answer["prediction"].numpy(), expected[:size], rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(answer["prediction"].numpy(), tf.sigmoid(answer["logit"]).numpy())


def _answer(directory: Path, signature: str, size: int) -> dict[str, Any]:
    with np.load(directory / f"{signature}-{size}.npz", allow_pickle=False) as found:
        return {name: tf.constant(found[name]) for name in found}


def test_it_serves_in_a_session_as_tensorflow_serving_loads_it(whole: Served, export: Path) -> None:
    sample = sample_rows(whole.trained.bound, whole.plan, whole.store, 7)
    request = {name: tensor.numpy() for name, tensor in tensor_request(sample.inputs, sample.columns).items()}
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        graph = tf.compat.v1.saved_model.loader.load(session, ["serve"], str(export))
        signature = graph.signature_def[SERVING]
        feed = {signature.inputs[name].name: value for name, value in request.items()}
        found = session.run(signature.outputs[PREDICTION].name, feed)
    np.testing.assert_allclose(found, predictions(whole.trained.model, sample).numpy(), rtol=1e-5, atol=1e-6)


def test_only_columns_that_features_read_are_inputs_and_the_description_says_which(export: Path) -> None:
    described = json.loads((export / DESCRIPTION).read_text(encoding="utf-8"))
    columns = {entry["column"]: entry for entry in described["inputs"]}
    assert set(columns) == {"user", "item", "query", "words", "price", "score", "city", "seen", "flag", "at"}
    signature = tf.saved_model.load(str(export)).signatures[SERVING].structured_input_signature[1]
    tensors = {name: spec["dtype"] for entry in described["inputs"] for name, spec in entry["tensors"].items()}
    assert tensors == {name: spec.dtype.name for name, spec in signature.items()}
    assert columns["price"]["example"]["exact"]["name"] == "price__float64"
    assert columns["city"]["null"] is None
    assert columns["query"]["null"]["tensors"] == "query__present is false"
    assert set(described["features"]) == set(MODEL.features)
    assert described["features"]["pair"]["outputs"] == ["pair", "pair__lengths"]


def test_other_ids_and_other_parameters_are_noticed(whole: Served, export: Path) -> None:
    bound, definition = whole.trained.bound, whole.trained.model.definition
    # As if two features had changed places in the store, and the tables had changed since the export.
    swapped = dict(bound.features) | {"query": bound.features["pair"], "pair": bound.features["query"]}
    plan = make_plan([replace(bound, features=swapped)], whole.plan.dataset, whole.plan.manifest, whole.store)
    other = Model(replace(definition, train=replace(definition.train, seed=1)))
    with pytest.raises(ExportError, match="does not give what the model does") as raised:
        check_export(export, replace(whole.trained, model=other), plan, whole.store)
    message = str(raised.value)
    told = re.findall(r"^  (.*), signature '(\w+)', batches of (\d+): \d+ of \d+ differ", message, re.MULTILINE)
    expected = {("feature 'query' (ids)", FEATURES), ("feature 'pair' (ids)", EXAMPLE_FEATURES)}
    assert expected <= {(what, signature) for what, signature, _ in told}
    assert ("prediction (predictions)", SERVING, "4096") in told
    assert {what for what, _, _ in told} == {
        "feature 'query' (ids)",
        "feature 'pair' (ids)",
        "prediction (predictions)",
    }


def test_what_is_not_materialized_cannot_be_checked(whole: Served, tmp_path: Path) -> None:
    manifest, store = whole.plan.manifest, whole.store
    new = replace(manifest.entries[0], chunk=digest("new"))
    plan = make_plan([whole.trained.bound], whole.plan.dataset, replace(manifest, entries=(new,)), store)
    with pytest.raises(NotMaterializedError, match="`forebay materialize` computes them"):
        check_export(tmp_path, whole.trained, plan, store)


@pytest.mark.parametrize("there", ["file", "directory"])
def test_what_is_there_is_not_overwritten(there: str, tmp_path: Path) -> None:
    output = tmp_path / "out"
    if there == "file":
        output.write_text("mine")
    else:
        output.mkdir()
        (output / "mine").write_text("mine")
    with pytest.raises(OutputError, match="expected no directory or an empty one"), new_directory(output):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_output_is_whole_or_absent(tmp_path: Path) -> None:
    output = tmp_path / "deep" / "out"
    with pytest.raises(ZeroDivisionError), new_directory(output) as directory:  # noqa: PT012
        (directory / "half").write_text("half")
        raise ZeroDivisionError
    assert list(output.parent.iterdir()) == []
    output.mkdir()  # an empty one is taken
    with new_directory(output) as directory:
        (directory / "whole").write_text("whole")
        assert list(output.iterdir()) == []
    assert [path.name for path in output.iterdir()] == ["whole"]
    assert [path.name for path in output.parent.iterdir()] == ["out"]


def test_an_output_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"), new_directory(tmp_path / "file" / "out"):
        pass


def test_a_feature_named_as_the_lengths_of_another_is_refused() -> None:
    with pytest.raises(ExportError, match="'x__lengths': the second has the name of the first one's lengths"):
        named_tensors({"x": tf.ragged.constant([[1]]), "x__lengths": tf.constant([1])})
