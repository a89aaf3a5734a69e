"""Questions opened, withdrawn and brought back: by a researcher, or by what settled before."""
