import logging
import signal

import apache_beam as beam
import pytest

from pipelines.failures import FAILURES, FailingDoFn
from pipelines.runner import RunnerOptions, run_job
from transforms.errors import ForebayError, InputError


class Careful(FailingDoFn):
    """Refuses 2 and 3 as input, and cannot do 4."""

    def results(self, element):
        if element in (2, 3):
            raise InputError(f"{element} is no good")
        if element == 4:
            raise ForebayError("4 is there, but broken")
        yield element


def build(*elements):
    return lambda pipeline: (
        pipeline | beam.Create(elements) | beam.Reshuffle() | beam.ParDo(Careful()).with_outputs(FAILURES, main="done")
    )[FAILURES]


@pytest.mark.parametrize("options", [RunnerOptions(), RunnerOptions(workers=2)])
def test_mistakes_come_out_as_themselves(options):
    with pytest.raises(InputError) as caught:
        run_job(build(1, 2, 3, 2), options)
    assert str(caught.value) == "2 is no good\n3 is no good"
    assert caught.value.__cause__ is None


def test_what_is_not_the_input_decides_the_kind():
    with pytest.raises(ForebayError) as caught:
        run_job(build(2, 4), RunnerOptions())
    assert not isinstance(caught.value, InputError)
    assert str(caught.value) == "4 is there, but broken\n2 is no good"


def test_without_mistakes_nothing_is_raised_or_logged(caplog):
    levels = {name: logging.getLogger(name).level for name in ("apache_beam", "root")}
    run_job(build(1, 5), RunnerOptions())
    assert caplog.text == ""
    assert levels == {name: logging.getLogger(name).level for name in levels}


def interrupted(element):
    signal.raise_signal(signal.SIGINT)
    yield element


def test_an_interrupt_that_meets_a_worker_stays_one(caplog):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_job(
            lambda pipeline: (
                pipeline | beam.Create([1]) | beam.ParDo(interrupted).with_outputs(FAILURES, main="done")
            )[FAILURES],
            RunnerOptions(),
        )
    assert caplog.text == ""
    assert signal.getsignal(signal.SIGINT) is before


def test_options_of_other_runners_are_taken():
    flags = ("--project=p", "--region=europe-west1", "--temp_location=gs://b/t", "--setup_file=./setup.py")
    found = RunnerOptions("DataflowRunner", flags=flags).pipeline_options().get_all_options()
    assert (found["region"], found["setup_file"]) == ("europe-west1", "./setup.py")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "at least 1 worker"),
        ({"mode": "fibers"}, "threads or processes, found 'fibers'"),
        ({"runner": "directrunner"}, r"found 'directrunner' \(did you mean 'DirectRunner'\?\)"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(InputError, match=message):
        RunnerOptions(**options)


def test_an_option_that_beam_does_not_have():
    with pytest.raises(InputError, match=r"Beam has no option --regoin \(did you mean 'region'\?\)"):
        RunnerOptions(flags=("--regoin=x",)).pipeline_options()
    with pytest.raises(InputError, match="expected an option of Beam's, as --region=europe-west1, found 'region=x'"):
        RunnerOptions(flags=("--region=y", "region=x")).pipeline_options()
    assert RunnerOptions(flags=("--region", "x")).pipeline_options().get_all_options()["region"] == "x"


def test_remote_workers_need_a_place_for_failures():
    with pytest.raises(InputError, match="needs --temp_location"):
        run_job(build(1), RunnerOptions("PortableRunner"))
