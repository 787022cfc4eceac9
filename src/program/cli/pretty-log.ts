/** Log lines for a terminal: time, event and fields in colour. Without a terminal the log is JSON. */

const COLORS: Readonly<Record<number, string>> = { 40: '\x1b[33m', 50: '\x1b[31m' };

export const prettyStream = (): { write(text: string): void } => ({
  write(text) {
    process.stdout.write(`${text.split('\n').filter(Boolean).map(prettyLine).join('\n')}\n`);
  },
});

function prettyLine(text: string): string {
  const { level, time, msg, ...fields } = JSON.parse(text) as {
    level: number;
    time: string;
    msg: string;
    [field: string]: unknown;
  };
  const shown = Object.entries(fields)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name}=${Array.isArray(value) ? value.join(',') : String(value)}`);
  const color = COLORS[level] ?? '';
  return `\x1b[2m${time.slice(11, 19)}\x1b[0m ${color}${msg}${color && '\x1b[0m'} \x1b[2m${shown.join(' ')}\x1b[0m`;
}
