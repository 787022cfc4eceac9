/** Bodies of the four dialects without the differences that a stream and a whole answer may have. */
import type { Dialect } from '../../src/rules/index.ts';

type Body = Record<string, unknown>;
const listOf = (value: unknown): Body[] => (Array.isArray(value) ? (value as Body[]) : []);
const objectOf = (value: unknown): Body => (typeof value === 'object' && value !== null ? (value as Body) : {});

/** The same for the sum of a stream and for the whole answer that it tells. */
export const plain = (client: Dialect, body: unknown): unknown => PLAIN[client](objectOf(body));

const PLAIN: Readonly<Record<Dialect, (body: Body) => unknown>> = {
  messages: (body) => body,
  responses: (body) => body,
  chat: plainChat,
  generate: plainGenerate,
};

/** A stream has no way to say that something is not there. */
function plainChat(body: Body): unknown {
  const { metadata: _, service_tier: __, usage, ...rest } = body;
  const choices = listOf(body.choices).map((choice) => {
    const message = objectOf(choice.message);
    const words = ['content', 'reasoning_content', 'refusal'].map((name) => [name, message[name] ?? '']);
    const lists = ['tool_calls', 'annotations'].map((name) => [name, message[name] ?? []]);
    return { ...choice, message: { ...message, ...Object.fromEntries([...words, ...lists]) } };
  });
  return { ...rest, choices, usage };
}

/** In a stream texts come in pieces, and a signature may follow the part that it belongs to on an empty one. */
function plainGenerate(body: Body): unknown {
  const candidates = listOf(body.candidates).map((candidate) => ({
    ...candidate,
    content: { role: 'model', parts: joined(listOf(objectOf(candidate.content).parts)) },
  }));
  return { ...body, candidates };
}

function joined(parts: readonly Body[]): Body[] {
  const result: Body[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    const sameKind = last !== undefined && 'text' in last && 'text' in part && last.thought === part.thought;
    if (sameKind && last.thoughtSignature === undefined) {
      result[result.length - 1] = { ...last, ...part, text: `${String(last.text)}${String(part.text)}` };
    } else if (part.text !== '' || part.thoughtSignature !== undefined) {
      result.push(part);
    }
  }
  return result;
}
