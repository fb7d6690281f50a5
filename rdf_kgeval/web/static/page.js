// Keys, sending without reloading, and looking again; every form also works without this.
"use strict";

const KEYS = { t: "true", f: "false", a: "ambiguous", s: "skip", u: "undo" };
let sending = false;

function main() {
  return document.getElementById("main");
}

function put(html) {
  const next = new DOMParser().parseFromString(html, "text/html").getElementById("main");
  if (!next) return;
  main().replaceWith(next);
}

async function send(form, button) {
  if (sending) return;
  sending = true;
  main().setAttribute("aria-busy", "true");
  const body = new URLSearchParams(new FormData(form));
  body.set("answer", button.value);
  try {
    const response = await fetch("/answer", { method: "POST", body, headers: { "X-Kgeval": "1" } });
    put(await response.text());
    document.getElementById("sentence")?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  } catch {
    document.getElementById("trouble").hidden = false;
  } finally {
    sending = false;
    main().removeAttribute("aria-busy");
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.getAttribute("action") !== "/answer" || !event.submitter) return;
  event.preventDefault();
  send(form, event.submitter);
});

document.addEventListener("click", (event) => {
  if (event.target.closest("#open-guidelines")) document.getElementById("guidelines").showModal();
});

document.addEventListener("keydown", (event) => {
  const dialog = document.getElementById("guidelines");
  if (!dialog || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.matches("input, textarea")) return;
  const key = event.key.toLowerCase();
  const why = document.getElementById("why");
  if (key === "n" && why && !dialog.open) {
    event.preventDefault();
    why.open = true;
    document.getElementById("note").focus();
  } else if (key === "g" || key === "?") {
    event.preventDefault();
    if (dialog.open) dialog.close();
    else dialog.showModal();
  } else if (KEYS[key] && !dialog.open) {
    const button = main().querySelector(`button[value="${KEYS[key]}"]`);
    if (button && !button.disabled) {
      event.preventDefault();
      button.click();
    }
  }
});

async function look() {
  const state = main().dataset.state;
  if (!document.hidden && !sending && (state === "wait" || state === "dashboard")) {
    const address = state === "wait" ? "/" : `/dashboard?seen=${main().dataset.seen}`;
    try {
      const response = await fetch(address);
      if (response.status === 200 && !sending) put(await response.text());
    } catch {
      // The server may be back at the next look.
    }
  }
  setTimeout(look, 2000);
}
setTimeout(look, 2000);
