/** The fields of an image request that is converted, in a thread where its body is large. */
import { type PackedJson, packJson, unpackJson } from '../../core/index.ts';
import type { ThreadJob } from '../../platform/threads/index.ts';
import { IMAGE_FIELDS } from '../../rules/index.ts';
import { type JsonBody, parseBody } from './json-body.ts';

export const imageFieldsJob: ThreadJob<{ readonly bytes: Buffer }, JsonBody, { readonly bytes: Buffer }, PackedJson> = {
  module: import.meta.url,
  name: 'imageFieldsJob',
  run: ({ bytes }, steps) => parseBody(bytes, steps),
  toReply: (body) => packJson(Object.fromEntries(Object.entries(body).map(withoutUnknown))),
  fromReply: (reply) => unpackJson(reply) as JsonBody,
};

/** Of a member that no table knows, only its name is of use. */
const withoutUnknown = ([name, value]: [string, unknown]): [string, unknown] => [
  name,
  name === 'model' || Object.hasOwn(IMAGE_FIELDS, name) || value === null ? value : true,
];
