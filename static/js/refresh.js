/* Lets a piece of the page renew itself while somebody looks at it:
   <div data-refresh="5" hx-get="…" hx-trigger="refresh">. htmx fetches; this only says when. It
   rests while the page is hidden, while somebody works inside the piece, and once it is gone. */

for (const piece of document.querySelectorAll("[data-refresh]")) {
  const seconds = Number(piece.dataset.refresh);
  const timer = setInterval(() => {
    if (!piece.isConnected) return clearInterval(timer);
    const busy = piece.contains(document.activeElement) || String(document.getSelection());
    if (!document.hidden && !busy) piece.dispatchEvent(new Event("refresh"));
  }, seconds * 1000);
}
