"use strict";
// Every page is whole without this: it follows what runs, and adds hints and
// small conveniences. It writes text, never markup.
(() => {
  const tip = document.getElementById("tip");
  const hide = () => { tip.hidden = true; };
  const show = (el) => {
    tip.textContent = el.getAttribute("data-tip");
    tip.hidden = false;
    const at = el.getBoundingClientRect();
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.left + at.width / 2 + 10), innerWidth - box.width - 8);
    const top = at.bottom + 12 + box.height > innerHeight ? at.top - box.height - 12 : at.bottom + 12;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = Math.max(8, top) + "px";
  };
  const of = (e) => e.target.closest && e.target.closest("[data-tip]");
  document.addEventListener("pointermove", (e) => { const el = of(e); if (el) show(el); else hide(); });
  addEventListener("scroll", hide, { passive: true });
  document.addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });
  document.addEventListener("click", (e) => {
    const el = e.target.closest && e.target.closest("[data-to]");
    if (el) location.assign(el.getAttribute("data-to"));
  });

  // A button that needs some boxes ticked says so.
  for (const button of document.querySelectorAll("button[data-needs]")) {
    const form = button.form;
    const needs = +button.getAttribute("data-needs");
    const count = () => {
      const n = form.querySelectorAll("input[type=checkbox]:checked").length;
      button.disabled = n < needs || n > 8;
      button.textContent = n < needs ? "Tick two or more to compare" : n > 8 ? "Tick eight at most" : "Compare these " + n;
    };
    form.addEventListener("change", count);
    addEventListener("pageshow", count);
    count();
  }

  // What runs.
  const list = document.getElementById("running");
  if (!list) return;
  const blank = document.getElementById("card");
  const idle = document.getElementById("idle");
  const status = document.getElementById("stream");
  const say = (text) => { if (status.textContent !== text) status.textContent = text; };
  const fill = (card, about) => {
    card.setAttribute("data-id", about.id);
    card.setAttribute("data-state", about.state);
    for (const el of card.querySelectorAll("[data-f]")) {
      const name = el.getAttribute("data-f");
      const value = about[name];
      if (name === "done") {
        if (value < 0) el.removeAttribute("value");
        else el.value = value;
      } else if (name === "failed") {
        el.replaceChildren(...value.map((text) => {
          const li = document.createElement("li");
          li.textContent = text;
          return li;
        }));
      } else if (el.textContent !== value) el.textContent = value;
    }
  };
  const update = (all) => {
    const have = new Map([...list.children].map((card) => [card.getAttribute("data-id"), card]));
    const cards = all.map((about) => {
      const card = have.get(about.id) || blank.content.firstElementChild.cloneNode(true);
      fill(card, about);
      return card;
    });
    if (cards.length !== list.children.length || cards.some((card, i) => list.children[i] !== card)) list.replaceChildren(...cards);
    idle.hidden = all.length > 0;
  };
  const source = new EventSource("/api/v1/running/events");
  source.addEventListener("open", () => say("Live."));
  source.addEventListener("error", () => say("The connection is lost; trying again."));
  source.addEventListener("end", () => say("The dashboard was stopped; trying again."));
  source.addEventListener("running", (e) => { say("Live."); update(JSON.parse(e.data).running); });
  addEventListener("pagehide", () => source.close());
})();
