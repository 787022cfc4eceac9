/**
 * `npm run bench -- history`: converts a conversation of 300 turns and 2 MB, as agents resend it with every step, from client bytes to
 * upstream bytes. Each pair runs in a new process: `first` is the time of its first call, `warm` the median of the next calls,
 * `longest block` the longest time that the event loop was blocked.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { StepBudget } from '../src/core/index.ts';
import { encodeRequestFor, pairOf } from '../src/dialects/index.ts';
import { parseBody } from '../src/gateway/converted/json-body.ts';
import { capabilitiesOf, type Dialect } from '../src/rules/index.ts';
import { describeMachine } from './machine.ts';
import { median } from './quantile.ts';

const TURNS = 300;
const BYTES = 2 * 2 ** 20;
const WARM = 15;
const PAIRS = [
  ['messages', 'responses'],
  ['messages', 'generate'],
  ['chat', 'messages'],
  ['responses', 'messages'],
] as const satisfies readonly (readonly [Dialect, Dialect])[];

function report(): void {
  console.log(`Machine: ${describeMachine()}. ${TURNS} turns, 2 MB.`);
  console.log('| | first ms | warm ms | longest block ms |\n|---|--:|--:|--:|');
  for (const [client, upstream] of PAIRS) {
    const { stdout, stderr } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), client, upstream]);
    if (stdout.length === 0) throw new Error(stderr.toString());
    const { first, warm, block } = JSON.parse(stdout.toString()) as Times;
    console.log(`| ${client} -> ${upstream} | ${[first, warm, block].map((ms) => ms.toFixed(0)).join(' | ')} |`);
  }
}

interface Times {
  readonly first: number;
  readonly warm: number;
  readonly block: number;
}

async function measure(client: Dialect, upstream: Dialect): Promise<Times> {
  const bytes = client === 'messages' ? bytesOf(HISTORY) : convertTo(client);
  const pair = pairOf({ client, upstream });
  const target = targetOf(upstream);
  const convert = (): number => {
    const begun = performance.now();
    const request = pair.client.decodeRequest(parseBody(bytes, new StepBudget()), { headers: {} });
    const { body } = encodeRequestFor(pair, request, target);
    if (Buffer.from(JSON.stringify(body)).length < BYTES / 2) throw new Error('something was lost');
    return performance.now() - begun;
  };
  let last = performance.now();
  let block = 0;
  const watch = setInterval(() => {
    const now = performance.now();
    block = Math.max(block, now - last);
    last = now;
  }, 1);
  const times: number[] = [];
  for (let n = 0; n <= WARM; n += 1) {
    times.push(convert());
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  clearInterval(watch);
  const [first = Number.NaN, ...rest] = times;
  return { first, warm: median(rest), block };
}

const bytesOf = (body: unknown): Buffer => Buffer.from(JSON.stringify(body));
const targetOf = (upstream: Dialect) => ({ model: 'bench', capabilities: capabilitiesOf(STYLE[upstream], 'bench') });

/** The history as a client of another dialect has it. */
function convertTo(client: Dialect): Buffer {
  const pair = pairOf({ client: 'messages', upstream: client });
  const request = pair.client.decodeRequest(parseBody(bytesOf(HISTORY), new StepBudget()), { headers: {} });
  return bytesOf(encodeRequestFor(pair, request, targetOf(client)).body);
}

const STYLE = {
  messages: 'messages',
  chat: 'responses',
  responses: 'responses',
  generate: 'generate-content',
} as const;

// ---------------------------------------------------------------- the history

/** A third of the turns use a tool. Most of the size is in tool results, as in real agent conversations. */
const LONG = 'The tests ran and most of them passed; one line of the log says what was wrong with the others.\n'.repeat(
  Math.round(BYTES / TURNS / 96),
);
const SCHEMA = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] };
const TOOL = { name: 'shell', description: 'Runs a command.', input_schema: SCHEMA };
const HISTORY = {
  model: 'bench',
  max_tokens: 1024,
  tools: [TOOL],
  messages: [
    { role: 'user', content: 'Begin.' },
    ...Array.from({ length: TURNS / 2 }, (_, n) => [
      {
        role: 'assistant',
        content: [
          { type: 'text', text: LONG },
          { type: 'tool_use', id: `toolu_${n}`, name: TOOL.name, input: { command: `npm test ${n}` } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${n}`, content: LONG }] },
    ]).flat(),
  ],
};

const [from, to] = process.argv.slice(2) as [Dialect?, Dialect?];
if (from && to) console.log(JSON.stringify(await measure(from, to)));
else report();
