const filter = document.getElementById("filter"), events = [...document.querySelectorAll("ol.events > li")];
filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let n = 0;
  for (const e of events) {
    e.hidden = !words.every((w) => e.textContent.toLowerCase().includes(w));
    if (!e.hidden) n++;
  }
  document.getElementById("shown").textContent = words.length ? n + " of " + events.length : "";
});
