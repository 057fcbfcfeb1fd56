// Live updates, dialogs, the composer. Every action also works as a plain form without this file.
"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const words = document.body.dataset;
  const entries = $("#entries");
  const scroller = $("#scroller");
  const composer = $("#composer");
  const typed = new Map(); // id of an entry -> its answer so far as HTML: what is settled, and the block being written
  document.documentElement.classList.add("script");

  const toast = (text) => { $("#toast").textContent = text; };
  let toastTimer = 0;
  const say = (text) => { toast(text); clearTimeout(toastTimer); toastTimer = setTimeout(() => toast(""), 6000); };
  // what was done, long enough to be read; without this file it stays until the next page
  const flash = $("#flash");
  let flashTimer = 0;
  const tell = (text) => { flash.textContent = text; clearTimeout(flashTimer); if (text) flashTimer = setTimeout(() => tell(""), 15000); };
  tell(sessionStorage.getItem("flash") ?? flash.textContent);
  sessionStorage.removeItem("flash");
  flash.addEventListener("click", () => tell(""));
  const fragment = async (address) => {
    const answer = await fetch(address, { headers: { "X-Fragment": "1" } });
    if (answer.status === 403) { toast(words.textClosed); throw new Error("closed"); }
    return { ok: answer.ok, html: await answer.text() };
  };

  // --- scrolling: stay at the end only when the reader is there
  const atEnd = () => !scroller || scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 120;
  const toEnd = () => { if (scroller) scroller.scrollTop = scroller.scrollHeight; };

  // --- entries: take over only what changed, so that selection, focus and open details stay
  const parse = (html) => { const box = document.createElement("template"); box.innerHTML = html; return [...box.content.children]; };
  const merge = (html) => {
    const stay = atEnd();
    const fresh = parse(html);
    const ids = new Set(fresh.map((one) => one.id));
    let last = null;
    for (const one of fresh) {
      const old = document.getElementById(one.id);
      if (old && old.dataset.version === one.dataset.version) { last = old; continue; }
      if (old) {
        if (["queued", "writing"].includes(old.dataset.state) && !["queued", "writing"].includes(one.dataset.state))
          $("#announce").textContent = words.textFinished.replace("{name}", one.dataset.author);
        old.replaceWith(one);
      } else if (last) last.after(one);
      else entries.prepend(one);
      last = one;
    }
    let seen = false;
    for (const old of [...entries.children]) {
      if (ids.has(old.id)) seen = true;
      else if (seen) old.remove();
    }
    for (const [card, html] of typed) if (!("settled" in (placeOf(card)?.dataset ?? {}))) write(card, html.settled, html.last);
    const empty = $(".empty", scroller);
    if (empty && fresh.length) empty.remove();
    if (stay) toEnd();
  };
  // in a place that was drawn before, only what is new: what somebody has marked or scrolled in the rest stays
  const placeOf = (card) => $(`[data-card="${CSS.escape(card)}"]`);
  const write = (card, settled, last) => {
    const place = placeOf(card);
    if (!place) return false;
    const kept = Number(place.dataset.settled ?? 0);
    while (place.childElementCount > kept) place.lastElementChild.remove();
    place.insertAdjacentHTML("beforeend", settled);
    place.dataset.settled = place.childElementCount;
    place.insertAdjacentHTML("beforeend", last);
    return true;
  };

  // one request at a time for each fragment; a change that comes meanwhile asks once more
  const refresher = (load) => {
    let running = false, again = false;
    return async () => {
      if (running) { again = true; return; }
      running = true;
      try { do { again = false; await load(); } while (again); } catch { /* the event stream says when the server is back */ }
      running = false;
    };
  };
  const refreshEntries = refresher(async () => {
    if (!entries || !("live" in entries.dataset)) return;
    const { ok, html } = await fragment(`/t/${entries.dataset.thread}/entries`);
    if (ok) merge(html);
  });
  const refreshTree = refresher(async () => {
    const { ok, html } = await fragment(`/tree?thread=${entries ? entries.dataset.thread : ""}`);
    if (!ok) return;
    const tree = $("#tree");
    const focused = tree.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    const closed = [...tree.querySelectorAll("details:not([open])")].map((one) => one.id);
    tree.innerHTML = html;
    for (const id of closed) document.getElementById(id)?.removeAttribute("open");
    if (focused) $(`a[href="${CSS.escape(focused)}"]`, tree)?.focus();
  });

  // --- server-sent events; a hidden page lets go of its connection, since a browser has only six for one server
  let source = null, retry = 0;
  const listen = () => {
    if (source || document.hidden) return;
    source = new EventSource(`/events?thread=${entries && "live" in entries.dataset ? entries.dataset.thread : ""}`);
    source.addEventListener("open", () => { retry = 0; toast(""); refreshEntries(); refreshTree(); });
    source.addEventListener("thread", refreshEntries);
    source.addEventListener("tree", refreshTree);
    source.addEventListener("text", (event) => {
      const { card, fresh, settled, last } = JSON.parse(event.data);
      typed.set(card, { settled: fresh ? settled : (typed.get(card)?.settled ?? "") + settled, last });
      const stay = atEnd();
      const place = placeOf(card);
      if (place && fresh) place.dataset.settled = 0;
      if (!write(card, settled, last)) refreshEntries();
      if (stay) toEnd();
    });
    source.addEventListener("end", (event) => { typed.delete(JSON.parse(event.data).card); refreshEntries(); });
    source.addEventListener("error", async () => {
      source.close();
      source = null;
      toast(words.textLost);
      retry = Math.min(retry + 1, 6);
      setTimeout(async () => {
        const answer = await fetch("/tree", { headers: { "X-Fragment": "1" } }).catch(() => null);
        if (answer && answer.status === 403) toast(words.textClosed);
        else listen();
      }, 500 * retry);
    });
  };
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) listen();
    else if (source) { source.close(); source = null; }
  });

  // --- dialogs
  const open = async (id, address) => show(id, (await fragment(address)).html);
  const show = (id, html) => {
    const dialog = document.getElementById(id);
    dialog.innerHTML = html;
    const title = $("h2", dialog);
    if (title) dialog.setAttribute("aria-label", title.textContent);
    if (!dialog.open) dialog.showModal();
    (dialog.querySelector("[autofocus]") ?? dialog).focus();
  };
  document.addEventListener("click", (event) => {
    if (event.target.nodeName === "DIALOG") { event.target.close(); return; }
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      const label = copy.textContent;
      navigator.clipboard.writeText($("pre", copy.closest("figure")).textContent).then(() => {
        copy.textContent = words.textCopied;
        setTimeout(() => { copy.textContent = label; }, 1500);
      });
      return;
    }
    for (const drop of document.querySelectorAll("details.drop[open]")) if (!drop.contains(event.target)) drop.open = false;
    const link = event.target.closest("a[data-dialog]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      link.closest("details.drop")?.removeAttribute("open");
      open(link.dataset.dialog, link.href).catch(() => { location.href = link.href; });
    } else if (event.target.closest("[data-close]")?.closest("dialog")) {
      event.preventDefault();
      event.target.closest("dialog").close();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const drop = $("details.drop[open]");
    if (drop) { drop.open = false; $("summary", drop).focus(); }
  });

  // --- forms: sent in the background; a refusal keeps what was typed
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.method !== "post" || form.closest(".top") || "plain" in form.dataset) return;
    event.preventDefault();
    if (form.dataset.sending) return;
    form.dataset.sending = "1";
    const body = new FormData(form);
    if (event.submitter?.name) body.set(event.submitter.name, event.submitter.value);
    const error = $(".error", form);
    try {
      const answer = await fetch(event.submitter?.getAttribute("formaction") ?? form.action, {
        method: "POST", headers: { "X-Fragment": "1" },
        body: form.enctype === "multipart/form-data" ? body : new URLSearchParams(body),
      });
      const said = await answer.json();
      if (said.key && form.elements.event_key) form.elements.event_key.value = said.key;
      if (said.error) { if (error) error.textContent = said.error; else say(said.error); }
      else { if (error) error.textContent = ""; done(form, said); }
    } catch {
      if (error) error.textContent = words.textUnsent; else say(words.textUnsent);
    }
    delete form.dataset.sending;
  });
  const done = (form, said) => {
    if (said.html) { show("form", said.html); return; }
    if (form.action.endsWith("/start/go")) sessionStorage.removeItem(`draft:${form.elements.channel.value}`);
    if (form === composer) { form.reset(); form.elements.text.value = ""; sessionStorage.removeItem(draft); showFiles(); }
    form.closest("dialog")?.close();
    const target = new URL(said.location, location.href);
    if (said.panel) { open("panel", target.href); return; }
    const leaves = target.pathname !== location.pathname || location.search;
    if (said.flash && leaves) sessionStorage.setItem("flash", said.flash);
    else if (said.flash) tell(said.flash);
    if (leaves) location.href = target.href;
    else if (/\/(rename|approve|reject|withdraw)$/.test(form.action)) {
      if (said.flash) sessionStorage.setItem("flash", said.flash); // what changes stands outside of the entries too
      location.reload();
    } else { if (form === composer) toEnd(); refreshEntries(); refreshTree(); }
  };

  // --- composer
  const draft = composer ? `draft:${composer.dataset.draft}` : "";
  const showFiles = () => {
    $("#chosen").textContent = [...composer.elements.files.files].map((one) => one.name).join(", ");
  };
  if (composer) {
    const text = composer.elements.text;
    const list = $("#commands");
    const buttons = [...list.querySelectorAll("button")];
    let chosen = -1;
    const matching = () => buttons.filter((one) => !one.parentElement.hidden);
    const choose = (index) => {
      const shown = matching();
      chosen = shown.length ? (index + shown.length) % shown.length : -1;
      buttons.forEach((one) => one.classList.toggle("chosen-command", one === shown[chosen]));
      shown[chosen]?.scrollIntoView({ block: "nearest" });
    };
    const suggest = () => {
      const start = /^\/\S*$/.test(text.value) ? text.value.toLowerCase() : null;
      for (const one of buttons) one.parentElement.hidden = start === null || !one.dataset.command.startsWith(start);
      list.hidden = start === null || !matching().length;
      choose(0);
    };
    const take = (button) => {
      text.value = button.dataset.command + ($("i", button) ? " " : "");
      list.hidden = true;
      text.focus();
    };
    if (!text.value) text.value = sessionStorage.getItem(draft) ?? "";
    text.addEventListener("input", () => { sessionStorage.setItem(draft, text.value); suggest(); });
    text.addEventListener("keydown", (event) => {
      if (!list.hidden) {
        if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); choose(chosen + (event.key === "ArrowDown" ? 1 : -1)); return; }
        if (event.key === "Escape") { list.hidden = true; return; }
        const button = matching()[chosen];
        if (button && (event.key === "Tab" || (event.key === "Enter" && button.dataset.command !== text.value.trim()))) { event.preventDefault(); take(button); return; }
      }
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); list.hidden = true; composer.requestSubmit(); }
    });
    list.addEventListener("click", (event) => { const button = event.target.closest("button"); if (button) take(button); });
    composer.elements.files.addEventListener("change", showFiles);
    if (matchMedia("(hover: hover)").matches && (!location.hash || location.hash.startsWith("#h-"))) text.focus({ preventScroll: true });
  }

  // --- a prompt in its form: what is known about it, after a pause in typing
  const editor = $("form[data-check]");
  if (editor) {
    const put = (fresh) => {
      const old = document.getElementById(fresh.id);
      if (!old || old.outerHTML === fresh.outerHTML) return;
      for (const one of fresh.querySelectorAll("[name]")) {
        const before = old.querySelector(`[name="${CSS.escape(one.name)}"]`);
        if (before?.type === "checkbox") one.checked = before.checked;
        else if (before && [...one.options].some((option) => option.value === before.value)) one.value = before.value;
      }
      old.replaceWith(fresh);
    };
    const look = refresher(async () => {
      const answer = await fetch(editor.dataset.check, {
        method: "POST", headers: { "X-Fragment": "1" }, body: new URLSearchParams(new FormData(editor)),
      });
      const said = await answer.text();
      $(".error", editor).textContent = answer.ok ? "" : JSON.parse(said).error;
      if (answer.ok) parse(said).forEach(put);
    });
    let pause = 0;
    editor.addEventListener("input", (event) => {
      if (!event.target.name.startsWith("part.")) return;
      clearTimeout(pause);
      pause = setTimeout(look, 500);
    });
  }

  // --- earlier messages come in above, the view stays where it was
  $("#earlier")?.addEventListener("click", async (event) => {
    event.preventDefault();
    const link = event.currentTarget;
    const answer = await fetch(link.href).catch(() => null);
    if (!answer?.ok) { location.href = link.href; return; }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const height = scroller.scrollHeight;
    const shown = [...$("#entries", page).children].filter((one) => !document.getElementById(one.id));
    entries.prepend(...shown);
    const further = $("#earlier", page);
    if (further) { link.href = further.href; link.textContent = further.textContent; } else link.parentElement.remove();
    scroller.scrollTop += scroller.scrollHeight - height;
  });

  if (!location.hash || location.hash === "#end") toEnd();
  listen();
})();
