from __future__ import annotations

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.fs
import pytest

from materialized import layout
from materialized.errors import FormatVersionError, NotAStoreError, ReadOnlyStoreError
from materialized.store import Store
from tests.materialized.file_systems import watched

ROOT = Path(__file__).parents[2]


def _local(folder: Path) -> Store:
    return Store.create(folder / "store")


def _file_uri(folder: Path) -> Store:
    return Store.create((folder / "store").as_uri())


def _sub_tree(folder: Path) -> Store:
    return Store.create("store", filesystem=pyarrow.fs.SubTreeFileSystem(str(folder), pyarrow.fs.LocalFileSystem()))


def _root_of_sub_tree(folder: Path) -> Store:
    return Store.create("", filesystem=pyarrow.fs.SubTreeFileSystem(str(folder), pyarrow.fs.LocalFileSystem()))


def _handler(folder: Path) -> Store:
    return Store.create("store", filesystem=watched(str(folder))[0])


@pytest.fixture(params=[_local, _file_uri, _sub_tree, _root_of_sub_tree, _handler])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return request.param(tmp_path)


class TestContract:
    def test_a_file_is_written_once(self, store: Store) -> None:
        assert store.write_once("a/b/c", b"first")
        assert not store.write_once("a/b/c", b"second")
        assert store.read("a/b/c") == b"first"

    def test_an_empty_file_is_a_file(self, store: Store) -> None:
        assert store.write_once("a/empty", b"")
        assert store.exists("a/empty")
        assert store.read("a/empty") == b""

    def test_a_listing_has_keys_in_order_and_nothing_unfinished(self, store: Store) -> None:
        for name in ("b", "a", "10", "9"):
            store.write_once(f"folder/{name}", b"x")
        assert store.list("folder") == ("folder/10", "folder/9", "folder/a", "folder/b")
        assert store.list("nothing/here") == ()

    def test_what_is_not_there_is_not_found(self, store: Store) -> None:
        assert not store.exists("a")
        store.write_once("a/b", b"x")
        assert not store.exists("a")
        with pytest.raises(FileNotFoundError):
            store.read("a/c")

    def test_a_file_is_read_at_random(self, store: Store) -> None:
        store.write_once("a/b", bytes(range(100)))
        with store.open_file("a/b") as file:
            file.seek(50)
            assert file.read(3) == bytes([50, 51, 52])

    def test_a_writable_store_says_so(self, store: Store) -> None:
        store.require_writable()
        assert store.writable

    def test_probing_leaves_nothing_behind(self, store: Store) -> None:
        store.require_writable()
        assert store.files.list(layout.TEMPORARY) == ()


def test_a_store_on_a_file_system_in_memory() -> None:
    filesystem = pyarrow.fs._MockFileSystem()
    store = Store.create("bucket/store", filesystem=filesystem)
    assert store.write_once("a/b", b"1")
    assert Store.open("bucket/store", filesystem=filesystem).read("a/b") == b"1"


def test_creating_twice_opens_the_first(tmp_path: Path) -> None:
    Store.create(tmp_path / "store").write_once("a/b", b"1")
    assert Store.create(tmp_path / "store").read("a/b") == b"1"
    assert json.loads((tmp_path / "store" / "store.json").read_text()) == {"format": 1}


def test_a_store_goes_to_other_processes(tmp_path: Path) -> None:
    store = _local(tmp_path)
    store.write_once("a/b", b"1")
    assert pickle.loads(pickle.dumps(store)).read("a/b") == b"1"
    assert pickle.loads(pickle.dumps(_sub_tree(tmp_path))).read("a/b") == b"1"


def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store.create("store")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert store.exists(layout.STORE_FILE)


class TestWrongPlaces:
    def test_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(NotAStoreError, match=r"absent: expected a store, found nothing"):
            Store.open(tmp_path / "absent")

    def test_a_folder_of_something_else_stays_as_it_is(self, tmp_path: Path) -> None:
        (tmp_path / "holiday.jpg").write_bytes(b"x")
        with pytest.raises(NotAStoreError, match=r"without store.json, with 'holiday.jpg' in it"):
            Store.open(tmp_path, create=True)
        assert os.listdir(tmp_path) == ["holiday.jpg"]

    def test_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"x")
        with pytest.raises(NotAStoreError, match="found a file"):
            Store.open(tmp_path / "file", create=True)

    @pytest.mark.parametrize("text", ["", "[]", "{}", "not json"])
    def test_a_store_file_that_is_none(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "store.json").write_text(text)
        with pytest.raises(NotAStoreError, match="found no format version in"):
            Store.open(tmp_path)

    def test_another_format_version(self, tmp_path: Path) -> None:
        (tmp_path / "store.json").write_text('{"format": 2}')
        with pytest.raises(FormatVersionError, match=r"found a store of format version 2, expected 1"):
            Store.open(tmp_path, create=True)

    def test_an_unknown_scheme(self) -> None:
        with pytest.raises(NotAStoreError, match="ftp://host/store: expected a local path, gs:// or s3://"):
            Store.open("ftp://host/store")


