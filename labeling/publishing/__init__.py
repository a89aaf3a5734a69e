"""A frozen release as a folder to publish: Parquet, Croissant, card, datasheet, DataCite. Pure."""
