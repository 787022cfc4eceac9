/**
 * The report of a replay: a table by collection, dialect and way, the known differences by rule, and every other one
 * with its file.
 */
import { knownRule } from './known.ts';
import { type Outcome, type Replay, WAYS, type Way } from './outcome.ts';

const COLUMNS = ['calls', 'equal', 'refused', 'known', 'different'] as const;
type Column = (typeof COLUMNS)[number];
type Cell = Record<Column, number>;

export class Report {
  readonly #cells = new Map<string, Cell>();
  readonly #skipped = new Map<string, number>();
  readonly #rules = new Map<string, number>();
  readonly #refusals = new Map<string, number>();
  readonly #differences: string[] = [];

  skip(collection: string, reason: string): void {
    add(this.#skipped, `${collection}: ${reason}`);
  }

  add({ replay, refusal, differences }: Outcome): void {
    const cell = this.#cellOf(replay);
    cell.calls++;
    if (refusal !== undefined) {
      cell.refused++;
      add(this.#refusals, `${pairOf(replay)}: ${refusal.slice(0, 140)}`);
      return;
    }
    const open = differences.filter((difference) => {
      const known = knownRule(difference, replay);
      if (known) add(this.#rules, `${known.rule}: ${known.why}`);
      return known === undefined;
    });
    if (differences.length === 0) cell.equal++;
    else if (open.length === 0) cell.known++;
    else cell.different++;
    for (const { what, expected, found } of open) {
      const form = replay.recording.isStream ? 'stream' : 'unary';
      this.#differences.push(
        `${pairOf(replay)} (${form}), ${what}\n  file     ${replay.recording.collection}/${replay.recording.file}\n  expected ${expected}\n  found    ${found}`,
      );
    }
  }

  get differences(): number {
    return this.#differences.length;
  }

  text(): string {
    return [
      ...section('Skipped', countLines(this.#skipped)),
      ...section('Refused by name', countLines(this.#refusals)),
      ...section('Known differences', countLines(this.#rules)),
      ...section('Differences', this.#differences.toSorted()),
      ...this.#table(),
    ].join('\n');
  }

  #cellOf({ recording, way }: Replay): Cell {
    const key = [recording.collection, recording.dialect, way].join('\t');
    const cell = this.#cells.get(key) ?? { calls: 0, equal: 0, refused: 0, known: 0, different: 0 };
    this.#cells.set(key, cell);
    return cell;
  }

  #table(): string[] {
    const order = (key: string): string => key.replace(/\w+$/, (way) => String(WAYS.indexOf(way as Way)));
    const rows = [...this.#cells].sort(([a], [b]) => (order(a) < order(b) ? -1 : 1));
    const line = (names: readonly string[], counts: readonly (string | number)[]): string =>
      [
        ...names.map((name, n) => name.padEnd(n === 0 ? 26 : 12)),
        ...counts.map((value) => String(value).padStart(10)),
      ].join('');
    return [
      line(['collection', 'dialect', 'way'], COLUMNS),
      ...rows.map(([key, cell]) =>
        line(
          key.split('\t'),
          COLUMNS.map((column) => cell[column]),
        ),
      ),
    ];
  }
}

const pairOf = ({ way, client, provider }: Replay): string => `${way} ${client}->${provider}`;

const add = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);

const countLines = (counts: ReadonlyMap<string, number>): string[] =>
  [...counts].sort(([, a], [, b]) => b - a).map(([key, count]) => `${String(count).padStart(6)}  ${key}`);

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title} (${lines.length})`, ...lines, ''];
