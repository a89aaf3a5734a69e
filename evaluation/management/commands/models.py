"""`models register|list|remove`: which networks the site may name."""

from dataclasses import dataclass
from pathlib import Path

from evaluation.classifiers import opening
from evaluation.classifiers.model_lists import ListedModel
from evaluation.classifiers.preparing import FITS
from evaluation.management.networks import MODEL, ModelOptions
from evaluation.models import RegisteredModel
from evaluation.pools import registering
from labeling.management.contract import ContractCommand, Result, UsageError, verb
from labeling.management.options import argument, option


@dataclass(kw_only=True)
class RegisterOptions(ModelOptions):
    name: str | None = argument("what the site calls it: a word", None)
    model: str | None = option(MODEL.split("; NAME")[0], metavar="SPEC")
    fit: str = option("of photographs (crop)", "crop", choices=FITS)
    trial: bool = option("open the network, and register nothing", flag="--try")


@dataclass(kw_only=True)
class RemoveOptions:
    name: str = argument("as models list shows it")


class Command(ContractCommand):
    help = "Networks that researchers may name on the site, by which it makes pools."

    @verb("let the site name a network, or another by it")
    def register(self, options: RegisterOptions) -> Result:
        """Register the network under its name, or those of models.yaml under theirs."""
        name, model = options.name, options.model
        if options.models is not None and not (name or model):
            return {
                "models": [
                    self._register(*opening.split(each.spec), each, options)
                    for each in options.listed_models(None)
                ]
            }
        if name is None or model is None or options.models is not None:
            raise UsageError("give NAME and --model, or --models alone")
        return self._register(name, model, ListedModel(model, {}), options)

    def _register(
        self, name: str, spec: str, model: ListedModel, options: RegisterOptions
    ) -> Result:
        """Open the network once, as a pool will, and register it unless this is a trial."""
        registering.check_name(name)
        wnids = options.classes_of(model)
        file, weights = Path(spec), options.weights and options.weights.absolute()
        preparing = options.preparing(model)
        opened = opening.load(spec, wnids, name=name, weights=weights, preparing=preparing)
        # A worker has another working directory.
        spec = str(file.absolute()) if file.exists() else spec
        if not options.trial:
            registering.register(
                name,
                spec,
                classes=wnids,
                options=registering.options_of(preparing, weights),
                source=dict(opened.source),
            )
        return {"name": name, "model": spec, "classes": len(wnids), **opened.source}

    @verb("the networks and their names")
    def list(self) -> Result:
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

    @verb("let the site name it no more")
    def remove(self, options: RemoveOptions) -> Result:
        registering.remove(options.name)
        return {"removed": options.name}
