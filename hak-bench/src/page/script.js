"use strict";
// Shows the figures of what the pointer or the focus is on. The page is whole without it.
(() => {
  const box = document.createElement("div");
  box.id = "told";
  box.hidden = true;
  document.body.append(box);

  const show = (text, x, y) => {
    box.textContent = text;
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    const left = x + 14 + width < innerWidth ? x + 14 : Math.max(4, x - 14 - width);
    const top = Math.min(Math.max(4, y + 14), innerHeight - height - 4);
    box.style.transform = `translate(${left}px, ${top}px)`;
  };
  const hide = () => { box.hidden = true; };

  // The browser's own box would stand beside this one.
  for (const title of document.querySelectorAll(".mark > title")) {
    const mark = title.parentElement;
    mark.dataset.told = title.textContent;
    mark.setAttribute("aria-label", title.textContent);
    title.remove();
  }
  for (const cell of document.querySelectorAll("td[title]")) {
    cell.dataset.told = cell.title;
    cell.removeAttribute("title");
  }
  const told = (event) => event.target.closest?.("[data-told]");
  document.addEventListener("pointermove", (event) => {
    if (event.target.closest?.(".lines")) return;
    const mark = told(event);
    if (mark) show(mark.dataset.told, event.clientX, event.clientY); else hide();
  });
  document.addEventListener("focusin", (event) => {
    const mark = told(event);
    if (!mark) return;
    const place = (mark.querySelector(".name") ?? mark).getBoundingClientRect();
    show(mark.dataset.told, place.left, place.bottom - 8);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  // As in the tables.
  const number = (figure) => figure.toFixed(figure < 9.995 ? 2 : figure < 99.95 ? 1 : 0);

  // Over lines: all of them at that moment, the highest first.
  const height = (points, x) => {
    for (let at = 1; at < points.length; at += 1) {
      const [[x0, y0], [x1, y1]] = [points[at - 1], points[at]];
      if (x <= x1) return x < x0 ? null : x1 > x0 ? y0 + (y1 - y0) * (x - x0) / (x1 - x0) : y1;
    }
    return null;
  };
  for (const picture of document.querySelectorAll(".lines")) {
    const [left, top, right, bottom] = picture.dataset.plot.split(" ").map(Number);
    const { until, peak } = picture.dataset;
    const cursor = picture.querySelector(".cursor");
    const marks = [...picture.querySelectorAll(".mark")].map((mark) => {
      const line = mark.querySelector(".line").getAttribute("points");
      return { mark, points: line.split(" ").map((pair) => pair.split(",").map(Number)) };
    });
    const leave = () => {
      cursor.classList.remove("shown");
      marks.forEach(({ mark }) => mark.classList.remove("told"));
      hide();
    };
    picture.addEventListener("pointerleave", leave);
    picture.addEventListener("pointermove", (event) => {
      const at = new DOMPoint(event.clientX, event.clientY)
        .matrixTransform(picture.getScreenCTM().inverse());
      leave();
      if (at.x > right) {
        const mark = told(event);
        if (mark) show(mark.dataset.told, event.clientX, event.clientY);
        return;
      }
      if (at.x < left || at.y < top || at.y > bottom) return;
      cursor.setAttribute("x1", at.x);
      cursor.setAttribute("x2", at.x);
      cursor.classList.add("shown");
      const heights = marks
        .map(({ mark, points }) => ({ mark, y: height(points, at.x) }))
        .filter(({ y }) => y !== null)
        .sort((a, b) => a.y - b.y);
      const away = (it) => Math.abs(it.y - at.y);
      const [near] = [...heights].sort((a, b) => away(a) - away(b));
      if (near && away(near) < 12) near.mark.classList.add("told");
      const milliseconds = (at.x - left) / (right - left) * until;
      const lines = heights.map(({ mark, y }) => {
        const mebibytes = (bottom - y) / (bottom - top) * peak;
        const sign = mark.classList.contains("told") ? "▸ " : "";
        return `${number(mebibytes)}  ${sign}${mark.dataset.name}`;
      });
      const text = [`${Math.round(milliseconds)} ms, MiB`, ...lines].join("\n");
      show(text, event.clientX, event.clientY);
    });
  }
})();
