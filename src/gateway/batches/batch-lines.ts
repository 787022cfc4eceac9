/**
 * Where the requests of a batch are in its file: lines of JSON,
 * or the list of a messages-dialect body. Pure: a thread can do it.
 */
import {
  elementsAt,
  failAt,
  JsonScanError,
  measureMembers,
  membersAt,
  type Span,
  type StepBudget,
  valueAt,
} from '../../core/index.ts';
import type { ThreadJob } from '../../platform/threads/index.ts';
import { BATCH_REFUSED, BATCHES, JSON_LIMITS, REQUEST_LIMITS } from '../../rules/index.ts';
import { asJson } from '../request-scan.ts';

export interface BatchLine {
  readonly customId: string;
  /** Of its body. */
  readonly start: number;
  readonly bytes: number;
}

/** As OpenAI's batches report them. */
export interface LineError {
  readonly code: 'invalid_request';
  readonly message: string;
  readonly param: string;
  readonly line: number;
}

interface FoundLines {
  readonly lines: readonly BatchLine[];
  readonly errors: readonly LineError[];
}

/** The lines as columns of the database, in its notation of lists: many thousands of objects would take long to move. */
export interface BatchLines {
  readonly count: number;
  readonly customIds: string;
  readonly starts: string;
  readonly bytes: string;
  readonly errors: readonly LineError[];
}

interface LinesInput {
  readonly bytes: Buffer;
  /** That all lines name; undefined for the list of a messages-dialect body. */
  readonly url: string | undefined;
}

export const batchLinesJob: ThreadJob<LinesInput, BatchLines> = {
  module: import.meta.url,
  name: 'batchLinesJob',
  run({ bytes, url }, steps) {
    const { lines, errors } = url === undefined ? listedLines(bytes, steps) : linesOfFile(bytes, url, steps);
    return {
      count: lines.length,
      customIds: `{${lines.map(({ customId }) => quoted(customId)).join(',')}}`,
      starts: `{${lines.map(({ start }) => start).join(',')}}`,
      bytes: `{${lines.map((line) => line.bytes).join(',')}}`,
      errors,
    };
  },
};

/** Of a file, whose bytes are needed no further. */
export const linesOfFileJob: ThreadJob<LinesInput, BatchLines> = {
  ...batchLinesJob,
  name: 'linesOfFileJob',
  movesBytes: true,
};

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`;

const LIMITS = { depth: JSON_LIMITS.depth, tokens: REQUEST_LIMITS.steps } as const;
const NEWLINE = 0x0a;
const OPEN_OBJECT = 0x7b;

function listedLines(bytes: Buffer, steps: StepBudget): FoundLines {
  const { members, values } = asJson(() => measureMembers(bytes, new Set(['requests']), LIMITS));
  steps.take(values);
  const elements = elementsAt(bytes, members.get('requests'));
  if (elements.length === 0) throw failAt('invalid_value', 'requests', 'expected a list with at least one request.');
  if (elements.length > BATCHES.lines) throw failAt('invalid_value', 'requests', TOO_MANY);
  const seen = new Set<unknown>();
  const read = (span: Span, n: number): BatchLine => {
    const found = readLine(bytes, membersAt(bytes, span, LINE_MEMBERS), { body: 'params', seen });
    if ('message' in found) throw failAt('invalid_value', `requests[${n}].${found.param}`, found.message);
    return found;
  };
  return { lines: asJson(() => elements.map(read)), errors: [] };
}

function linesOfFile(bytes: Buffer, url: string, steps: StepBudget): FoundLines {
  const lines: BatchLine[] = [];
  const errors: LineError[] = [];
  const seen = new Set<unknown>();
  const report = (line: number, { param, message }: Fault): void =>
    void errors.push({ code: 'invalid_request', param, message, line });
  for (let start = 0, line = 1; start < bytes.length && errors.length < BATCHES.errors; line += 1) {
    const found = bytes.indexOf(NEWLINE, start);
    const end = found < 0 ? bytes.length : found;
    if (lines.length === BATCHES.lines) return { lines: [], errors: [{ ...EMPTY, message: TOO_MANY, line }] };
    const read = lineAt(bytes, { start, end }, { url, seen, steps });
    if (read && 'message' in read) report(line, read);
    else if (read) lines.push(read);
    start = end + 1;
  }
  return lines.length + errors.length === 0 ? { lines, errors: [{ ...EMPTY, line: 1 }] } : { lines, errors };
}

interface Fault {
  readonly param: string;
  readonly message: string;
}

/** Undefined for a line without content. */
function lineAt(
  bytes: Buffer,
  { start, end }: Span,
  { url, seen, steps }: { readonly url: string; readonly seen: Set<unknown>; readonly steps: StepBudget },
): BatchLine | Fault | undefined {
  const line = bytes.subarray(start, end);
  if (line.length < SHORT && line.toString().trim() === '') return undefined;
  try {
    const { members, values } = measureMembers(line, LINE_MEMBERS, LIMITS);
    steps.take(values);
    for (const [name, expected] of [
      ['method', 'POST'],
      ['url', url],
    ] as const) {
      const span = members.get(name);
      if ((span && valueAt(line, span)) !== expected) return { param: name, message: `expected "${expected}".` };
    }
    const found = readLine(line, members, { body: 'body', seen });
    return 'message' in found ? found : { ...found, start: start + found.start };
  } catch (error) {
    if (!(error instanceof JsonScanError || error instanceof SyntaxError)) throw error;
    return { param: 'line', message: error instanceof JsonScanError ? error.message : 'The line is not valid JSON.' };
  }
}

function readLine(
  bytes: Buffer,
  members: ReadonlyMap<string, Span>,
  { body, seen }: { readonly body: 'body' | 'params'; readonly seen: Set<unknown> },
): BatchLine | Fault {
  const idAt = members.get('custom_id');
  const customId = idAt && valueAt(bytes, idAt);
  if (typeof customId !== 'string' || customId === '' || customId.length > BATCHES.customIdChars)
    return { param: 'custom_id', message: `expected a text of 1 to ${BATCHES.customIdChars} characters.` };
  if (seen.size === seen.add(customId).size)
    return { param: 'custom_id', message: `"${customId.slice(0, 40)}" is there twice; each request needs its own.` };
  const span = members.get(body);
  if (!span || bytes[span.start] !== OPEN_OBJECT) return { param: body, message: 'expected a request as an object.' };
  for (const [name, value] of membersAt(bytes, span, REFUSED))
    if (valueAt(bytes, value) === true)
      return { param: `${body}.${name}`, message: 'a batch has whole replies only; leave the field out.' };
  return { customId, start: span.start, bytes: span.end - span.start };
}

const LINE_MEMBERS: ReadonlySet<string> = new Set(['custom_id', 'method', 'url', 'body', 'params']);
const REFUSED: ReadonlySet<string> = new Set(BATCH_REFUSED);
const SHORT = 1_024;
const TOO_MANY = `a batch has at most ${BATCHES.lines} requests.`;
const EMPTY = { code: 'invalid_request', param: 'input_file_id', message: 'The file has no requests.' } as const;
