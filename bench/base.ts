/**
 * `npm run bench -- base ../other`: this source tree and another one, in CPU time of calls and events, slice by slice in
 * turns. Two minutes; `--seconds` for the slices, of which more are more exact.
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { contest } from './contest.ts';
import { describeMachine } from './machine.ts';
import { table } from './table.ts';
import { commitOf, ROOT } from './target.ts';

const { values, positionals } = parseArgs({
  options: { seconds: { type: 'string', default: '50' } },
  allowPositionals: true,
});
const [other] = positionals;
if (other === undefined) throw new Error('Name the folder of the other source tree: npm run bench -- base ../other');

const trees = { base: resolve(other), this: ROOT };
const { figures, notes, slices, others } = await contest({ trees, measureMs: Number(values.seconds) * 1_000 });
const [base = [], own = []] = [figures.get('base'), figures.get('this')];
const text = (value: number): string => (Number.isNaN(value) ? '-' : value.toPrecision(3));

console.log(`
CPU us and MB; in the last columns of this tree, ${commitOf(ROOT)}. The base is ${commitOf(trees.base)}.

${table(
  ['', 'base', 'this', 'this / base', "base x Node's proxy", "this x Node's proxy", 'this x nginx'],
  own.map((figure, n) => [
    figure.name,
    text(base[n]?.own ?? Number.NaN),
    text(figure.own),
    text(figure.own / (base[n]?.own ?? Number.NaN)),
    text(base[n]?.node ?? Number.NaN),
    text(figure.node),
    text(figure.nginx),
  ]),
)}

${describeMachine()}; ${slices} slices of each; other programs used ${Math.round(others * 100)} % of the cores.`);
for (const note of notes) console.log(`Note: ${note}`);
