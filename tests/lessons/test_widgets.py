"""The fault gallery: the doctor judges, every sentence is true, and the widget only fills a dict."""

import json
import re
from pathlib import Path

import ipywidgets
import matplotlib.pyplot as plt
import pytest

from course_utils.lessons import gallery, widgets
from course_utils.machine import doctor

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
RIGHT = {
    "A": "cuda.cpu_only_build",
    "B": "cuda.driver_library_mismatch",
    "C": "cuda.hidden_empty",
    "D": "cuda.ok",
    "E": "cuda.driver_too_old",
    "F": "cuda.container_without_gpu",
    "G": "cuda.context_poisoned",
    "H": "cuda.card_too_new",
}


def test_the_doctor_gives_each_machine_one_cause():
    assert gallery.right_diagnosis() == RIGHT


@pytest.mark.parametrize("fault", RIGHT)
def test_exactly_one_choice_is_right(fault):
    verdicts = {code: gallery.judge(fault, code) for code in gallery.choices(fault)}
    assert [code for code, verdict in verdicts.items() if verdict.right] == [RIGHT[fault]]
    assert len(verdicts) == 5
    found = gallery.finding(fault)
    assert found.cure in verdicts[RIGHT[fault]].text
    assert found.evidence[0] in verdicts[RIGHT[fault]].text
    for verdict in verdicts.values():
        assert "{" not in verdict.text and "unknown" not in verdict.text and "  " not in verdict.text


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        ("A", "('2.13.0', None)"),
        ("B", "(exit status 18)"),
        ("C", "CUDA_VISIBLE_DEVICES="),
        ("D", "tensor(8., device='cuda:0')"),
        ("E", "version 12020). Please update your GPU driver"),
        ("F", "nvidia-smi: command not found"),
        ("G", "RuntimeError: CUDA error: device-side assert triggered"),
        ("H", "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
    ],
)
def test_symptoms_show_the_decisive_line(fault, line):
    assert line in gallery.symptoms(fault).splitlines()


def test_messages_stand_where_torch_prints_them():
    lines = gallery.symptoms("F").splitlines()
    assert lines[lines.index(">>> torch.cuda.is_available()") + 1] == "False"
    assert lines[lines.index('>>> torch.ones(8, device="cuda").sum()') + 1].startswith("RuntimeError: Found no NVIDIA")
    lines = gallery.symptoms("H").splitlines()
    assert lines[lines.index(">>> torch.cuda.is_available()") + 1] == "True"
    after = lines[lines.index(">>> torch.cuda.get_device_capability()") + 1 :]
    assert after[0].startswith("UserWarning: NVIDIA GeForce RTX 5090") and after[2] == "(12, 0)"


@pytest.mark.parametrize(
    ("fault", "code", "text"),
    [
        ("A", "cuda.driver_too_old", "Here the driver's is 13.0, the wheel's is None."),
        ("B", "cuda.ok", "Something is wrong: torch.cuda.is_available() is False."),
        (
            "B",
            "cuda.driver_too_old",
            'Here nvidia-smi says "Failed to initialize NVML: Driver/library version mismatch',
        ),
        ("D", "cuda.driver_library_mismatch", "Here nvidia-smi works and lists Tesla T4."),
        ("F", "cuda.driver_missing", "Here /.dockerenv says that this is a container."),
        ("F", "cuda.driver_library_mismatch", "Here nvidia-smi is not there at all."),
        ("G", "cuda.driver_too_old", "Here a fresh process computes on the card."),
        ("H", "cuda.card_too_old", "Here it is 12.0, the list sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90."),
        ("H", "cuda.nouveau_loaded", "Its symptom would be"),
    ],
)
def test_a_wrong_choice_meets_the_evidence_against_it(fault, code, text):
    verdict = gallery.judge(fault, code)
    assert not verdict.right
    assert text in verdict.text


def test_unknown_names_are_refused_with_a_suggestion():
    with pytest.raises(ValueError, match=r"Do you mean 'cuda\.hidden_empty'\?"):
        gallery.judge("C", "cuda.hiddenempty")
    with pytest.raises(ValueError, match="no machine 'Z'"):
        gallery.symptoms("Z")


def parts(widget: ipywidgets.Widget) -> dict[str, ipywidgets.Widget]:
    """The gallery's widgets by what they are: buttons of the machines, causes, the button, the texts."""
    machines, screen, causes, row, verdict = widget.children
    return {
        "machines": machines,
        "screen": screen,
        "causes": causes,
        "button": row.children[0],
        "progress": row.children[1],
        "verdict": verdict,
    }


def test_the_widget_fills_the_dict_and_shows_the_verdict():
    answers: dict[str, str] = {}
    part = parts(widgets.gallery(answers))
    part["button"].click()
    assert part["verdict"].value == "Pick a cause first."
    assert answers == {}
    part["causes"].value = "myth.nvcc_missing"
    part["button"].click()
    assert answers == {"A": "myth.nvcc_missing"}
    assert "Not yet." in part["verdict"].value and "torch never looks for nvcc" in part["verdict"].value
    part["causes"].value = "cuda.cpu_only_build"
    part["button"].click()
    assert answers == {"A": "cuda.cpu_only_build"}
    assert "Right." in part["verdict"].value
    assert part["progress"].value == "<b>1 of 8 machines diagnosed</b>"


def test_the_widget_remembers_a_machine_and_escapes_its_text():
    answers = {"B": "cuda.driver_library_mismatch"}
    part = parts(widgets.gallery(answers))
    part["machines"].value = "B"
    assert part["causes"].value == "cuda.driver_library_mismatch"
    assert "Right." in part["verdict"].value
    part["machines"].value = "C"
    assert part["causes"].value is None
    assert part["verdict"].value == ""
    assert "&gt;&gt;&gt; torch.cuda.is_available()" in part["screen"].value
    assert answers == {"B": "cuda.driver_library_mismatch"}


def test_the_chain_shows_what_was_found_and_what_was_not():
    widgets.draw_chain(doctor.parse(doctor.examples()["cuda.ok"]["evidence"]))
    texts = [text.get_text() for text in plt.gca().texts]
    plt.close()
    assert "here: CUDA 13.0" in texts and "here: it works" in texts and "here: 2.13.0+cu130" in texts
    widgets.draw_chain(doctor.parse({"torch": {"version": "2.13.0+cpu", "cuda": None}}))
    texts = [text.get_text() for text in plt.gca().texts]
    plt.close()
    assert {"here: no answer", "here: none, a CPU build", "here: 2.13.0+cpu", "here: not tried"} <= set(texts)


@pytest.mark.parametrize("name", ["01_cuda_checks.ipynb", "02_headless_rendering.ipynb"])
def test_every_link_of_the_doctor_leads_somewhere_in_the_notebook(name):
    cells = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    targets = re.findall(r'<a id="([^"]+)"></a>', text)
    assert len(targets) == len(set(targets))
    catalogue = Path(doctor.__file__).with_name("catalogue")
    entries = [
        entry for path in catalogue.glob("*.json") for entry in json.loads(path.read_text(encoding="utf-8")).values()
    ]
    anchors = {entry["link"].partition("#")[2] for entry in entries if name in entry["link"]}
    assert anchors == set(targets)
