/** A Markdown table, padded for terminals. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, n) => Math.max(name.length, 3, ...rows.map((row) => (row[n] ?? '').length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, n) => (n === 0 ? text.padEnd(widths[n] ?? 0) : text.padStart(widths[n] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, n) => (n === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}
