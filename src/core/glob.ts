/** Model name patterns of the catalog. `*` matches any run of characters; every other character matches itself. */

export const isGlob = (pattern: string): boolean => pattern.includes('*');

/** Takes time linear in the name for each `*`, because clients choose the names. */
export function matchesGlob(pattern: string, name: string): boolean {
  const literals = pattern.split('*');
  const [first = '', ...rest] = literals;
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const literal of rest) {
    const found = name.indexOf(literal, at);
    if (found < 0) return false;
    at = found + literal.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
