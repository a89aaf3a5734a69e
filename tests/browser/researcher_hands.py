"""What researchers of tests do with their hands, from the first photograph to the downloads."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from annotator.demo.pools import photograph


def make_dataset(page: Any, site: Callable[[str], str], names: Sequence[str]) -> None:
    """A dataset called photographs, of these photographs of scikit-image."""
    page.goto(site("/datasets/new/"))
    page.fill("#id_name", "photographs")
    page.click("text=Create dataset")
    page.wait_for_url("**/datasets/photographs/**")
    page.goto(site("/datasets/photographs/upload/"))
    page.set_input_files("#id_files", [str(photograph("skimage", name)) for name in names])
    page.fill("#id_source", "scikit-image")
    page.click("button:has-text('Upload')")
    page.wait_for_selector(f"text={len(names)} images added")


def invite(page: Any, site: Callable[[str], str], name: str, people: int) -> str:
    """The link by which so many people join a campaign."""
    page.goto(site(f"/campaigns/{name}/people/"))
    page.fill("#id_max_uses", str(people))
    page.fill("#id_note", "those who label")
    page.click("text=Create invitation")
    return str(page.input_value("[data-copy] input"))


def join(page: Any, link: str) -> None:
    page.goto(link)
    page.click("button:has-text('Join')")
    page.wait_for_selector("text=You joined")


def freeze(page: Any, site: Callable[[str], str], name: str) -> None:
    page.goto(site(f"/campaigns/{name}/releases/"))
    page.click("text=Freeze release")
    page.wait_for_selector("text=Release 1 is frozen")


def download(page: Any, selector: str) -> bytes:
    with page.expect_download() as waiting:
        page.click(selector)
    return Path(waiting.value.path()).read_bytes()
