"""`proposals name|start|stop|status|report|remove|embed`: a network beside people who draw."""

import json
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.core.management.base import CommandParser

from labeling.assistance import embedding, networks
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.image_files import BadImage, upright
from labeling.jobs import queue
from labeling.management.contract import ContractCommand, Result, table
from labeling.models import Campaign, Job
from labeling.promptable.network import Encoder, Preparation
from labeling.reports import proposal_figures

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BUDGET = "4g"
ENCODER = "what makes an embedding of an image"


def byte_count(text: str) -> int:
    """Bytes of "500M" or "4G".

    >>> byte_count("4.2m")
    4200000
    """
    number, unit = text.lower().removesuffix("b"), ""
    if number[-1:] in UNITS and number[-1:]:
        number, unit = number[:-1], number[-1]
    try:
        size = int(float(number) * UNITS[unit])
    except (ValueError, OverflowError):
        raise ArgumentTypeError(f"{text!r} is no number of bytes; give such as 4G") from None
    if not 0 < size < 2**63:
        raise ArgumentTypeError(f"{text!r} is no number of bytes above 0")
    return size


def colours(text: str) -> tuple[float, float, float]:
    try:
        r, g, b = (float(each) for each in text.split(","))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not R,G,B") from None
    return r, g, b


class Command(ContractCommand):
    help = "A promptable segmentation network that proposes outlines to people who draw parts."

    def add_arguments(self, parser: CommandParser) -> None:
        name = self.verb(parser, "name", self.name, help="let the network help in a campaign")
        name.add_argument("campaign", help="of the kind parts, which asks 2 people or more")
        name.add_argument("--encoder", required=True, type=Path, metavar="FILE.onnx", help=ENCODER)
        name.add_argument(
            "--decoder", required=True, type=Path, metavar="FILE.onnx", help="what marks a click"
        )
        name.add_argument("--name", metavar="NAME", help="what the site calls it (the file's name)")
        name.add_argument(
            "--budget", type=byte_count, default=BUDGET, help="bytes for embeddings (4G)"
        )
        _add_preparation(name)
        embed = self.verb(
            parser, "embed", self.embed, help="write the embeddings of a folder of photographs"
        )
        embed.add_argument("images", type=Path, metavar="FOLDER", help="of photographs")
        embed.add_argument("--encoder", required=True, type=Path, metavar="FILE.onnx", help=ENCODER)
        embed.add_argument(
            "--out", required=True, type=Path, metavar="FOLDER", help="gets NAME.npy of each"
        )
        embed.add_argument(
            "--preparation",
            type=Path,
            metavar="FILE.json",
            help="in place of --size, --mean, --std",
        )
        _add_preparation(embed)
        report = self.verb(
            parser,
            "report",
            self.report,
            self.show_report,
            help="quality and time with and without",
        )
        report.add_argument("campaign", help="its name")
        for verb, action, words in (
            ("start", self.start, "make the embeddings that are lacking, by a job"),
            ("stop", self.stop, "stop that job; what it made stays"),
            ("status", self.status, "the network, its embeddings and their bytes"),
            ("remove", self.remove, "let people draw without it from now on"),
        ):
            self.verb(parser, verb, action, help=words).add_argument("campaign", help="its name")

    def name(
        self,
        campaign: str,
        encoder: Path,
        decoder: Path,
        name: str | None,
        budget: int | str,
        size: int | None,
        mean: tuple[float, ...] | None,
        std: tuple[float, ...] | None,
        **_: Any,
    ) -> Result:
        row = _campaign(campaign)
        try:
            made = networks.name(
                row,
                encoder.stem if name is None else name,
                encoder,
                decoder,
                budget=byte_count(budget) if isinstance(budget, str) else budget,
                size=size,
                mean=mean,
                std=std,
            )
        except Refusal as refusal:
            raise BadInput(refusal.message.rstrip(".")) from None
        return {
            "campaign": row.name,
            "name": made.name,
            "sha256": made.sha256,
            "preparation": made.preparation,
            "embedding_bytes": made.embedding_bytes,
            "budget": made.budget,
            "fits": embedding.state(made).fits,
            "images": embedding.state(made).images,
        }

    def embed(
        self,
        images: Path,
        encoder: Path,
        out: Path,
        preparation: Path | None,
        size: int | None,
        mean: tuple[float, ...] | None,
        std: tuple[float, ...] | None,
        **_: Any,
    ) -> Result:
        opened = Encoder(encoder, size, *(value for value in (mean, std) if value is not None))
        if preparation is not None:
            opened.preparation = Preparation.of(json.loads(preparation.read_text()))
        out.mkdir(parents=True, exist_ok=True)
        files = sorted(path for path in images.iterdir() if path.is_file())
        skipped = []
        with self.progress(len(files), "image", "embedding") as bar:
            for path in files:
                try:
                    with path.open("rb") as file:
                        image = upright(file, max_pixels=settings.ASSAY_MAX_IMAGE_PIXELS)
                    part = out / f".{path.stem}.part"
                    with part.open("wb") as file:
                        np.save(file, opened.embed(image))
                    part.replace(out / f"{path.stem}.npy")
                except BadImage as error:
                    skipped.append({"file": path.name, "why": str(error)})
                bar.update()
        return {"images": len(files) - len(skipped), "skipped": skipped}

    def start(self, campaign: str, **_: Any) -> Result:
        """Run the job here and now, unless a worker of the site has it."""
        row = _campaign(campaign)
        try:
            job = embedding.start(row)
        except Refusal as refusal:
            raise BadInput(refusal.message.rstrip(".")) from None
        queue.run(job.pk)
        job.refresh_from_db()
        if job.state == Job.State.FAILED:
            raise BadInput(job.error.rstrip("."))
        return self.status(campaign)

    def stop(self, campaign: str, **_: Any) -> Result:
        return {"stopped": embedding.stop(_campaign(campaign))}

    def status(self, campaign: str, **_: Any) -> Result:
        network = networks.of(_campaign(campaign))
        if network is None:
            return {"network": None}
        state = embedding.state(network)
        return {
            "network": network.name,
            "sha256": network.sha256,
            "images": state.images,
            "embedded": state.embedded,
            "fits": state.fits,
            "bytes": state.bytes,
            "budget": network.budget,
            "job": network.job.state if network.job else None,
        }

    def report(self, campaign: str, **_: Any) -> proposal_figures.ProposalFigures:
        return proposal_figures.figures(_campaign(campaign))

    def show_report(self, figures: proposal_figures.ProposalFigures) -> str:
        arms = figures.with_model, figures.without_model
        rows = [
            ("drawings", *(str(arm.drawings) for arm in arms)),
            ("parts drawn", *(str(arm.parts) for arm in arms)),
            ("seconds a part", *(_of_mean(arm.seconds_per_part, 1) for arm in arms)),
            ("IoU with gold", *(_of_mean(arm.gold_iou, 3) for arm in arms)),
            ("IoU with drawings without", *(_of_mean(arm.others_iou, 3) for arm in arms)),
            ("bad parts of gold", *(f"{arm.bad.count} of {arm.bad.of}" for arm in arms)),
        ]
        bad = figures.bad_proposals
        ratio = "–" if figures.time_ratio is None else f"{figures.time_ratio:.2f}"
        return (
            f"{table(rows, ('', 'with the model', 'without'))}\n\n"
            f"time a part, with over without: {ratio}\n"
            f"asked {figures.requests}, taken {figures.taken}, mended {figures.mended}, "
            f"refused {figures.refused}; bad proposals accepted: {bad.count} of {bad.of}"
        )

    def remove(self, campaign: str, **_: Any) -> Result:
        return {"removed": networks.remove(_campaign(campaign))}

    def show(self, result: Any) -> str:
        return table([(key, value) for key, value in result.items()])


def _of_mean(mean: proposal_figures.Mean, digits: int) -> str:
    if mean.value is None:
        return "–"
    within = ""
    if mean.interval:
        low, high = mean.interval
        within = f" ({low:.{digits}f} to {high:.{digits}f})"
    return f"{mean.value:.{digits}f}{within}, n {mean.n}"


def _add_preparation(parser: CommandParser) -> None:
    parser.add_argument("--size", type=int, help="longer side in pixels, where the file says none")
    parser.add_argument("--mean", type=colours, metavar="R,G,B", help="of colours in [0, 1]")
    parser.add_argument("--std", type=colours, metavar="R,G,B", help="their deviation")


def _campaign(name: str) -> Campaign:
    row = Campaign.objects.filter(name=name).first()
    if row is None:
        raise BadInput(f"there is no campaign {name!r}", cure="see manage.py campaign status")
    return row
