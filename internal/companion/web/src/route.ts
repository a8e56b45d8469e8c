// Where one is on the page, in its address: #/view, #/view/id and #/view?filter. Reload, Back and links work by it.

export interface Route {
  view: string;
  id: string;
  query: URLSearchParams;
}

// routeOf reads the fragment of an address. What is no route is the first view.
export function routeOf(hash: string): Route {
  const [, path = "", query = ""] = /^#\/([^?]*)\??(.*)$/.exec(hash) ?? [];
  const [view = "", id = ""] = path.split("/").map(decoded);
  return { view, id, query: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// href is the address of a place on the page.
export function href(view: string, id = "", query?: URLSearchParams): string {
  const filter = query?.toString() ?? "";
  return `#/${encodeURIComponent(view)}${id && `/${encodeURIComponent(id)}`}${filter && `?${filter}`}`;
}

// go moves there: into the history, or in place of where one is.
export function go(to: string, replace = false): void {
  if (location.hash === to) return;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}
