/** All bounds of a request: of its input, its output, its tools and what it refers to by name. */
import { hasEscapedLetters, type Span, valueAt } from '../../core/index.ts';
import { GENERATION_LIMITS, type InferenceOperation } from '../../rules/index.ts';
import type { BodyFacts } from './call-facts.ts';
import type { MemberMap, Read } from './members.ts';
import { GENERATION_MEMBERS, outputBoundsOf } from './output-bounds.ts';
import { inputBoundsOf, inputBoundsOfBody, rejectRepeated } from './request-bounds.ts';
import { LIMITING, mayBeHosted, toolFactsOf } from './tool-bounds.ts';

/** Members that name what the provider has stored. Earlier responses are not among them: their size is known. */
export const STORED_MEMBERS = ['prompt', 'cachedContent', 'cached_content', 'container', 'conversation'] as const;

/** Bounds of a request that is parsed already. `bytes` is the size of its text. */
export const boundsOfRequest = (operation: InferenceOperation, request: MemberMap, bytes: number): BodyFacts =>
  bounds(operation, inputBoundsOf(request, bytes), (name) => request[name]);

/** Bounds of a JSON body by the spans of its members, most of which are not parsed. */
export function boundsOfBody(
  operation: InferenceOperation,
  body: Buffer,
  members: ReadonlyMap<string, Span>,
): BodyFacts {
  for (const name of GENERATION_LIMITS.config) rejectRepeatedIn(body, members.get(name), GENERATION_MEMBERS);
  const tools = members.get('tools');
  const parsesTools = tools !== undefined && mayHost(body.subarray(tools.start, tools.end));
  if (parsesTools) rejectRepeatedIn(body, tools, LIMITING);
  const parsed = parsesTools ? valueAt(body, tools) : tools && CLIENT_TOOLS;
  return bounds(operation, inputBoundsOfBody(body), (name) => {
    const span = name === 'tools' ? undefined : members.get(name);
    return name === 'tools' ? parsed : span && valueAt(body, span);
  });
}

/** Stands for tools that were not parsed, because the client runs them all. */
const CLIENT_TOOLS: readonly unknown[] = Object.freeze([]);

const mayHost = (tools: Buffer): boolean => hasEscapedLetters(tools) || mayBeHosted(tools);

function rejectRepeatedIn(body: Buffer, span: Span | undefined, watched: ReadonlySet<string>): void {
  if (span) rejectRepeated(body.toString('utf8', span.start, span.end), watched);
}

function bounds(operation: InferenceOperation, input: ReturnType<typeof inputBoundsOf>, read: Read): BodyFacts {
  const { bounds: tools, toolUses } = toolFactsOf(read, operation.startsWith('responses.'));
  return {
    ...input,
    ...tools,
    ...outputBoundsOf(operation, read),
    wholeContext: input.wholeContext ?? STORED_MEMBERS.find((name) => isNamed(name, read(name))),
    toolUses,
  };
}

/** The prompt of other operations is a text. */
const isNamed = (name: string, value: unknown): boolean =>
  value !== undefined && value !== null && (name !== 'prompt' || typeof value === 'object');
