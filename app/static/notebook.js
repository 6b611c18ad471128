// A saved notebook's figures, drawn from the data that stands in the page; and the theme that was chosen elsewhere.

import { start } from "./theme.js";

start();
for (const place of document.querySelectorAll(".nb-figure")) {
  const { data, layout } = JSON.parse(place.dataset.figure);
  const height = layout.height ?? 320;
  place.style.minHeight = `${height}px`;
  Plotly.newPlot(
    place,
    data,
    { ...layout, height, autosize: true },
    { responsive: true, displaylogo: false, displayModeBar: false },
  );
}
