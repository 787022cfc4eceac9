/**
 * `npm run bench -- keep`: what the gateway costs beside Node's plain proxy and nginx, compared with the costs in
 * `kept.json`. Exit code 1 when one of them is above `--limit`, 1.2 times what is kept; with `--exact`, only for
 * allocated bytes, which no other program disturbs. `--runs 3` starts everything so often, compares medians and shows how far the runs differ.
 * `--write` keeps what has become less, and with `--accept 'what the loss buys'` also what has become more.
 */
import { parseArgs } from 'node:util';
import { type Contest, contest, type Figure } from './contest.ts';
import { comparedOf, growthOf, readKept, writeKept } from './kept.ts';
import { describeMachine } from './machine.ts';
import { median } from './quantile.ts';
import { progress } from './session.ts';
import { table } from './table.ts';
import { commitOf, ROOT } from './target.ts';

const { values: options } = parseArgs({
  options: {
    limit: { type: 'string', default: '1.2' },
    runs: { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
    accept: { type: 'string' },
    exact: { type: 'boolean', default: false },
  },
});
const LIMIT = Number(options.limit);
const RUNS = Number(options.runs);
const OWN = 'dragoman';
const MEASURE_MS = 30_000;
/** Bytes that calls allocate differ by a tenth between runs of one commit, as compilers get further in some. */
const EXACT_LIMIT = 1.2;
/** Above this part of the cores, figures of one commit differ by more than the limit. */
const MAX_OTHERS = 0.25;

const contests: Contest[] = [];
for (let n = 1; n <= RUNS; n += 1) {
  if (RUNS > 1) progress(`Run ${n} of ${RUNS}.`);
  contests.push(await contest({ trees: { [OWN]: ROOT }, measureMs: MEASURE_MS }));
}
const runs = contests.map(({ figures }) => figures.get(OWN) ?? []);
const figures = (runs[0] ?? []).map(({ name }) => medianOf(name));
const kept = readKept();
const notes = [...new Set(contests.flatMap((one) => one.notes))];
const others = median(contests.map((one) => one.others));
const seconds = median(contests.map((one) => one.seconds));
const slices = Math.min(...contests.map((one) => one.slices));

console.log(`
CPU time beside that of Node's plain proxy and nginx, and what is kept of the former; memory in MB.

${table(['', 'us', "x Node's proxy", 'x nginx', 'kept', 'at', 'change', 'runs differ by'], figures.map(rowOf))}

${commitOf(ROOT)}; ${describeMachine()}; ${RUNS} x ${Math.round(seconds)} s, ${slices} slices of each; other programs used ${Math.round(others * 100)} % of the cores.`);
for (const note of notes) console.log(`Note: ${note}`);
const unknown = figures.filter((figure) => Number.isNaN(growthOf(figure, kept)));
if (unknown.length > 0) console.log(`Not compared: ${unknown.map(({ name }) => name).join(', ')}.`);
const limitOf = ({ unit }: Figure): number => (unit === 'bytes' ? Math.min(EXACT_LIMIT, LIMIT) : LIMIT);
const worse = figures.filter((figure) => growthOf(figure, kept) > limitOf(figure));
for (const figure of worse)
  console.log(`${figure.name} is above ${limitOf(figure)} times what is kept (${kept[figure.name]?.value}).`);
if (worse.length > 0 && others > MAX_OTHERS)
  console.log('Other programs disturbed all figures but the allocated bytes: repeat this when they are idle.');
if (worse.some(({ unit }) => !options.exact || unit === 'bytes')) process.exitCode = 1;
if (options.write) {
  const isQuiet = others <= MAX_OTHERS;
  if (!isQuiet) console.log('Of a busy machine only allocated bytes are kept.');
  const keepable = figures.filter(({ unit }) => isQuiet || unit === 'bytes');
  const written = writeKept(keepable, commitOf(ROOT), options.accept);
  console.log(`Kept from now on: ${written.length > 0 ? written.join(', ') : 'nothing new'}.`);
}

function medianOf(name: string): Figure {
  const all = runs.flatMap((run) => run.filter((figure) => figure.name === name));
  const of = (key: 'own' | 'node' | 'nginx'): number => median(all.map((figure) => figure[key]));
  return { name, unit: all[0]?.unit ?? 'us', own: of('own'), node: of('node'), nginx: of('nginx') };
}

function rowOf(figure: Figure): string[] {
  const { name, own, unit, node, nginx } = figure;
  const before = kept[name];
  const growth = growthOf(figure, kept);
  return [
    name,
    unit === 'us' ? own.toPrecision(3) : `${Math.round(own)} ${unit}`,
    numberText(node),
    numberText(nginx),
    before ? String(before.value) : '-',
    before?.commit ?? '-',
    Number.isNaN(growth) ? '-' : `${growth < 1 ? '' : '+'}${Math.round((growth - 1) * 100)} %`,
    RUNS > 1 ? `${spreadOf(name).toFixed(2)} x` : '-',
  ];
}

/** The quotient of the largest and the least of the runs. */
function spreadOf(name: string): number {
  const values = runs.flatMap((run) => run.filter((figure) => figure.name === name).map(comparedOf));
  return Math.max(...values) / Math.min(...values);
}

function numberText(value: number): string {
  return Number.isNaN(value) ? '-' : value.toPrecision(3);
}
