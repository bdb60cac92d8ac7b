"""The doctor's own rules: one cause for one fault, advice that fits the platform, and no evidence that breaks it."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from course_utils.machine.doctor import diagnose, examples, parse, smi, texts, wheels
from course_utils.machine.doctor.facts import RENTED
from course_utils.machine.doctor.findings import SEVERITIES, catalogue
from course_utils.machine.doctor.schema import FIELDS, Reader, flatten, pattern_of

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "cases" / "nvidia_smi"
CODES = sorted(catalogue())
FOREIGN_ADVICE = re.compile(r"(install|upgrade|update|newer)( \w+){0,3} drivers?\b|sudo apt|modprobe|mokutil")
WRONG_VALUES: list[Any] = [None, "", "text", "9" * 5000, 0, -1, 2.5, True, [], [None, {}], {}, {"x": 1}, "\x00\ud800"]


def causes(evidence: dict[str, Any]) -> list[str]:
    return [finding.code for finding in diagnose(parse(evidence)) if finding.severity not in ("ok", "info")]


@pytest.mark.parametrize("code", CODES)
def test_example_leads_to_its_code_and_to_no_other_cause(code: str) -> None:
    found = diagnose(parse(examples()[code]["evidence"]))
    if catalogue()[code]["severity"] in ("ok", "info"):
        assert code in [finding.code for finding in found]
        assert causes(examples()[code]["evidence"]) == []
    else:
        assert causes(examples()[code]["evidence"]) == [code]


def test_entries_are_complete() -> None:
    for code, entry in catalogue().items():
        assert_complete(code, entry)


def assert_complete(code: str, entry: dict[str, Any]) -> None:
    assert set(entry) == {"severity", "title", "cure", "link", "symptom", "evidence"}
    assert entry["severity"] in SEVERITIES
    assert "default" in entry["cure"]
    assert re.fullmatch(r"notebooks/0[12]_\w+\.ipynb#[a-z-]+", entry["link"])
    for finding in diagnose(parse(entry["evidence"])):
        assert not re.search(r"\{\w+\}", finding.title + finding.cure)
        if finding.code == code:
            assert finding.evidence and all(line.strip() for line in finding.evidence)
            assert "unknown)" not in finding.title


@pytest.mark.parametrize("platform", [*RENTED, "container"])
def test_nobody_is_sent_to_change_a_driver_that_is_not_theirs(platform: str) -> None:
    for code in CODES:
        if code.startswith(("cuda.", "torch.", "container.")) and "wsl" not in code:
            evidence = json.loads(json.dumps(examples()[code]["evidence"]))
            evidence.setdefault("platform", {})["name"] = platform
            for finding in diagnose(parse(evidence)):
                assert not FOREIGN_ADVICE.search(finding.cure), (code, finding)


def test_every_link_leads_to_an_anchor_in_a_notebook() -> None:
    links = {entry["link"] for entry in catalogue().values()}
    targets = set()
    for notebook in {link.partition("#")[0] for link in links}:
        for cell in json.loads((ROOT / notebook).read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                names = re.findall(r'<a id="([^"]+)"></a>', "".join(cell["source"]))
                targets |= {f"{notebook}#{name}" for name in names}
    assert sorted(links - targets) == []


def test_display_faults_leave_torch_alone() -> None:
    for code in CODES:
        if code.startswith(("display.", "opencv.", "video.", "font.")):
            assert "torch" not in " ".join(catalogue()[code]["cure"].values()), code


def test_small_shared_memory_is_not_blamed_on_the_batch() -> None:
    assert "batch" not in " ".join(catalogue()["memory.shared_memory_small"]["cure"].values())


def mutations(evidence: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the evidence with each field left out, and with each field and section replaced by wrong values."""
    text = json.dumps(evidence)
    for section, inner in evidence.items():
        for name in inner if isinstance(inner, dict) else ():
            changed = json.loads(text)
            del changed[section][name]
            yield changed
            for value in WRONG_VALUES:
                changed = json.loads(text)
                changed[section][name] = value
                yield changed
        for value in WRONG_VALUES:
            yield {**json.loads(text), section: value}


@pytest.mark.parametrize("code", CODES)
def test_mutated_evidence_never_raises(code: str) -> None:
    for evidence in mutations(examples()[code]["evidence"]):
        for finding in diagnose(parse(evidence)):
            assert finding.severity in SEVERITIES
            assert finding.cure


