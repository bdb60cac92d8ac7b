"""JupyterLab in a real Chromium: notebooks run, the fault gallery answers, the training dashboard moves."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright import sync_api as playwright

ROOT = Path(__file__).parents[2]
ARTIFACTS = ROOT / "build" / "artifacts"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
SECONDS = 90
SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    # Without this JupyterLab draws only the cells near the visible part of the page.
    "notebook-extension/tracker": {"windowingMode": "none"},
}
IDLE = "() => jupyterapp?.shell.currentWidget?.context?.sessionContext?.session?.kernel?.status === 'idle'"
OUTPUTS = """() => jupyterapp.shell.currentWidget.content.widgets.filter(cell => cell.model.type === 'code').map(
    cell => ({id: cell.model.id, outputs: cell.model.outputs.toJSON()}))"""
RUN_CELL = """async id => {
    const notebook = jupyterapp.shell.currentWidget.content;
    notebook.activeCellIndex = notebook.widgets.findIndex(cell => cell.model.id === id);
    await jupyterapp.commands.execute('notebook:run-cell');
}"""
TRAINING = """
import dataclasses, os
os.environ["COURSE_SCALE"] = "standard"  # smoke, which the server sets, draws the end only
from course_utils import lessons
from course_utils.agents.ppo import train
from course_utils.agents.ppo_config import PONG_PPO
from course_utils.lessons.dashboard import TrainingDashboard
lessons.start()
config = dataclasses.replace(PONG_PPO, envs=8, steps=64, epochs=1, total_steps=100_000_000)
agent = train(config, on_update=TrainingDashboard(price_per_hour=1.58, currency="CNY"))
print(f"interrupted: {agent.interrupted}")
"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Iterator[str]:
    """Serve a copy of the notebooks with settings and folders of their own; the address of the server."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "notebooks", folder / "notebooks")
    notebook = nbformat.read(folder / "notebooks" / "00_start_here.ipynb", 4)  # for its kernel
    notebook.cells = [nbformat.v4.new_code_cell(TRAINING)]
    nbformat.write(notebook, folder / "notebooks" / "training.ipynb")
    for name, settings in SETTINGS.items():
        path = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))
    folders = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_RUNTIME_DIR": "runtime", "JUPYTERLAB_SETTINGS_DIR": "settings"}
    folders |= {"JUPYTERLAB_WORKSPACES_DIR": "workspaces", "COURSE_HOME": "home", "IPYTHONDIR": "ipython"}
    environment = os.environ | {name: str(folder / place) for name, place in folders.items()}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}"]
    command += ["--allow-root", "--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True"]
    command += ["--ServerApp.port_retries=0", f"--ServerApp.root_dir={folder / 'notebooks'}"]
    log = ARTIFACTS / "jupyterlab.log"
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        server = subprocess.Popen(
            command, env=environment | {"COURSE_SCALE": "smoke"}, stdout=output, stderr=output, start_new_session=True
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(address, server, log)
        yield address
    finally:
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if server.poll() is None:
                server.send_signal(number)
                try:
                    server.wait(10 if number != signal.SIGINT else 1)
                except subprocess.TimeoutExpired:
                    continue


def _wait_for(address: str, server: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"{address}/api", timeout=5).close()
            return
        except OSError:
            if server.poll() is not None:
                break
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


@pytest.fixture
def page(tmp_path):
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch_persistent_context(
            tmp_path / "profile", executable_path=CHROMIUM, args=FLAGS, viewport={"width": 1280, "height": 1000}
        )
        page = browser.pages[0]
        page.set_default_timeout(SECONDS * 1000)
        playwright.expect.set_options(timeout=30_000)
        yield page
        browser.close()


def open_notebook(page, lab: str, name: str) -> None:
    page.goto(f"{lab}/lab/tree/{name}?reset", wait_until="domcontentloaded")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function(IDLE)


def run_notebook(page, lab: str, name: str) -> None:
    """Open a notebook, run all its cells and assert that none raised."""
    open_notebook(page, lab, name)
    page.evaluate("() => jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(IDLE)
    outputs = {cell["id"]: cell["outputs"] for cell in page.evaluate(OUTPUTS)}
    errors = [output for cell in outputs.values() for output in cell if output["output_type"] == "error"]
    assert not errors, errors[0]
    assert "points" in text_of(outputs["report"])


def text_of(outputs: list[dict]) -> str:
    return "".join("".join(output.get("text", "")) for output in outputs)


def screenshot(page, name: str, selector: str | None = None) -> None:
    page.wait_for_timeout(500)  # let the page finish its scrolling; nothing is asserted on it
    if selector:
        page.locator(selector).first.screenshot(path=ARTIFACTS / f"{name}.png")
    else:
        page.screenshot(path=ARTIFACTS / f"{name}.png")


def test_start_here_opens_and_runs(page, lab):
    run_notebook(page, lab, "00_start_here.ipynb")
    heading = page.locator("h1", has_text="00 · Start here")
    heading.scroll_into_view_if_needed()
    playwright.expect(heading).to_be_visible()
    screenshot(page, "00_start_here")


def test_the_gallery_judges_a_diagnosis(page, lab):
    run_notebook(page, lab, "01_cuda_checks.ipynb")
    screen, verdict, progress = (page.locator(f".gallery-{name}").first for name in ("screen", "verdict", "progress"))
    progress.scroll_into_view_if_needed()
    playwright.expect(progress).to_have_text("0 of 8 machines diagnosed")

    page.get_by_role("button", name="C", exact=True).click()
    playwright.expect(screen).to_contain_text("Some example from the web ran first.")
    page.get_by_text("this torch was built without CUDA", exact=True).click()
    page.get_by_role("button", name="Diagnose").click()
    playwright.expect(verdict).to_contain_text("Not yet.")
    playwright.expect(verdict).to_contain_text("Here it is 13.0.")
    playwright.expect(progress).to_have_text("0 of 8 machines diagnosed")

    # By keyboard: the space bar. Enter and the arrow keys belong to JupyterLab, which moves between cells with them.
    page.get_by_label("an empty environment variable hides the card", exact=True).press("Space")
    page.get_by_role("button", name="Diagnose").press("Space")
    playwright.expect(verdict).to_contain_text("Right. CUDA_VISIBLE_DEVICES is set but empty")
    playwright.expect(verdict).to_contain_text("Cure: Unset it")
    playwright.expect(progress).to_have_text("1 of 8 machines diagnosed")
    page.locator(".gallery-verdict").first.scroll_into_view_if_needed()
    screenshot(page, "01_gallery_page")
    screenshot(page, "01_gallery", ".jp-OutputArea-output:has(.gallery-screen)")

    # The gallery filled the dict: the answer cell takes it over and the check judges it.
    for cell in ("diagnosis-answer", "diagnosis-check"):
        page.evaluate(RUN_CELL, cell)
    outputs = {cell["id"]: cell["outputs"] for cell in page.evaluate(OUTPUTS)}
    assert "Still without a diagnosis: A, B, D, E, F, G, H." in text_of(outputs["diagnosis-check"])


def test_the_dashboard_moves_and_an_interrupt_leaves_its_end(page, lab):
    open_notebook(page, lab, "training.ipynb")
    page.evaluate("() => { jupyterapp.commands.execute('notebook:run-all-cells'); }")  # not awaited: it would not end
    shown = page.locator(".training-dashboard")
    playwright.expect(shown).to_contain_text("CNY to come")
    first = shown.inner_text()
    assert "of 100,000,000" in first and "nan" not in first
    for _ in range(2):
        page.wait_for_function(
            "first => document.querySelector('.training-dashboard').innerText !== first", arg=first, timeout=30_000
        )
        first = shown.inner_text()
    sizes = shown.locator("img").evaluate_all(
        "images => images.map(image => [image.naturalWidth, image.naturalHeight])"
    )
    assert sizes == [[168, 168], [880, 352]]
    screenshot(page, "05_dashboard")

    page.evaluate("() => { jupyterapp.commands.execute('notebook:interrupt-kernel'); }")
    playwright.expect(page.locator(".jp-Notebook")).to_contain_text("interrupted: True")
    playwright.expect(shown).to_have_count(0)
    # What stays in the notebook is plain: no widget, which would be empty when the notebook is opened again.
    outputs = page.evaluate(OUTPUTS)[0]["outputs"]
    kinds = [set(output["data"]) for output in outputs if output["output_type"] == "display_data"]
    assert kinds == [{"text/html", "text/plain"}]
    screenshot(page, "05_dashboard_ended")
