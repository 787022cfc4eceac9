/** All bounds of a request: of its input, its output, its tools and what it refers to by name. */
import { type ShapeFindings, type Span, type StepBudget, valueAt } from '../../core/index.ts';
import { GENERATION_LIMITS, type InferenceOperation } from '../../rules/index.ts';
import type { BodyFacts } from './call-facts.ts';
import type { MemberMap, Read } from './members.ts';
import { GENERATION_MEMBERS, outputBoundsOf } from './output-bounds.ts';
import { type InputBounds, inputBoundsOf, inputBoundsOfBody, rejectRepeated } from './request-bounds.ts';
import { LIMITING, type PlacedTool, toolFactsOf } from './tool-bounds.ts';

/** Members that name what the provider has stored. Earlier responses are not among them: their size is known. */
export const STORED_MEMBERS = [
  'prompt',
  'cachedContent',
  'cached_content',
  'container',
  'conversation',
  'thread',
] as const;

/** Bounds of a request that is parsed already. `bytes` is the size of its text. */
export const boundsOfRequest = (
  operation: InferenceOperation,
  request: MemberMap,
  bytes: number,
  steps: StepBudget,
): BodyFacts => bounds(operation, inputBoundsOf(request, bytes, steps), (name) => request[name]);

export interface ScannedMembers {
  readonly members: ReadonlyMap<string, Span>;
  readonly findings: ShapeFindings;
}

export function boundsOfBody(
  operation: InferenceOperation,
  body: Buffer,
  { members, findings: { tagged, unknown, steps } }: ScannedMembers,
): BodyFacts {
  for (const name of GENERATION_LIMITS.config) rejectRepeatedIn(body, members.get(name), GENERATION_MEMBERS);
  const tools = tagged
    .filter(({ tag }) => tag === 'tool')
    .map(({ path, span }): PlacedTool => {
      rejectRepeatedIn(body, span, LIMITING);
      return { path, tool: valueAt(body, span) };
    });
  const media = tagged.filter(({ tag }) => tag === 'media').map(({ span }) => span);
  const read: Read = (name) => {
    const span = members.get(name);
    // Whether there are any is all that is left to know of them.
    if (name === 'tools') return span && (body[span.start] === LETTER_N ? null : CLIENT_TOOLS);
    return valueAt(body, span);
  };
  return {
    ...bounds(operation, inputBoundsOfBody(body, steps, media), read, tools),
    unknown,
    rereads: tagged.some(({ tag }) => tag === 'again') ? 1 : 0,
  };
}

const LETTER_N = 0x6e;
/** Stands for tools that were not parsed, because the client runs them all. */
const CLIENT_TOOLS: readonly unknown[] = Object.freeze([]);

function rejectRepeatedIn(body: Buffer, span: Span | undefined, watched: ReadonlySet<string>): void {
  if (span) rejectRepeated(body.toString('utf8', span.start, span.end), watched);
}

function bounds(operation: InferenceOperation, input: InputBounds, read: Read, named?: readonly PlacedTool[]) {
  const { bounds: tools, toolUses } = toolFactsOf(read, operation.startsWith('responses.'), named);
  const output = outputBoundsOf(operation, read);
  return {
    ...input,
    ...tools,
    ...output,
    moreOutput: tools.moreOutput + (output.moreOutput ?? 0),
    wholeContext: input.wholeContext ?? STORED_MEMBERS.find((name) => isNamed(name, read(name))),
    toolUses,
  };
}

/** The prompt of other operations is a text. */
const isNamed = (name: string, value: unknown): boolean =>
  value !== undefined && value !== null && (name !== 'prompt' || typeof value === 'object');
