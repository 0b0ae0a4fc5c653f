// What the page's test asks in the browser.
globalThis.questions = {
  // Pixels by which the page is wider than the screen.
  overflow: () => document.documentElement.scrollWidth - document.documentElement.clientWidth,

  // Texts of the pictures that can be seen, where two lie upon each other.
  overlaps: () => [...document.querySelectorAll("svg.picture")].flatMap((picture) => {
    const names = [...picture.querySelectorAll("text")]
      .map((name) => ({ text: name.textContent, box: name.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 0);
    // A line's height has room above and below its letters.
    const touch = (a, b) => a.left < b.right && b.left < a.right
      && a.top + 2 < b.bottom - 2 && b.top + 2 < a.bottom - 2;
    return names.flatMap((a, at) => names.slice(at + 1)
      .filter((b) => touch(a.box, b.box)).map((b) => `${a.text} and ${b.text}`));
  }),

  // Texts whose contrast to what is behind them is below that of the WCAG's level AA.
  faint: () => {
    const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const behind = (element) => {
      if (!element) return ["white"];
      const { backgroundColor } = getComputedStyle(element);
      return [...behind(element.parentElement), backgroundColor];
    };
    const mixed = (colours) => {
      for (const colour of colours) {
        pen.fillStyle = colour;
        pen.fillRect(0, 0, 1, 1);
      }
      return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const luminance = (colour) => {
      const [red, green, blue] = colour.map((part) => {
        const share = part / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const contrast = (element) => {
      const style = getComputedStyle(element);
      const colours = behind(element);
      const ink = element instanceof SVGElement ? style.fill : style.color;
      const [ground, text] = [mixed(colours), mixed([...colours, ink])].map(luminance);
      return (Math.max(ground, text) + 0.05) / (Math.min(ground, text) + 0.05);
    };
    const own = (element) => [...element.childNodes]
      .some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
    const seen = (element) => element.getClientRects().length > 0;
    const found = [...document.querySelectorAll("body *:not(script)")]
      .filter((element) => own(element) && seen(element) && contrast(element) < 4.5)
      .map((element) => `${element.tagName} ${element.textContent.trim().slice(0, 30)}`);
    return [...new Set(found)];
  },

  // What is told beside the pointer or the focus.
  told: () => {
    const box = document.querySelector("#told");
    return box.hidden ? null : box.textContent;
  },

  focus: (selector) => {
    const seen = [...document.querySelectorAll(selector)].find((it) => it.getClientRects().length);
    seen.focus();
    return seen.querySelector(".name").textContent;
  },

  // The middle of what can be seen of a selector's first element, after the page moved to it.
  middle: (selector) => {
    const seen = [...document.querySelectorAll(selector)].find((it) => it.getClientRects().length);
    seen.scrollIntoView({ block: "center", behavior: "instant" });
    const { left, top, width, height } = seen.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  },

  loaded: () => performance.getEntriesByType("resource").map((entry) => entry.name),
};
