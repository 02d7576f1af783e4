// Snakemake's report gives its icons, pictures and frames no names: these are for screen readers.
{
  const named = { eye: "Show", "information-circle": "About", home: "All results", x: "Hide the menu", menu: "Show the menu" };
  const iconOf = new Map(Object.entries(new Icon({}).paths).flatMap(([name, paths]) => paths.map(({ path }) => [path, name])));

  function nameAll() {
    for (const icon of document.querySelectorAll("a > svg:only-child")) {
      const name = iconOf.get(icon.querySelector("path")?.getAttribute("d"));
      const row = icon.closest("tr")?.innerText ?? "";
      icon.parentElement.setAttribute("aria-label", `${named[name] ?? name} ${row}`.trim());
    }
    const title = Object.values(results[app?.state.resultPath]?.labels ?? {}).join(", ");
    for (const picture of document.querySelectorAll("#app img"))
      picture.setAttribute("alt", picture.src === logo_uri ? "Snakemake" : title);
    document.querySelectorAll("#app iframe").forEach((frame) => frame.setAttribute("title", title));
  }

  new MutationObserver(nameAll).observe(document.getElementById("app"), { childList: true, subtree: true });
  nameAll();
}