def test_every_field_of_a_wrong_type_is_named() -> None:
    for path, field in FIELDS.items():
        if "*" in path:
            continue
        *sections, name = path.split(".")
        value = {"string": 7, "boolean": "yes", "integer": "three", "list": "one"}[field.type]
        evidence = {sections[0]: {name: value}} if sections else {name: value}
        assert parse(evidence).unreadable, path
        assert "evidence.unreadable" in causes(evidence)


def test_random_mixtures_name_one_cause_in_the_cuda_chain() -> None:
    generator = random.Random(3)
    pool = [entry["evidence"] for code, entry in catalogue().items() if code.startswith("cuda.")]
    for _ in range(1500):
        mixed: dict[str, Any] = {}
        for evidence in generator.sample(pool, 3):
            for section, inner in evidence.items():
                if isinstance(inner, dict) and isinstance(mixed.get(section), dict):
                    mixed[section] = {**mixed[section], **inner}
                else:
                    mixed[section] = inner
        found = [code for code in causes(mixed) if code.startswith(("cuda.", "container."))]
        working = {"cuda.ok", "cuda.mig_slices", "cuda.ecc_errors", "cuda.card_reports_errors", "cuda.unknown"}
        assert len(set(found) - working) <= 1, found


def test_independent_faults_are_both_named() -> None:
    evidence = {**examples()["cuda.cpu_only_build"]["evidence"], **examples()["disk.full"]["evidence"]}
    assert sorted(causes(evidence)) == ["cuda.cpu_only_build", "disk.full"]


def test_worst_comes_first() -> None:
    evidence = {
        **examples()["font.cjk_missing"]["evidence"], **examples()["disk.low"]["evidence"],
        **examples()["cuda.hidden_empty"]["evidence"],
    }  # fmt: skip
    order = [finding.severity for finding in diagnose(parse(evidence))]
    assert order == ["error", "warning", "info"]


@pytest.mark.parametrize(
    ("file", "driver", "cuda", "names", "memory"),
    [
        ("driver_390_gtx_1060.txt", (390, 116), None, ["GeForce GTX 106..."], [(395, 6075)]),
        ("driver_470_v100_two_cards.txt", (470, 82, 1), (11, 4), ["Tesla V100-SXM2..."] * 2,
         [(0, 16160), (15020, 16160)]),
        ("driver_535_a100_mig.txt", (535, 183, 1), (12, 2), ["NVIDIA A100-SXM4-40GB"], [(25, 40960)]),
        ("driver_570_rtx_5090_err.txt", (570, 86, 16), (12, 8), ["NVIDIA GeForce RTX 5090", "NVIDIA GeForce RTX 4090"],
         [(2, 32607), (2, 24564)]),
        ("driver_580_t4.txt", (580, 95, 5), (13, 0), ["Tesla T4"], [(0, 15360)]),
        ("windows_program_in_wsl.txt", (581, 57), (13, 0), ["NVIDIA GeForce RTX 3060"], [(1021, 12288)]),
    ],
)  # fmt: skip
def test_nvidia_smi_table(file: str, driver: Any, cuda: Any, names: Any, memory: Any) -> None:
    text = (FOLDER / file).read_text(encoding="utf-8")
    seen = smi.read(Reader({"nvidia_smi": {"text": text, "exit_code": 0}}))
    assert (seen.state, seen.driver, seen.cuda) == ("ok", driver, cuda)
    assert [card.name for card in seen.cards] == names
    assert [(card.memory_used, card.memory_total) for card in seen.cards] == memory


def test_nvidia_smi_details() -> None:
    def read(file: str, listing: str = "") -> smi.Smi:
        evidence = {"nvidia_smi": {"text": (FOLDER / file).read_text(encoding="utf-8"), "exit_code": 0}}
        if listing:
            evidence["nvidia_smi_list"] = {"text": (FOLDER / listing).read_text(encoding="utf-8")}
        return smi.read(Reader(evidence))

    assert read("driver_470_v100_two_cards.txt").ecc_errors == 12
    assert read("driver_570_rtx_5090_err.txt").errors_shown
    assert [card.compute_mode for card in read("driver_570_rtx_5090_err.txt").cards] == ["Default", "Prohibited"]
    sliced = read("driver_535_a100_mig.txt", "driver_535_a100_mig_list.txt")
    assert sliced.mig_enabled
    assert [name[:12] for name in sliced.cards[0].slices] == ["MIG-0f3e2d1c", "MIG-7e6d5c4b"]
    assert not read("driver_580_t4.txt").mig_enabled
    renamed = {"text": "| NVIDIA-SMI 590.48.01   KMD Version: 590.48.01   CUDA UMD Version: 13.1 |", "exit_code": 0}
    assert smi.read(Reader({"nvidia_smi": renamed})).driver == (590, 48, 1)
    assert smi.read(Reader({"nvidia_smi": renamed})).cuda == (13, 1)


