// What KIDO adds to the pages that viser serves and writes: a sky, texts over the picture, keys by the character that is
// typed, room for the picture on phones, and light that stays as it is when a motion begins anew. Where a later viser
// lacks what is looked for here, its page stays as viser makes it.
(() => {
  if (window.kido) return;

  const when = (found, act, tries = 600) => {
    const value = found();
    if (value) act(value);
    else if (tries > 0) setTimeout(() => when(found, act, tries - 1), 50);
  };

  // The state of viser's page, which React keeps.
  const viser = () => {
    const root = document.getElementById("root");
    const key = root && Object.keys(root).find((name) => name.startsWith("__reactContainer"));
    const above = key ? [root[key].stateNode.current] : [];
    while (above.length) {
      const fiber = above.pop();
      const value = fiber.memoizedProps?.value;
      if (value?.useEnvironment?.set && value.mutable) return value;
      above.push(...[fiber.sibling, fiber.child].filter(Boolean));
    }
  };

  window.kido = { viser };

  // Sky ---------------------------------------------------------------------------------------------------------

  when(
    () => viser()?.mutable.current.canvas,
    (canvas) => {
      canvas.style.background = "KIDO_SKY";
    },
  );

  // Texts -------------------------------------------------------------------------------------------------------

  const edges = {
    "top left": "top:0;left:0;text-align:left",
    top: "top:0;left:0;right:0;text-align:center",
    "top right": "top:0;right:0;text-align:right",
    "bottom left": "bottom:0;left:0;text-align:left",
    bottom: "bottom:0;left:0;right:0;text-align:center",
    "bottom right": "bottom:0;right:0;text-align:right",
  };

  const show = (canvas, texts) => {
    const box = canvas.parentElement;
    box.querySelectorAll(":scope > .kido-text").forEach((old) => old.remove());
    for (const place of new Set(texts.map((t) => t.place))) {
      const corner = box.appendChild(document.createElement("div"));
      corner.className = "kido-text";
      corner.style.cssText =
        "position:absolute;margin:0.9em 1.1em;z-index:1;pointer-events:none;white-space:pre-wrap;" +
        "font-family:system-ui,sans-serif;line-height:1.35;" + edges[place];
      for (const t of texts.filter((t) => t.place === place)) {
        const line = corner.appendChild(document.createElement("div"));
        line.textContent = t.text;
        line.style.cssText = `font-size:${t.size}px;color:${t.color}`;
      }
    }
  };

  // They come as the text of a label that is not shown, which is there whatever panels are open.
  when(viser, ({ useSceneTree, mutable }) => {
    const read = () => {
      const text = useSceneTree.get("/kido")?.message?.props.text;
      if (text) when(() => mutable.current.canvas, (canvas) => show(canvas, JSON.parse(text)));
    };
    useSceneTree.subscribe("/kido", read);
    read();
  });

  // Keys --------------------------------------------------------------------------------------------------------

  // A character that needs Shift or AltGr is that character, with no modifier held.
  window.addEventListener(
    "keydown",
    (event) => {
      if (!event.isTrusted || [...event.key].length !== 1 || event.key === " ") return;
      if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
      const caseless = event.key.toLowerCase() === event.key.toUpperCase();
      const shifted = event.shiftKey && caseless && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (!shifted && !event.getModifierState("AltGraph")) return;
      event.stopImmediatePropagation();
      const { key, code, repeat } = event;
      event.target.dispatchEvent(new KeyboardEvent("keydown", { key, code, repeat, bubbles: true, cancelable: true }));
    },
    true,
  );

  // Phones ------------------------------------------------------------------------------------------------------

  // The sheet of controls: as wide as the screen, at most 45 % of its height, closed at first.
  const sheet = () => [...document.querySelectorAll(".mantine-Paper-root")].find((e) => e.style.maxHeight === "60%");
  const narrow = window.matchMedia("(max-width: 36em)");
  const style = document.createElement("style");
  style.textContent =
    "@media (max-width: 36em) { .kido-sheet { width: 100% !important; max-height: 45% !important; }" +
    " .kido-sheet * { max-width: 100%; } .kido-sheet [style*='width: 20em'] { width: 100% !important; } }";
  document.head.appendChild(style);
  const arrange = () => {
    if (!narrow.matches || window.__VISER_EMBED_DATA__) return;
    when(sheet, (panel) => {
      if (panel.classList.contains("kido-sheet")) return;
      panel.classList.add("kido-sheet");
      panel.querySelector("[style*='cursor: pointer']")?.click();
    });
  };
  narrow.addEventListener("change", arrange);
  arrange();

  // Motions -----------------------------------------------------------------------------------------------------

  if (window.__VISER_EMBED_DATA__) {
    // Whenever a motion begins anew, viser puts its own lights on until the next picture, which they make slow.
    when(viser, ({ useEnvironment }) => {
      const set = useEnvironment.set;
      const own = (change) => change.environmentMap === null && change.enableDefaultLights === true;
      useEnvironment.set = (change) => set(own(change) ? { fog: change.fog } : change);
    });
    // In a window that is narrower than the camera was made for, it stands farther away.
    const ready = () => {
      const page = viser();
      return page?.useInitialCamera.get().position.source === "message" && page.mutable.current.cameraControl && page;
    };
    when(ready, (page) =>
      setTimeout(() => {
        const { cameraControl, canvas, requestRender } = page.mutable.current;
        const ratio = (window.__KIDO_ASPECT__ * canvas.clientHeight) / canvas.clientWidth;
        if (ratio > 1) cameraControl.dollyTo(cameraControl.distance * ratio, false);
        requestRender();
      }, 100),
    );
  }
})();
