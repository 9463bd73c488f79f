"use strict";
// The page is whole without this: it adds hints, a walk by keyboard through
// the marks of a chart and the numbers of a table, and a switch for the dark.
(() => {
  const tip = document.getElementById("tip");
  const live = document.getElementById("live");
  const tips = JSON.parse(document.getElementById("tips").textContent || "[]") || [];
  const said = (el) => tips[+el.getAttribute("data-t")] || "";
  let at = null;
  let keyed = false; // the hint is where the keyboard is, and stays when the page moves

  const hide = () => {
    tip.hidden = true;
    if (at) at.classList.remove("at");
    at = null;
  };

  const show = (el, x, y) => {
    if (at && at !== el) at.classList.remove("at");
    at = el;
    el.classList.add("at");
    tip.textContent = said(el);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, x + 14), innerWidth - box.width - 8);
    const top = y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = Math.max(8, top) + "px";
  };

  const place = (el) => {
    const box = el.getBoundingClientRect();
    show(el, box.left + box.width / 2, box.top + box.height / 2);
  };

  document.addEventListener("pointermove", (e) => {
    keyed = false;
    const el = e.target.closest && e.target.closest("[data-t]");
    if (el) show(el, e.clientX, e.clientY);
    else if (e.pointerType === "mouse") hide();
  });
  document.addEventListener("pointerdown", (e) => {
    const el = e.target.closest && e.target.closest("[data-t]");
    if (el) show(el, e.clientX, e.clientY);
    else hide();
  });
  addEventListener("scroll", () => (keyed && at ? place(at) : hide()), { passive: true });

  // Arrow keys walk through what a focused chart or table has to tell.
  document.addEventListener("focusin", (e) => {
    if (e.target.hasAttribute("data-t")) place(e.target);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape") return hide();
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -1e9, End: 1e9 }[e.key];
    const group = document.activeElement && document.activeElement.closest("svg.chart, .scroll");
    if (!step || !group) return;
    const all = [...group.querySelectorAll("[data-t]")];
    if (all.length === 0) return;
    const now = all.indexOf(at);
    const next = now < 0 ? 0 : Math.min(Math.max(now + step, 0), all.length - 1);
    e.preventDefault();
    keyed = true;
    all[next].scrollIntoView({ block: "nearest", inline: "nearest" });
    place(all[next]);
    live.textContent = said(all[next]);
  });

  // A name in a legend lights its line.
  const light = (li, on) => {
    const figure = li.closest("figure");
    figure.classList.toggle("focused", on);
    for (const of of figure.querySelectorAll(".of")) {
      of.classList.toggle("lit", on && of.getAttribute("data-s") === li.getAttribute("data-s"));
    }
  };
  for (const li of document.querySelectorAll(".legend li[data-s]")) {
    for (const [event, on] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]]) {
      li.addEventListener(event, () => light(li, on));
    }
  }

  // Paper has nothing to open.
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details.more:not([open])")) {
      folded.open = true;
      folded.dataset.folded = "";
    }
  });
  addEventListener("afterprint", () => {
    for (const opened of document.querySelectorAll("details.more[data-folded]")) {
      opened.open = false;
      delete opened.dataset.folded;
    }
  });

  const root = document.documentElement;
  const button = document.getElementById("theme");
  const dark = () => {
    const set = root.getAttribute("data-theme");
    return set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const name = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", "Show the page " + (dark() ? "light" : "dark"));
  };
  button.addEventListener("click", () => {
    root.setAttribute("data-theme", dark() ? "light" : "dark");
    name();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  button.hidden = false;
  name();
})();