def test_versions() -> None:
    assert texts.encoded_version("(found version 10010)") == (10, 1)
    assert texts.encoded_version("found version 9020") == (9, 2)
    assert texts.encoded_version("found version 12040") == (12, 4)
    assert texts.tag_cuda("cu117") == (11, 7)
    assert texts.tag_cuda("cu92") == (9, 2)
    assert texts.tag_cuda("cu130") == (13, 0)
    assert texts.tag_cuda("cpu") is None
    assert [texts.capability(word) for word in ("sm_75", "compute_90", "sm_120", "8.6", "(8, 9)", "sm_90a")] == [
        (7, 5), (9, 0), (12, 0), (8, 6), (8, 9), (9, 0)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("card", "kernels", "answer"),
    [
        ((8, 6), "sm_75 sm_80 sm_90", "yes"),  # same major version, later minor version
        ((8, 0), "sm_75 sm_86 sm_90", "no"),  # a later minor version's binary does not run
        ((12, 0), "sm_80 sm_90 compute_90", "yes"),  # compiled at first use
        ((12, 0), "sm_80 sm_90 sm_90a compute_90a", "card too new"),  # code for exactly one card
        ((9, 0), "sm_80 sm_90a", "yes"),
        ((6, 1), "sm_75 sm_80", "card too old"),
        ((6, 1), "", None),
    ],
)
def test_kernels(card: Any, kernels: str, answer: str | None) -> None:
    assert wheels.kernels_for(card, tuple(kernels.split()), None) == answer


@pytest.mark.parametrize(
    ("driver", "card", "index"),
    [
        ((580, 95), (7, 5), "cu130"), ((580, 95), (12, 0), "cu130"), ((580, 95), (7, 0), "cu126"),
        ((550, 54), (8, 6), "cu126"), ((570, 86), (12, 0), "cu128"), ((470, 82), (7, 0), "cpu"),
        ((580, 95), (3, 7), "cpu"), (None, (6, 1), "cu126"), (None, None, "cu130"),
    ],
)  # fmt: skip
def test_wheel_index(driver: Any, card: Any, index: str) -> None:
    assert wheels.index_for(driver, card) == index


@pytest.mark.parametrize(
    ("driver", "driver_cuda", "cuda", "runs"),
    [
        ((525, 60, 13), None, (12, 6), True), ((520, 61), None, (12, 6), False), ((470, 82), (11, 4), (11, 8), True),
        ((470, 82), (11, 4), (12, 6), False), ((580, 65, 6), None, (13, 0), True), ((575, 51), None, (13, 0), False),
        ((410, 104), (10, 0), (10, 2), False), (None, (13, 0), (12, 8), True), (None, None, (12, 8), None),
    ],
)  # fmt: skip
def test_driver_age(driver: Any, driver_cuda: Any, cuda: Any, runs: bool | None) -> None:
    assert wheels.driver_runs(driver, driver_cuda, cuda) is runs


def test_schema_describes_the_examples() -> None:
    for code, entry in examples().items():
        if code not in ("evidence.unknown_fields",):
            assert [path for path, _ in flatten(entry["evidence"]) if pattern_of(path) is None] == [], code


def test_a_field_left_out_is_unknown_and_a_null_is_an_answer() -> None:
    assert parse({"torch": {"version": "2.13.0"}}).torch_has_cuda is None
    assert parse({"torch": {"version": "2.13.0", "cuda": None}}).torch_has_cuda is False
    nothing = vars(parse({}))
    assert [name for name, value in nothing.items() if value is False] == ["wsl"]
    told = {name: value for name, value in nothing.items() if value not in (None, False, "", (), [], {})}
    assert told == {"empty": True, "platform": "local", "smi": smi.Smi()}
