"""Artefacts: kept once, whole, under their hash, and nowhere else."""

import hashlib

import pytest

from orchestra_lib.errors import BadInput, StoreFault
from orchestra_lib.store.artefacts import Artefacts
from orchestra_lib.tool import File

PNG = File(name="plot.png", media_type="image/png", data=b"\x89PNG figure")


def test_a_file_comes_back_under_its_hash(tmp_path):
    ref = Artefacts(tmp_path).put(PNG)
    assert ref.sha256 == hashlib.sha256(PNG.data).hexdigest()
    assert (ref.name, ref.media_type, ref.size_bytes) == ("plot.png", "image/png", len(PNG.data))
    assert Artefacts(tmp_path).get(ref.sha256) == PNG.data


def test_the_same_content_is_kept_once_and_no_temporary_file_stays(tmp_path):
    store = Artefacts(tmp_path)
    for name in ("a.png", "../../b.png"):
        store.put(File(name=name, media_type="image/png", data=PNG.data))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.name for path in files] == [hashlib.sha256(PNG.data).hexdigest()]


@pytest.mark.parametrize("name", ["", "..", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 64 + "\n", "g" * 64])
def test_what_is_no_hash_never_reaches_the_disk(tmp_path, name):
    with pytest.raises(BadInput, match="64 hexadecimal digits"):
        Artefacts(tmp_path).get(name)


def test_an_unknown_hash_is_named(tmp_path):
    with pytest.raises(BadInput, match="no artefact aaaa"):
        Artefacts(tmp_path).get("a" * 64)


def test_a_file_over_the_cap_is_refused_before_it_is_written(tmp_path):
    with pytest.raises(StoreFault, match="at most 4"):
        Artefacts(tmp_path, max_bytes=4).put(PNG)
    assert not list(tmp_path.iterdir())


def test_damage_on_disk_is_noticed_and_a_cut_file_is_replaced(tmp_path):
    store = Artefacts(tmp_path)
    ref = store.put(PNG)
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    path.write_bytes(PNG.data[:4])
    with pytest.raises(StoreFault, match="damaged"):
        store.get(ref.sha256)
    store.put(PNG)
    assert store.get(ref.sha256) == PNG.data


def test_a_folder_that_cannot_be_made_is_a_fault_not_a_traceback(tmp_path):
    (tmp_path / "artefacts").write_text("a file where the folder should be")
    with pytest.raises(StoreFault, match="cannot keep"):
        Artefacts(tmp_path).put(PNG)
