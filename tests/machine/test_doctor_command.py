"""`course doctor`: exit status, output and bad input."""

import io
import json
import re
from pathlib import Path

import pytest

from course_utils.machine.doctor import examples, main
from course_utils.machine.doctor.schema import FIELDS, flatten, pattern_of


def saved(tmp_path: Path, code: str) -> str:
    file = tmp_path / f"{code}.json"
    file.write_text(json.dumps(examples()[code]["evidence"]))
    return str(file)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("cuda.ok", 0),
        ("cuda.no_gpu", 0),
        ("memory.small", 0),
        ("cuda.unknown", 0),
        ("cuda.cpu_only_build", 1),
        ("disk.full", 1),
    ],
)
def test_exit_status_follows_the_severity(tmp_path: Path, code: str, status: int) -> None:
    assert main(["--facts", saved(tmp_path, code)]) == status


def test_text_shows_what_why_cure_and_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--facts", saved(tmp_path, "cuda.hidden_index")])
    text = capsys.readouterr().out
    assert text.startswith(
        "ERROR  CUDA_VISIBLE_DEVICES=7, but this machine has 1 card(s), counted from 0  [cuda.hidden_index]\n"
    )
    assert re.search(r"^  evidence  CUDA_VISIBLE_DEVICES='7'$", text, re.MULTILINE)
    assert re.search(r"^  cure      Set it to 0, or unset it\.", text, re.MULTILINE)
    assert re.search(r"^  read      notebooks/01_cuda_checks\.ipynb#hidden$", text, re.MULTILINE)
    assert text.splitlines()[-1] == "Verdict: 1 error. Start with cuda.hidden_index."


def test_verdict_without_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--facts", saved(tmp_path, "cuda.ok")])
    assert capsys.readouterr().out.splitlines()[-1] == "Verdict: nothing wrong found."


def test_json_holds_the_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "--facts", saved(tmp_path, "disk.full")]) == 1
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"schema", "setting", "verdict", "exit_code", "findings"}
    assert set(report["findings"][0]) == {"code", "severity", "title", "evidence", "cure", "link"}
    assert [finding["code"] for finding in report["findings"]] == ["disk.full"]
    assert report["exit_code"] == 1


def test_evidence_from_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(
        "sys.stdin", io.StringIO('{"error_text": "RuntimeError: CUDA error: device-side assert triggered"}')
    )
    assert main(["--facts", "-"]) == 1
    assert "[cuda.context_poisoned]" in capsys.readouterr().out


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"3", b'"text"', b"\xff\xfe\x00", b"[" * 100_000, b'{"a": ' * 100_000]
)
def test_bad_input_is_one_line_and_status_2(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "evidence.json"
    file.write_bytes(content)
    assert main(["--facts", str(file)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.strip().splitlines()) == 1
    assert str(file) in shown.err


@pytest.mark.parametrize("arguments", [["--facts", "/no/such/file"], ["--facts", "/"]])
def test_unreadable_file(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_save_into_a_missing_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--facts", saved(tmp_path, "cuda.ok"), "--save", str(tmp_path / "none" / "e.json")]) == 2
    assert "choose another folder" in capsys.readouterr().err


def test_one_bad_field_does_not_stop_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evidence = {**examples()["disk.full"]["evidence"], "torch": {"version": 2.13, "device_count": [1]}}
    file = tmp_path / "evidence.json"
    file.write_text(json.dumps(evidence))
    assert main(["--facts", str(file)]) == 1
    text = capsys.readouterr().out
    assert "[disk.full]" in text
    assert "torch.version should be string, found float" in text


def test_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    file.write_bytes(b"\xef\xbb\xbf{}")
    assert main(["--facts", str(file)]) == 0


def test_schema_describes_every_field_and_shows_every_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--schema"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert set(shown["fields"]) == set(FIELDS)
    for name, field in shown["fields"].items():
        assert set(field) == {"type", "nullable", "description", "source", "example"}, name
        assert field["description"] and field["source"]
    assert shown["examples"].keys() == examples().keys()
    for code, example in shown["examples"].items():
        assert example["symptom"], code
        if code != "evidence.unknown_fields":
            assert all(pattern_of(path) for path, _ in flatten(example["evidence"]))


def test_help_documents_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert '0  no finding of severity "error"' in capsys.readouterr().out
