/** Reader of cassettes: files in which an HTTP recorder keeps requests and responses (VCR in YAML or JSON, HAR). */
import { parse, type ScalarTag } from 'yaml';
import { bytesOf, decompress } from './body.ts';
import { type Exchange, isRecord, type JsonRecord, jsonOf, listOf, recordOf, textOf } from './recording.ts';

/**
 * Returns undefined for a text that is not a cassette. An entry that is not an HTTP exchange becomes `undefined` in the
 * list.
 */
export function readCassette(name: string, text: string): readonly (Exchange | undefined)[] | undefined {
  const file = /\.ya?ml$/.test(name) ? parseYaml(text) : jsonOf(text);
  if (!isRecord(file)) return undefined;
  const har = recordOf(file.log).entries;
  if (Array.isArray(har)) return har.map((entry) => harExchange(recordOf(entry)));
  // The name of the list in VCR for Ruby is the second one. Some keep two lists instead.
  const list = file.interactions ?? file.http_interactions ?? pairsOf(file.requests, file.responses);
  return Array.isArray(list) ? list.map((entry) => vcrExchange(recordOf(entry))) : undefined;
}

/**
 * The recorders write YAML 1.1, in which binary bodies have a tag. Dates stay texts, as in the JSON that they come
 * from.
 */
function parseYaml(text: string): unknown {
  return parse(text, {
    version: '1.1',
    customTags: (tags) => [
      PLAIN_TEXT,
      RUBY_BINARY,
      ...tags.filter((tag) => typeof tag === 'string' || tag.tag !== 'tag:yaml.org,2002:timestamp'),
    ],
    logLevel: 'silent',
    maxAliasCount: -1,
    uniqueKeys: false,
  });
}

const pairsOf = (requests: unknown, responses: unknown): JsonRecord[] | undefined =>
  Array.isArray(requests) && Array.isArray(responses)
    ? requests.map((request, n) => ({ request, response: responses[n] }))
    : undefined;

/** Texts that the recorders do not quote, although YAML 1.1 reads them as booleans and numbers. */
const PLAIN_TEXT: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  test: /^(?:[yn]|[.]+)$/i,
  resolve: (text: string) => text,
};

/** VCR for Ruby writes the tag in this form. */
const RUBY_BINARY: ScalarTag = { tag: '!binary', resolve: (text: string) => Buffer.from(text, 'base64') };

// ---------------------------------------------------------------- VCR

function vcrExchange({ request, response }: JsonRecord): Exchange | undefined {
  if (!isRecord(request) || !isRecord(response)) return undefined;
  const url = textOf(request.uri) || textOf(request.url);
  if (url === '') return undefined;
  const responseHeaders = vcrHeaders(response.headers);
  return {
    method: textOf(request.method).toUpperCase(),
    url,
    requestHeaders: vcrHeaders(request.headers),
    requestBody: vcrBody(request),
    status: vcrStatus(response),
    responseHeaders,
    responseBody: decompress(vcrBody(response) ?? Buffer.alloc(0), responseHeaders['content-encoding']),
  };
}

/** A text or bytes, an object that holds them, or JSON that the recorder parsed. The recorder of opencode names the encoding of a text. */
function vcrBody({ body, parsed_body, bodyEncoding }: JsonRecord): Buffer | undefined {
  if (bodyEncoding === 'base64') return Buffer.from(textOf(body), 'base64');
  if (parsed_body !== undefined && parsed_body !== null) return Buffer.from(JSON.stringify(parsed_body), 'utf8');
  if (!isRecord(body) || body instanceof Uint8Array) return bytesOf(body);
  if (typeof body.base64_string === 'string') return Buffer.from(body.base64_string, 'base64');
  return bytesOf(body.string) ?? (Object.keys(body).length > 0 ? Buffer.from(JSON.stringify(body)) : undefined);
}

/** `{code, message}`, or a number with another name: `status_code`, `code`, `status: 200 OK`. */
const vcrStatus = ({ status, status_code, code }: JsonRecord): number =>
  Number.parseInt(String(recordOf(status).code ?? status_code ?? code ?? status), 10);

/** Values are texts or lists of them. */
const vcrHeaders = (headers: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(recordOf(headers)).map(([name, value]) => [
      name.toLowerCase(),
      String(Array.isArray(value) ? value[0] : value),
    ]),
  );

// ---------------------------------------------------------------- HAR

function harExchange({ request, response }: JsonRecord): Exchange | undefined {
  if (!isRecord(request) || !isRecord(response)) return undefined;
  const responseHeaders = harHeaders(response.headers);
  const content = recordOf(response.content);
  const body =
    content.encoding === 'base64' ? Buffer.from(textOf(content.text), 'base64') : Buffer.from(textOf(content.text));
  return {
    method: textOf(request.method).toUpperCase(),
    url: textOf(request.url),
    requestHeaders: harHeaders(request.headers),
    requestBody: bytesOf(recordOf(request.postData).text),
    status: Number(response.status),
    responseHeaders,
    responseBody: decompress(body, responseHeaders['content-encoding']),
  };
}

const harHeaders = (headers: unknown): Record<string, string> =>
  Object.fromEntries(listOf(headers).map(({ name, value }) => [textOf(name).toLowerCase(), textOf(value)]));
