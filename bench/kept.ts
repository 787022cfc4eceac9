/** The costs that `npm run bench -- keep` compares with, in `kept.json`: each is the best that was measured. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Figure } from './contest.ts';

interface KeptFigure {
  /** Times that of Node's plain proxy; without one, megabytes or bytes. */
  readonly value: number;
  readonly nginx?: number | undefined;
  readonly commit: string;
  /** What the loss buys, for a figure that was once lower. */
  readonly accepted?: string | undefined;
}

export type Kept = Readonly<Record<string, KeptFigure>>;

/** A difference that is left out, because runs of one commit differ by it. */
const NOISE = 1.1;

const FILE = new URL('kept.json', import.meta.url);

export const readKept = (): Kept => JSON.parse(readFileSync(FILE, 'utf8'));

/** Every machine has Node; nginx is a second opinion. */
export const comparedOf = ({ unit, own, node }: Figure): number => (unit === 'us' ? node : own);

/** How many times what is kept; NaN for what was not measured, or is new. */
export const growthOf = (figure: Figure, kept: Kept): number =>
  comparedOf(figure) / (kept[figure.name]?.value ?? Number.NaN);

/** Keeps what has become less, what is new, and with a reason also what has become more. Returns the names. */
export function writeKept(figures: readonly Figure[], commit: string, accepted?: string): string[] {
  const kept = readKept();
  const written = figures.filter((figure) => {
    const growth = growthOf(figure, kept);
    if (Number.isNaN(comparedOf(figure))) return false;
    return Number.isNaN(growth) || growth < 1 || (accepted !== undefined && growth > NOISE);
  });
  const changed = written.map((figure): [string, KeptFigure] => [
    figure.name,
    {
      value: rounded(comparedOf(figure)),
      nginx: Number.isNaN(figure.nginx) ? undefined : rounded(figure.nginx),
      commit,
      accepted: growthOf(figure, kept) > 1 ? accepted : undefined,
    },
  ]);
  writeFileSync(FILE, `${JSON.stringify({ ...kept, ...Object.fromEntries(changed) }, null, 2)}\n`);
  return written.map(({ name }) => name);
}

const rounded = (value: number): number => Number(value.toPrecision(3));
