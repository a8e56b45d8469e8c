// How text from a model or an upstream is shown. The rules are those of the terminal: controls, formats, direction
// overrides, blanks other than the space, characters that draw nothing, and piles of combining marks appear as their
// code points.

// Piece is a stretch of text that is visible as itself, or one character that is not.
export type Piece = { text: string; hidden: boolean };

const plain = /^[\x20-\x7e]*$/;
const shows = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;
const drawsNothing = /^[\p{Default_Ignorable_Code_Point}\p{Variation_Selector}\u2800]$/u;
const mark = /^\p{M}$/u;
const maxMarks = 4; // combining marks in a row that real scripts need at most

export function pieces(text: string): Piece[] {
  if (plain.test(text)) return text === "" ? [] : [{ text, hidden: false }];
  const found: Piece[] = [];
  let run = "";
  let marks = 0;
  for (const c of text) {
    marks = mark.test(c) ? marks + 1 : 0;
    if (marks <= maxMarks && shows.test(c) && !drawsNothing.test(c)) {
      run += c;
      continue;
    }
    if (run !== "") found.push({ text: run, hidden: false });
    run = "";
    found.push({ text: codePoint(c), hidden: true });
  }
  if (run !== "") found.push({ text: run, hidden: false });
  return found;
}

function codePoint(c: string): string {
  return `⟨U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

// exactText returns the only text that a pattern with escapes matches. It returns undefined for patterns that are easy
// to read as they are, or that match more. The terminal has the same rules.
export function exactText(pattern: string): string | undefined {
  const unescaped = pattern.replace(/\\./gsu, "");
  if (unescaped === pattern || /^[~$]/.test(pattern) || /[\\*?[\]{}()!+@|]/.test(unescaped)) return undefined;
  return pattern.replace(/\\(.)/gsu, "$1");
}

// visible returns the same as one string, for places without room for elements.
export function visible(text: string): string {
  return pieces(text).map((piece) => piece.text).join("");
}

// split cuts a text where one of the quotes begins and ends, ignoring case. Where several match, the longest counts.
export function split(of: string, quotes: string[]): { text: string; quote: boolean }[] {
  const parts: { text: string; quote: boolean }[] = [];
  const folded = of.toLowerCase();
  const wanted = folded.length === of.length ? quotes.filter((q) => q !== "").map((q) => q.toLowerCase()) : [];
  let from = 0;
  for (;;) {
    const found = wanted.map((q) => ({ at: folded.indexOf(q, from), length: q.length })).filter(({ at }) => at >= 0);
    if (found.length === 0) break;
    const { at, length } = found.reduce((a, b) => (b.at < a.at || (b.at === a.at && b.length > a.length) ? b : a));
    if (at > from) parts.push({ text: of.slice(from, at), quote: false });
    parts.push({ text: of.slice(at, at + length), quote: true });
    from = at + length;
  }
  if (from < of.length || parts.length === 0) parts.push({ text: of.slice(from), quote: false });
  return parts;
}
