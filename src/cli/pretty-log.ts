/** Log lines for a person at a terminal: time, event, what matters. Machines get JSON instead. */

interface Line {
  readonly level: number;
  readonly time: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

const PAINT: Readonly<Record<number, string>> = { 40: '\x1b[33m', 50: '\x1b[31m' };

export const prettyStream = (): { write(text: string): void } => ({
  write(text) {
    process.stdout.write(`${text.split('\n').filter(Boolean).map(prettyLine).join('\n')}\n`);
  },
});

function prettyLine(text: string): string {
  const { level, time, msg, ...fields } = JSON.parse(text) as Line;
  const rest = Object.entries(fields)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name}=${Array.isArray(value) ? value.join(',') : String(value)}`);
  const paint = PAINT[level] ?? '';
  return `\x1b[2m${time.slice(11, 19)}\x1b[0m ${paint}${msg}${paint && '\x1b[0m'} \x1b[2m${rest.join(' ')}\x1b[0m`;
}
