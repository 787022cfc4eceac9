/** Response bodies without the differences that are allowed between an accumulated stream and a unary response. */
import type { Dialect } from '../../src/rules/index.ts';

type Body = Record<string, unknown>;
const listOf = (value: unknown): Body[] => (Array.isArray(value) ? (value as Body[]) : []);
const objectOf = (value: unknown): Body => (typeof value === 'object' && value !== null ? (value as Body) : {});

export const normalize = (client: Dialect, body: unknown): unknown => NORMALIZERS[client](objectOf(body));

const NORMALIZERS: Readonly<Record<Dialect, (body: Body) => unknown>> = {
  messages: (body) => body,
  responses: (body) => body,
  chat: normalizeChat,
  generate: normalizeGenerate,
};

/** A stream cannot express that a member is absent. */
function normalizeChat(body: Body): unknown {
  const { metadata: _, service_tier: __, usage, ...rest } = body;
  const choices = listOf(body.choices).map((choice) => {
    const message = objectOf(choice.message);
    const texts = ['content', 'reasoning_content', 'refusal'].map((name) => [name, message[name] ?? '']);
    const lists = ['tool_calls', 'annotations', 'images'].map((name) => [name, message[name] ?? []]);
    return { ...choice, message: { ...message, ...Object.fromEntries([...texts, ...lists]) } };
  });
  return { ...rest, choices, usage };
}

/** A stream splits texts, and a signature may follow its part on an empty one. */
function normalizeGenerate(body: Body): unknown {
  const candidates = listOf(body.candidates).map((candidate) => ({
    ...candidate,
    content: { role: 'model', parts: joinTexts(listOf(objectOf(candidate.content).parts)) },
  }));
  return { ...body, candidates };
}

function joinTexts(parts: readonly Body[]): Body[] {
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
