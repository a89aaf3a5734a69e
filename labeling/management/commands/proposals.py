"""`proposals name|start|stop|status|report|remove|embed`: manages a network that assists
drawing.
"""

import json
from argparse import ArgumentTypeError
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from django.conf import settings

from labeling.assistance import embedding, networks
from labeling.files import BadInput
from labeling.image_files import BadImage, upright
from labeling.jobs import queue
from labeling.management.contract import ContractCommand, Result, refusals, verb
from labeling.management.options import argument, option
from labeling.models import Campaign, Job
from labeling.promptable.network import Encoder, EncoderPreparation
from labeling.reports import proposal_figures

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def byte_count(text: str) -> int:
    """Return the bytes of "500M" or "4G".

    >>> byte_count("4.2m")
    4200000
    """
    number, unit = text.lower().removesuffix("b"), ""
    if number[-1:] in UNITS and number[-1:]:
        number, unit = number[:-1], number[-1]
    try:
        size = int(float(number) * UNITS[unit])
    except (ValueError, OverflowError):
        raise ArgumentTypeError(
            f"{text!r} is not a number of bytes; use a number such as 4G"
        ) from None
    if not 0 < size < 2**63:
        raise ArgumentTypeError(f"{text!r} is not a number of bytes above 0")
    return size


def colours(text: str) -> tuple[float, float, float]:
    try:
        r, g, b = (float(each) for each in text.split(","))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not R,G,B") from None
    return r, g, b


@dataclass(kw_only=True)
class CampaignOptions:
    campaign: str = argument("name of the campaign", metavar=None)


@dataclass(kw_only=True)
class EncoderOptions:
    encoder: Path = option("ONNX file that embeds an image", metavar="FILE.onnx")


@dataclass(kw_only=True)
class NamingOptions(EncoderOptions):
    campaign: str = argument("a campaign of the kind parts with 2 or more votes", metavar=None)
    decoder: Path = option("ONNX file that decodes clicks", metavar="FILE.onnx")
    size: int | None = option("longer side in pixels, if the file states none")
    mean: tuple[float, ...] | None = option(
        "mean of the colours in [0, 1]", type=colours, metavar="R,G,B"
    )
    std: tuple[float, ...] | None = option(
        "standard deviation of the colours", type=colours, metavar="R,G,B"
    )

    name: str | None = option("title on the site (default: the file name)", metavar="NAME")
    budget: int = option("bytes for embeddings (4G)", byte_count("4g"), type=byte_count)


@dataclass(kw_only=True)
class EmbeddingOptions(EncoderOptions):
    images: Path = argument("of photographs", metavar="FOLDER")
    out: Path = option("folder for NAME.npy of each photograph", metavar="FOLDER")
    preparation: Path | None = option(
        "size, mean, std and raw, in place of what the encoder states", metavar="FILE.json"
    )


class Command(ContractCommand):
    help = "A promptable segmentation network that proposes outlines to people who draw parts."

    @verb("add a network to a campaign")
    def name(self, options: NamingOptions) -> Result:
        row = _campaign(options.campaign)
        with refusals():
            made = networks.name(
                row,
                options.encoder.stem if options.name is None else options.name,
                options.encoder,
                options.decoder,
                budget=options.budget,
                size=options.size,
                mean=options.mean,
                std=options.std,
            )
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

    @verb("write the embeddings of a folder of photographs")
    def embed(self, options: EmbeddingOptions) -> Result:
        opened, out = Encoder(options.encoder), options.out
        if options.preparation is not None:
            opened.preparation = EncoderPreparation.of(json.loads(options.preparation.read_text()))
        out.mkdir(parents=True, exist_ok=True)
        files = sorted(path for path in options.images.iterdir() if path.is_file())
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

    @verb("create missing embeddings by a job")
    def start(self, options: CampaignOptions) -> Result:
        """Run the job in this process, unless a worker has it."""
        row = _campaign(options.campaign)
        with refusals():
            job = embedding.start(row)
        queue.run(job.pk)
        job.refresh_from_db()
        if job.state == Job.State.FAILED:
            raise BadInput(job.error.rstrip("."))
        return self.status(options)

    @verb("stop the job; its embeddings are kept")
    def stop(self, options: CampaignOptions) -> Result:
        return {"stopped": embedding.stop(_campaign(options.campaign))}

    @verb("show the network and its embeddings")
    def status(self, options: CampaignOptions) -> Result:
        network = networks.for_campaign(_campaign(options.campaign))
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

    @verb("compare quality and time with and without the network")
    def report(self, options: CampaignOptions) -> proposal_figures.ProposalFigures:
        return proposal_figures.figures(_campaign(options.campaign))

    @verb("remove the network from a campaign")
    def remove(self, options: CampaignOptions) -> Result:
        return {"removed": networks.remove(_campaign(options.campaign))}


def _campaign(name: str) -> Campaign:
    row = Campaign.objects.filter(name=name).first()
    if row is None:
        raise BadInput(f"there is no campaign {name!r}", cure="see manage.py campaign status")
    return row
