/** Questions about JSON text that has passed the scanner, answered without building its values. */

/**
 * A watched member, or any, that an object has twice, at any depth:
 * parsers differ on which one counts. The text must be valid JSON.
 */
export function repeatedMember(json: string, watched?: ReadonlySet<string>): string | undefined {
  const open: Set<string>[] = [];
  for (let at = 0; at < json.length; at += 1) {
    const char = json[at];
    if (char === '{' || char === '[') open.push(new Set());
    else if (char === '}' || char === ']') open.pop();
    else if (char === '"') {
      const start = at;
      at = stringEnd(json, start + 1);
      if (json[skipSpace(json, at + 1)] !== ':') continue;
      const text = json.slice(start + 1, at);
      const name = text.includes('\\') ? String(JSON.parse(json.slice(start, at + 1))) : text;
      if (watched && !watched.has(name)) continue;
      const seen = open.at(-1);
      if (seen?.has(name)) return name;
      seen?.add(name);
    }
  }
  return undefined;
}

function skipSpace(json: string, from: number): number {
  let at = from;
  while (json[at] === ' ' || json[at] === '\n' || json[at] === '\r' || json[at] === '\t') at += 1;
  return at;
}

function stringEnd(json: string, from: number): number {
  for (let at = json.indexOf('"', from); at >= 0; at = json.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (at - 1 - backslashes >= from && json[at - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return json.length;
}
