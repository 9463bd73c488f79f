// What a reader would see wrong: charts that did not draw, words over words,
// and anything wider than the page. Returns lists of complaints.
(() => {
  const seen = (el) => el.checkVisibility() && el.getClientRects().length > 0;
  const empty = [], overlaps = [], outside = [];
  let charts = 0, labels = 0;
  for (const svg of document.querySelectorAll("svg.chart")) {
    if (!seen(svg)) continue;
    charts++;
    const box = svg.getBoundingClientRect();
    const drawn = [...svg.querySelectorAll(".line, .mark, .fill, .whisker, .dot, text.refused")].filter((el) => {
      const b = el.getBoundingClientRect();
      return b.width > 0 || b.height > 0;
    });
    if (box.width < 200 || box.height < 30 || drawn.length === 0) empty.push(svg.id + " " + box.width + "x" + box.height);
    for (const t of svg.querySelectorAll("text")) {
      const b = t.getBoundingClientRect();
      if (b.left < box.left - 1.5 || b.right > box.right + 1.5) outside.push(svg.id + ": " + t.textContent);
    }
  }
  const figures = document.querySelectorAll("figure").length;
  // Every line of every piece of text that is seen.
  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.textContent.trim() || !seen(node.parentElement) || node.parentElement.closest("title, desc, script, .unseen, .skip")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const b of range.getClientRects()) {
      if (b.width < 1) continue;
      labels++;
      const scroll = node.parentElement.closest(".scroll");
      const clip = scroll ? scroll.getBoundingClientRect() : null;
      if (clip && b.left > clip.right) continue;
      if (!clip && (b.right > innerWidth + 1 || b.left < -1)) outside.push("page: " + node.textContent.trim().slice(0, 60));
      const spare = b.height * 0.14;
      lines.push({ l: b.left + 0.6, r: b.right - 0.6, t: b.top + spare, b: b.bottom - spare, node });
    }
  }
  lines.sort((a, b) => a.t - b.t);
  for (let i = 0; i < lines.length; i++) {
    for (let j = i + 1; j < lines.length && lines[j].t < lines[i].b; j++) {
      const a = lines[i], b = lines[j];
      if (a.node !== b.node && a.l < b.r && b.l < a.r) {
        const where = a.node.parentElement.closest("svg, figure, section");
        overlaps.push((where ? where.id || where.className : "") + ": " + JSON.stringify(a.node.textContent.trim().slice(0, 50)) + " and " + JSON.stringify(b.node.textContent.trim().slice(0, 50)));
      }
    }
  }
  return {
    charts, figures, labels, empty, overlaps, outside,
    overflow: document.scrollingElement.scrollWidth - document.documentElement.clientWidth,
    background: getComputedStyle(document.body).backgroundColor,
  };
})()
