/**
 * `npm run bench -- long`: what long requests cost by the size and the shape of their bodies, and what the tenth turn
 * of a growing conversation costs. CPU time without PostgreSQL, one call at a time, all targets in turns, so that other
 * programs disturb all alike.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { agentBody, PATHS, SHAPES, shapedBody } from './bodies.ts';
import { Client } from './client.ts';
import { cpuOfTree, describeMachine, usageNow, WATCHED_CORES } from './machine.ts';
import { median } from './quantile.ts';
import { type Route, rawRequest } from './scenarios.ts';
import { progress, Session } from './session.ts';
import { table } from './table.ts';
import type { Target } from './target.ts';
import { quickTargets } from './targets.ts';

const { values: options } = parseArgs({ options: { repeats: { type: 'string', default: '8' } } });
const REPEATS = Number(options.repeats);
const SIZES = [10, 50, 100, 400, 2_000];
/** Calls of a measurement, so that the garbage collector has its part in most of them. */
const CALLS = 4;
/** For what follows a response: its charge and log line. */
const AFTER_MS = 30;
/** Until the compilers have finished with most of the code. */
const WARM_UP = { long: 150, short: 4_000 } as const;
const TURNS = { first: 95, last: 105 } as const;

type Part = 'messages' | 'chat';
interface Line {
  readonly label: string;
  readonly target: Target;
  readonly route: Route & { readonly from: Part };
  readonly client: Client;
}
interface Row {
  readonly label: string;
  /** A new body at each call. With `before`, others are sent first, without measuring them. */
  readonly body: (dialect: Part, mark: string) => object;
  readonly before?: (dialect: Part, mark: string) => readonly object[];
}

const ROWS: readonly Row[] = [
  ...SHAPES.flatMap((shape) =>
    SIZES.map((kb) => ({
      label: `${kb} KB of ${shape}`,
      body: (dialect: Part, mark: string) => shapedBody(dialect, shape, kb * 1_000, mark),
    })),
  ),
  { label: '430 KB of an agent, new', body: (dialect, mark) => agentBody(dialect, TURNS.last, mark) },
  {
    label: 'its tenth turn',
    body: (dialect, mark) => agentBody(dialect, TURNS.last, mark),
    before: (dialect, mark) =>
      Array.from({ length: TURNS.last - TURNS.first - 1 }, (_, n) => agentBody(dialect, TURNS.first + n + 1, mark)),
  },
];

let marks = 0;
const session = new Session();
try {
  await run();
} finally {
  await session.stop();
}

const conversionOf = ({ from, to }: { readonly from: string; readonly to: string }): string =>
  from === to ? 'native' : 'converted';

async function run(): Promise<void> {
  const [before, begun] = [usageNow(), performance.now()];
  await session.start(quickTargets().filter(({ name }) => name !== 'node'));
  const lines = [...session.targets].flatMap(([{ kind, name, lines: own }, target]): Line[] =>
    kind === 'direct'
      ? []
      : own.map(({ route }) => ({
          label: kind === 'peer' ? name : conversionOf(route),
          target,
          route: route as Line['route'],
          client: new Client(target.port, Buffer.alloc(0)),
        })),
  );
  progress('Warming up ...');
  for (const line of lines) {
    for (let n = 0; n < WARM_UP.long; n += 1) await send(line, agentBody(line.route.from, TURNS.first, `${n % 2}`));
    for (let n = 0; n < WARM_UP.short; n += 1) await send(line, agentBody(line.route.from, 1, `${n}`));
  }
  const costs = ROWS.map(() => lines.map((): number[] => []));
  for (let n = 1; n <= REPEATS; n += 1) {
    progress(`Measuring, ${n} of ${REPEATS} ...`);
    for (const [r, row] of ROWS.entries())
      for (const [l, line] of lines.entries()) costs[r]?.[l]?.push(await measure(line, row));
  }
  const after = usageNow();
  const others = after.busy - before.busy - (after.own - before.own);
  console.log(`
Least / median CPU ms of a call, and its quotient with the same of nginx.

${table(
  ['', ...lines.flatMap(({ label }, n) => (n === 0 ? [label] : [label, 'x nginx']))],
  costs.map((row, r) => [
    ROWS[r]?.label ?? '',
    ...row.flatMap((own, n) => [pair(statsOf(own), 2), ...(n === 0 ? [] : [pair(timesOf(own, row[0]), 1)])]),
  ]),
)}

${describeMachine()}. Other programs used ${Math.round((others / WATCHED_CORES / (performance.now() - begun)) * 1e5)} % of the cores.`);
  for (const { client } of lines) client.close();
}

async function measure(line: Line, { body, before }: Row): Promise<number> {
  const own = Array.from({ length: CALLS }, () => {
    marks += 1;
    return `${marks}`;
  });
  for (const mark of own) for (const one of before?.(line.route.from, mark) ?? []) await send(line, one);
  await pause(AFTER_MS);
  const [pid = 0, bodies] = [line.target.pid, own.map((mark) => body(line.route.from, mark))];
  const begun = cpuOfTree(pid).own;
  for (const one of bodies) await send(line, one);
  await pause(AFTER_MS);
  return ((cpuOfTree(pid).own - begun) * 1_000) / CALLS;
}

function send({ client, target, route }: Line, body: object): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const text = JSON.stringify({ model: 'bench-burst', ...body });
  client.request = Buffer.from(rawRequest(target, route, { path: PATHS[route.from], body: text }));
  client.onResponse = (status) => (status === 200 ? resolve() : reject(new Error(client.text)));
  client.onFailure = (why) => reject(new Error(why));
  client.send();
  return promise;
}

type Pair = readonly [least: number, median: number];
function statsOf(values: readonly number[]): Pair {
  return [Math.min(...values), median(values)];
}

function timesOf(own: readonly number[], of: readonly number[] = []): Pair {
  const [[least, middle], [ofLeast, ofMiddle]] = [statsOf(own), statsOf(of)];
  return [least / ofLeast, middle / ofMiddle];
}

function pair([least, middle]: Pair, digits: number): string {
  return `${least.toFixed(digits)} / ${middle.toFixed(digits)}`;
}
