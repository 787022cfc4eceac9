/** Model name patterns of the catalog. `*` matches any run of characters; every other character matches itself. */

export const isGlob = (pattern: string): boolean => pattern.includes('*');

/** Takes time linear in the name for each `*`, because clients choose the names. */
export function matchesGlob(pattern: string, name: string): boolean {
  const pieces = pattern.split('*');
  const [first = '', ...rest] = pieces;
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
