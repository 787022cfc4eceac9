/** A CSV reader (RFC 4180), independent of the writer in src/api/admin. */

export function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]];
  let cell = '';
  let quoted = false;
  for (let n = 0; n < text.length; n++) {
    const char = text[n] ?? '';
    if (quoted) {
      if (char !== '"') cell += char;
      else if (text[n + 1] === '"') cell += text[++n];
      else quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === ',') {
      rows.at(-1)?.push(cell);
      cell = '';
    } else if (char === '\r' && text[n + 1] === '\n') {
      rows.at(-1)?.push(cell);
      cell = '';
      rows.push([]);
      n += 1;
    } else cell += char;
  }
  if (quoted || cell !== '' || rows.pop()?.length !== 0) throw new Error('incomplete CSV');
  return rows;
}

/** Rows as objects by column name. */
export function csvObjects(text: string): Record<string, string>[] {
  const [head = [], ...rows] = parseCsv(text);
  return rows.map((cells) => Object.fromEntries(head.map((name, n) => [name, cells[n] ?? ''])));
}
