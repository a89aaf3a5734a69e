"""Scores of score maps on any torch device, many maps at once; a GPU gives the CPU's numbers.

The results of box_hits and add_scores of box_scores, equal to the compiled loops to the last bit.
The steps of a batch: scaled.py (scores → levels), neighbours.py (pixels → the peaks that they lead
to), merge_tree.py (peaks → the tree of sets that join as the level falls), set_rows.py (a row per
set and level: its box, its sum of pixels), contours.py (what outer contours enclose), hits.py
(boxes → IoUs → hits). batches.py combines them, and halves batches that are too large.

Rules that keep the bits equal:
- Counts, positions, boxes and areas are integers: their sums and minima do not depend on the order.
  Scores and IoUs are float64, one operation after the other as in numpy.
- On CUDA a tensor divided by a host scalar is multiplied by its reciprocal: every divisor is a
  tensor with a dimension. Nothing that fuses a product with a sum (addcmul, lerp, interpolate,
  torch.compile), no histc and no one-dimensional cummin: those round or scan differently there.
- The host waits for each value that it reads. Loops read one per round, and the number of rounds
  grows with the logarithm of the work: there is no loop over maps, thresholds or pixels.
  A batch of maps of 224 × 224 takes 1,100 to 3,000 launches and 110 to 370 waits
  (docs/how-to/clusters-and-gpus.md).

On the CPU this is 8 to 180 times slower than the compiled loops, which are used there. Import these
modules only inside functions: they import torch.
"""
