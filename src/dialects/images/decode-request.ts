/**
 * Decoder of an image request whose fields are valid: one user message, and the image as the only modality. The table in
 * rules/images.ts says which fields are dropped by name and which are rejected.
 */
import { CONVERTED_IMAGE_FIELDS, type ConvertedImageField, IMAGE_FIELDS, type ImageField } from '../../rules/index.ts';
import type { ClientRequestHead } from '../codec.ts';
import type { HubRequest, JsonObject } from '../hub/types.ts';
import { compact, isGiven, needObject, needString, optional, readBoolean, unsupported } from '../wire/read.ts';
import { settingsFor } from './sizes.ts';

export function decodeRequest(value: unknown, head: ClientRequestHead): HubRequest {
  const body = needObject(value, 'body');
  const given = FIELDS.filter(([name, rule]) => hasEffect(rule, body[name]));
  for (const [name, rule] of given) checkConvertible(name, rule, body[name]);
  const dropped = given.filter(([, { support }]) => support === 'dropped').map(([name]) => name);
  const size = optional(body, 'size', needString);
  return {
    dialect: 'images',
    model: head.model ?? needString(body.model, 'model'),
    stream: optional(body, 'stream', readBoolean) ?? false,
    system: [],
    items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: needString(body.prompt, 'prompt') }] }],
    tools: [],
    toolChoice: { kind: 'auto' },
    reasoning: {},
    output: compact({ format: { kind: 'text' } as const, modalities: ['image'] as const, image: settingsFor(size) }),
    limits: {},
    sampling: {},
    cache: {},
    state: {},
    meta: {},
    unknown: [...dropped, ...unknownFields(body)],
    clientOptions: {},
  };
}

const FIELDS = Object.entries(CONVERTED_IMAGE_FIELDS) as [ImageField, ConvertedImageField][];

const hasEffect = ({ neutral }: ConvertedImageField, value: unknown): boolean =>
  isGiven(value) && !neutral?.includes(value as string | number);

function checkConvertible(
  name: ImageField,
  { support, neutral = [], rejected }: ConvertedImageField,
  value: unknown,
): void {
  if (support !== 'rejected' && !rejected?.includes(value as string)) return;
  const advice = neutral.map((one) => JSON.stringify(one)).join(' or ');
  unsupported(name, `this model cannot do ${JSON.stringify(value)}; use ${advice}, or leave the field out.`);
}

const unknownFields = (body: JsonObject): string[] =>
  Object.keys(body).filter((name) => name !== 'model' && !Object.hasOwn(IMAGE_FIELDS, name) && isGiven(body[name]));
