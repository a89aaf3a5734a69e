"""CDS benchmarks: the objects of a release revealed part by part."""