class TestReadOnly:
    def test_an_object_store_that_refuses(self, tmp_path: Path) -> None:
        _sub_tree(tmp_path).write_once("a/b", b"1")
        store = Store.open("store", filesystem=watched(str(tmp_path), writable=False)[0])
        assert store.read("a/b") == b"1"
        assert not store.writable
        with pytest.raises(ReadOnlyStoreError, match=r"store: the store cannot be written.*for reading"):
            store.require_writable()
        with pytest.raises(ReadOnlyStoreError):
            store.write_once("a/c", b"1")

    def test_a_local_folder(self, tmp_path: Path) -> None:
        _local(tmp_path).write_once("a/b", b"1")
        script = f"""
            import os, sys
            sys.path.insert(0, {str(ROOT)!r})
            from materialized.errors import ReadOnlyStoreError
            from materialized.store import Store
            if os.getuid() == 0:  # whom permissions do not bind
                os.setgid(65534)
                os.setuid(65534)
            store = Store.open("store", create=True)
            print(store.read("a/b"), store.writable)
            for attempt in (store.require_writable, lambda: store.write_once("a/c", b"")):
                try:
                    attempt()
                except ReadOnlyStoreError as error:
                    print(error)
        """
        for folder in (tmp_path / "store" / "a", tmp_path / "store"):
            folder.chmod(0o555)
        (tmp_path / "store" / layout.TEMPORARY).chmod(0o555)
        parents = [parent for parent in (tmp_path, *tmp_path.parents) if parent.stat().st_uid == os.getuid()]
        modes = {parent: parent.stat().st_mode for parent in parents}
        try:
            for parent in parents:
                parent.chmod(modes[parent] | 0o055)
            found = _run(script, tmp_path)
        finally:
            for parent, mode in modes.items():
                parent.chmod(mode)
            (tmp_path / "store").chmod(0o755)
            (tmp_path / "store" / "a").chmod(0o755)
            (tmp_path / "store" / layout.TEMPORARY).chmod(0o755)
        assert found[0] == "b'1' False"
        assert len(found) == 3
        assert all("the store cannot be written" in line and "Permission denied" in line for line in found[1:])


def _script(text: str) -> list[str]:
    lines = text.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    return [sys.executable, "-c", "\n".join(line[indent:] for line in lines)]


def _run(text: str, folder: Path) -> list[str]:
    done = subprocess.run(_script(text), cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


WRITER = f"""
    import sys
    sys.path.insert(0, {str(ROOT)!r})
    from materialized.store import Store
    folder, name, size, count = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3]), int(sys.argv[4])
    store = Store.create(folder)
    for index in range(count):
        if store.write_once(f"files/{{index:06d}}", name * size):
            print(index, flush=True)
"""


def test_a_writer_that_is_killed_leaves_whole_files_or_none(tmp_path: Path) -> None:
    size = 2_000_000
    delays = random.Random(20)
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        command = [*_script(WRITER), str(folder), "x", str(size), "1000000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline()  # it is at work
            time.sleep(delays.uniform(0, 0.05))
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        store = Store.open(folder)
        keys = store.list("files")
        assert keys
        assert {len(store.read(key)) for key in keys} == {size}
        assert store.write_once(f"files/{len(keys):06d}", b"the next writer goes on")


def test_a_file_that_the_disk_does_not_take_is_an_error_of_its_own(tmp_path: Path) -> None:
    script = f"""
        import resource, sys
        sys.path.insert(0, {str(ROOT)!r})
        from materialized.errors import WriteError
        from materialized.store import Store
        store = Store.create("store")
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            store.write_once("a/b", bytes(2000))
        except WriteError as error:
            print(error)
        print(store.exists("a/b"), store.files.list("tmp"), store.write_once("a/b", bytes(999)))
    """
    assert _run(script, tmp_path) == ["store: cannot write a/b of 2,000 bytes: File too large", "False () True"]


def test_of_two_writers_at_once_one_wins_each_file_and_it_stays(tmp_path: Path) -> None:
    count, size = 150, 50_000
    commands = [[*_script(WRITER), str(tmp_path / "store"), name, str(size), str(count)] for name in "ab"]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    won = [{int(line) for line in writer.communicate()[0].split()} for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert not won[0] & won[1]
    assert won[0] | won[1] == set(range(count))
    store = Store.open(tmp_path / "store")
    for index in range(count):
        assert store.read(f"files/{index:06d}") == (b"a" if index in won[0] else b"b") * size
    assert store.files.list(layout.TEMPORARY) == ()


def test_keys_are_made_of_digests() -> None:
    with pytest.raises(ValueError, match="made of digests"):
        layout.chunk_file("../../etc", "a" * 64, "parquet")
    assert ".." not in layout.pin("../..", 1)
