// The current place, kept in the address: #/view, #/view/id or #/view?filter. So reload, Back and links work.

export interface Route {
  view: string;
  id: string;
  query: URLSearchParams;
}

// routeOf parses the fragment of an address. An invalid one leads to the first view.
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

// href returns the address of a place on the page.
export function href(view: string, id = "", query?: URLSearchParams): string {
  const filter = query?.toString() ?? "";
  return `#/${encodeURIComponent(view)}${id && `/${encodeURIComponent(id)}`}${filter && `?${filter}`}`;
}

// go moves to an address, and adds it to the history or replaces the current entry.
export function go(to: string, replace = false): void {
  if (location.hash === to) return;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}
