"""`models register|list|remove`: which networks the site may name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.classifiers import opening
from evaluation.classifiers.model_lists import Model
from evaluation.classifiers.preparing import FITS
from evaluation.management import network_options
from evaluation.models import RegisteredModel
from evaluation.pools import registering
from labeling.management.contract import ContractCommand, Result, UsageError, table


class Command(ContractCommand):
    help = "Networks that researchers may name on the site, by which it makes pools."

    def add_arguments(self, parser: CommandParser) -> None:
        register = self.verb(
            parser, "register", self.register, help="let the site name a network, or another by it"
        )
        register.add_argument(
            "name", metavar="NAME", nargs="?", help="what the site calls it: a word"
        )
        register.add_argument(
            "--model", metavar="SPEC", help=network_options.MODEL.split("; NAME")[0]
        )
        network_options.add_list(register)
        network_options.add_classes(register)
        network_options.add_weights(register)
        network_options.add_preparation(register).add_argument(
            "--fit", choices=FITS, default="crop", help="of photographs (crop)"
        )
        self.verb(parser, "list", self.list, self.show_list, help="the networks and their names")
        remove = self.verb(parser, "remove", self.remove, help="let the site name it no more")
        remove.add_argument("name", metavar="NAME", help="as models list shows it")

    def register(
        self, name: str | None, model: str | None, models: Path | None, **options: Any
    ) -> Result:
        """Return the network by its name, or those of models.yaml by theirs."""
        if models is not None and not (name or model):
            chosen = network_options.chosen({"model": None, "models": models, **options})
            return {
                "models": [
                    self._register(*opening.split(model.spec), model, options) for model in chosen
                ]
            }
        if name is None or model is None or models is not None:
            raise UsageError("give NAME and --model, or --models alone")
        return self._register(name, model, Model(model, {}), options)

    def _register(self, name: str, spec: str, model: Model, options: Mapping[str, Any]) -> Result:
        """Opens the network once, as a pool will: what cannot be opened is not registered."""
        registering.check_name(name)
        wnids = network_options.classes_of(model, options)
        file, weights = Path(spec), options["weights"] and options["weights"].absolute()
        # A worker starts in another folder.
        spec = str(file.absolute()) if file.exists() else spec
        preparing = {key: options[key] for key in network_options.PREPARING} | dict(model.preparing)
        opened = opening.load(spec, wnids, name=name, weights=weights, preparing=preparing)
        made = registering.register(
            name,
            spec,
            classes=wnids,
            options=_options(weights, preparing),
            source=dict(opened.source),
        )
        return {"name": made.name, "model": made.spec, "classes": len(wnids), **opened.source}

    def list(self, **_: Any) -> Result:
        return {
            "models": [
                {
                    "name": row.name,
                    "model": row.spec,
                    "classes": len(row.classes),
                    "sha256": row.source.get("sha256", ""),
                }
                for row in RegisteredModel.objects.all()
            ]
        }

    def show_list(self, result: Result) -> str:
        if not result["models"]:
            return "No model is registered."
        head = ("name", "model", "classes", "sha256")
        return table([tuple(row[key] for key in head) for row in result["models"]], head)

    def remove(self, name: str, **_: Any) -> Result:
        registering.remove(name)
        return {"removed": name}


def _options(weights: Path | None, preparing: dict[str, Any]) -> list[str]:
    """Arguments of `predict` that prepare images as they were registered."""
    flags = [f"--fit={preparing['fit']}"]
    if weights is not None:
        flags.append(f"--weights={weights}")
    if preparing["size"] is not None:
        flags.append("--size={}x{}".format(*preparing["size"]))
    for name in ("mean", "std"):
        if preparing[name] is not None:
            flags.append(f"--{name}={','.join(map(str, preparing[name]))}")
    return flags
