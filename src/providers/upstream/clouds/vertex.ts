/**
 * Vertex AI: Google's models with bodies of the Gemini API,
 * apart from counts and embeddings; Anthropic's with the model in the path.
 */
import type { HttpRequest } from '../../../platform/http/index.ts';
import { type CloudUse, parseBase } from '../account-url.ts';
import { bearer } from './bearer.ts';
import type { Cloud, CloudServices } from './cloud.ts';
import { googleToken } from './google.ts';
import { changeMembers, MESSAGES_PATH, memberOf, wholeBody, withoutHeaders } from './json-members.ts';
import { googleError, withMessagesErrors } from './messages-errors.ts';
import { embeddingReply, predictBody } from './vertex-embeddings.ts';

const MESSAGES_VERSION = '"vertex-2023-10-16"';
/** The version has its place in the body here. */
const isNotSent = (name: string): boolean => name === 'anthropic-version';
const VERB = /^\/v1beta\/models\/([^:?]+):(\w+)(\?.*)?$/s;

export function vertex(services: CloudServices, { account, cloud }: CloudUse): Cloud {
  const { origin, prefix } = parseBase(account.baseUrl);
  const { project, location } = cloud;
  // Express mode has neither.
  const place = project === undefined ? '' : `/projects/${project}/locations/${location ?? 'global'}`;
  const modelPath = (publisher: string, model: string, verb: string, query = ''): string =>
    `${prefix}/v1${place}/publishers/${publisher}/models/${encodeURIComponent(model)}:${verb}${query}`;
  const token = bearer(services, { account, cloud }, googleToken);

  const messages = (request: HttpRequest, model: string): HttpRequest | undefined => {
    const body = wholeBody(request.body);
    if (!body) return undefined;
    const headers = withoutHeaders(request.headers, isNotSent);
    const [, operation] = MESSAGES_PATH.exec(request.path) ?? [];
    if (operation === undefined) return undefined;
    if (operation !== '') {
      const counted = changeMembers(body, { remove: [], add: { anthropic_version: MESSAGES_VERSION } });
      return { ...request, headers, path: modelPath('anthropic', 'count-tokens', 'rawPredict'), body: counted };
    }
    const verb = memberOf(body, 'stream')?.toString() === 'true' ? 'streamRawPredict' : 'rawPredict';
    const changed = changeMembers(body, { remove: ['model'], add: { anthropic_version: MESSAGES_VERSION } });
    return { ...request, headers, path: modelPath('anthropic', model, verb), body: changed };
  };

  const generate = (request: HttpRequest): HttpRequest | undefined => {
    const [, name = '', verb = '', query] = VERB.exec(request.path) ?? [];
    const model = decodeURIComponent(name);
    if (name === '') return undefined;
    const body = wholeBody(request.body);
    if (isPrediction(verb, model))
      return body && { ...request, path: modelPath('google', model, 'predict'), body: predictBody(body) };
    const path = modelPath('google', model, verb, query);
    return { ...request, path, body: verb === 'countTokens' && body ? countBody(body) : request.body };
  };

  // Results of videos: the credential goes to the store that the account names, whatever origin a request has.
  const storage = parseBase(cloud.storage_url ?? 'https://storage.googleapis.com');

  return {
    prepare(request, { style, model }) {
      if (request.path.startsWith(`${storage.prefix}/storage/v1/b/`)) return { ...request, origin: storage.origin };
      const prepared = style === 'messages' ? messages(request, model) : generate(request);
      return prepared && { ...prepared, origin };
    },
    sign: (request) =>
      cloud.auth === 'api-key'
        ? { ...request, headers: [...request.headers, 'x-goog-api-key', account.credential] }
        : token.sign(request),
    listen(listener, { style }, { path }) {
      if (style === 'messages') return withMessagesErrors(listener, googleError);
      const [, name = '', verb = ''] = VERB.exec(path) ?? [];
      return isPrediction(verb, decodeURIComponent(name)) ? embeddingReply(listener, verb) : undefined;
    },
    forget: token.forget,
  };
}

/** Later models have the method of the Gemini API for embeddings; earlier ones only the general one for predictions. */
const isPrediction = (verb: string, model: string): boolean =>
  (verb === 'embedContent' || verb === 'batchEmbedContents') && !/^gemini-embedding-(?!001)/.test(model);

/** The Gemini API accepts the whole request as a member, which Vertex does not have. */
function countBody(body: Buffer): Buffer {
  const inner = memberOf(body, 'generateContentRequest') ?? memberOf(body, 'generate_content_request');
  return inner ? changeMembers(Buffer.from(inner), { remove: ['model'], add: {} }) : body;
}
