"""C8: files written out as text in what a tool returned are taken out; no model pays to read them."""

import base64
import json
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playing import Echo, MemoryArtefacts, run

from orchestra_lib.bitmap import bitmap_type, is_whole
from orchestra_lib.chat import CallStyle, messages
from orchestra_lib.inline_file import MAX_FILES, take_out
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.protocols import Situation

NOISE = random.Random(8).randbytes(900)
PNG = b"\x89PNG\r\n\x1a\n" + NOISE + b"\x00\x00\x00\x00IEND\xaeB`\x82"
JPEG = b"\xff\xd8\xff\xe0" + NOISE + b"\xff\xd9"
GIF = b"GIF89a" + NOISE + b";"
WEBP = b"RIFF" + (4 + len(NOISE)).to_bytes(4, "little") + b"WEBP" + NOISE


def text_of(data):
    return base64.b64encode(data).decode()


def uri(data, kind="image/png"):
    return f"data:{kind};base64,{text_of(data)}"


LINES = base64.encodebytes(PNG).decode()


@pytest.mark.parametrize(
    "text, kind, data",
    [
        pytest.param(json.dumps({"plot": uri(PNG), "n": 3}), "image/png", PNG, id="C8 in JSON"),
        pytest.param(f"![plot]({uri(JPEG, 'image/jpeg')})", "image/jpeg", JPEG, id="in Markdown"),
        pytest.param(f"<img src='{uri(PNG, 'IMAGE/PNG;charset=x')}'>", "image/png", PNG, id="with a parameter"),
        pytest.param(json.dumps({"a": uri(JPEG)}).replace("/", "\\/"), "image/jpeg", JPEG, id="escaped slashes"),
        pytest.param(json.dumps({"image/png": text_of(PNG)}), "image/png", PNG, id="bare, as in a notebook"),
        pytest.param(json.dumps({"image/png": LINES}), "image/png", PNG, id="bare in lines within JSON"),
        pytest.param("the plot:\n" + LINES + "that was it", "image/png", PNG, id="bare in lines"),
        pytest.param(f"x {text_of(WEBP)} y", "image/webp", WEBP, id="bare webp"),
        pytest.param(uri(GIF, "image/png"), "image/gif", GIF, id="it says png and is gif"),
        pytest.param(uri(b"%PDF" + NOISE, "application/pdf"), "application/pdf", b"%PDF" + NOISE, id="no picture"),
        pytest.param(uri(b"<svg>" + NOISE, "image/svg+xml"), "application/octet-stream", b"<svg>" + NOISE, id="svg"),
        pytest.param("data:;base64," + text_of(NOISE), "application/octet-stream", NOISE, id="of no type"),
    ],
)
def test_a_file_written_in_base64_is_taken_out_whole(text, kind, data):
    said, (file,) = take_out(text)
    assert (file.media_type, file.data) == (kind, data)
    assert f"[{kind}, {len(data):,} bytes, kept as {file.name}]" in said
    assert len(said) < 150
    if text.startswith("{"):
        json.loads(said)


@pytest.mark.parametrize("behind", ["\nthat was it", "\n", '"}', "\n\nthat"])
def test_lines_of_a_mail_end_where_the_picture_ends(behind):
    for size in range(700, 758):  # every length of the last line
        data = PNG[:8] + NOISE[:size] + PNG[-12:]
        said, (file,) = take_out(base64.encodebytes(data).decode().rstrip("\n") + behind)
        assert file.data == data
        assert said == f"[image/png, {len(data)} bytes, kept as image-1.png]{behind}"


def test_the_words_around_it_stay():
    assert (
        take_out(f"before {uri(PNG)}\nafter")[0] == f"before [image/png, {len(PNG)} bytes, kept as image-1.png]\nafter"
    )


@pytest.mark.parametrize("kept", [0.5, 0.751])
@pytest.mark.parametrize("data", [PNG, JPEG, GIF, WEBP])
def test_half_a_picture_is_neither_kept_nor_read(data, kept):
    half = uri(data)[: int(len(uri(data)) * kept)]
    said, files = take_out(half)
    assert files == ()
    assert "cut off" in said
    assert len(said) < 80


@pytest.mark.parametrize(
    "text",
    [
        "data:image/png;base64,iVBORw0KGgo=",
        "see data:text/plain,hello and data:image/svg+xml;utf8,<svg>" + "x" * 500,
        "GATTACA" * 500,
        "9" * 5000,
        "ab01" * 1000,
        "UklGR" + "aB3/" * 200,
    ],
    ids=["tiny", "not base64", "genome", "number", "hex", "like one"],
)
def test_text_that_holds_no_file_is_left_alone(text):
    assert take_out(text) == (text, ())


def test_of_many_files_the_first_are_kept_and_the_same_one_once():
    many = [PNG[:20] + bytes([number]) + PNG[20:] for number in range(MAX_FILES + 3)]
    said, files = take_out(" ".join(uri(data) for data in [*many, many[0]]))
    assert [file.name for file in files] == [f"image-{number}.png" for number in range(1, MAX_FILES + 1)]
    assert (said.count("not kept"), said.count("kept as image-1.png")) == (3, 2)


@given(st.text(st.sampled_from("dat:;base64,/+=\\nA9jiVBORw0KGgo \r\n%2"), max_size=2000), st.binary(max_size=600))
def test_any_text_can_be_looked_through_and_only_shrinks(text, data):
    said, files = take_out(text + uri(data) + text)
    assert len(said) <= len(text + uri(data) + text)
    assert take_out(said)[1] == ()
    assert all(
        bitmap_type(file.data) == file.media_type and is_whole(file.data) for file in files if "image" in file.name
    )


def test_a_picture_of_a_megabyte_in_a_result_becomes_a_reference():
    """C8: the model reads type, size and name; the record holds a reference; the rest of the result stays."""
    picture = b"\x89PNG\r\n\x1a\n" + zlib.compress(random.Random(8).randbytes(1_100_000)) + b"IEND\xaeB`\x82"

    async def draw(_word):
        return json.dumps({"plot": uri(picture), "rows": 42})

    artefacts = MemoryArtefacts()
    trajectory = run(Scripted([[("echo", {"word": "x"})], "done"]), [Echo(work=draw)], artefacts=artefacts)
    seen = trajectory.calls[0].observation
    (ref,) = seen.artefacts
    assert (artefacts.get(ref.sha256), seen.full) == (picture, None)
    assert json.loads(seen.text)["rows"] == 42
    now = Situation(setting=trajectory.setting, turns=trajectory.turns, spent_usd=0.0, elapsed_s=0.0)
    history = messages(now, CallStyle.NATIVE)
    assert len(str(history)) < 5_000
    assert f"{len(picture):,} bytes" in str(history)
