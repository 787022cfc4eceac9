/**
 * A request to the gateway as a program: curl, Python, JavaScript. The playground shows it for what it sends, and /docs
 * for every operation. The official SDKs send the members of their call as the body, so that a program with an SDK
 * makes exactly this request.
 */

export type CodeLanguage = 'curl' | 'Python' | 'JavaScript';

export interface ApiRequest {
  /** The address of the gateway without a path. */
  readonly origin: string;
  readonly method: string;
  readonly path: string;
  /** Decides whether an SDK has a call for it. */
  readonly operation?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** In place of a body: fields, and names of files. */
  readonly form?: readonly FormMember[];
  /** The file for a response that is not text. */
  readonly output?: string;
  /** Takes no key. */
  readonly isOpen?: boolean;
}

export interface FormMember {
  readonly name: string;
  readonly value?: string;
  readonly file?: string;
}

interface SdkCall {
  readonly sdk: 'openai' | 'anthropic';
  readonly python: string;
  readonly javascript: string;
}

const openai = (javascript: string, python = javascript): SdkCall => ({ sdk: 'openai', javascript, python });

/** Calls that take the body of the request and nothing else. */
const SDK_CALLS: Readonly<Record<string, SdkCall>> = {
  'responses.create': openai('responses.create'),
  'responses.inputTokens': openai('responses.inputTokens.count', 'responses.input_tokens.count'),
  'responses.compact': openai('responses.compact'),
  'chat.create': openai('chat.completions.create'),
  'embeddings.create': openai('embeddings.create'),
  'images.generate': openai('images.generate'),
  'images.edit': openai('images.edit'),
  'messages.create': { sdk: 'anthropic', python: 'messages.create', javascript: 'messages.create' },
  'messages.count': { sdk: 'anthropic', python: 'messages.count_tokens', javascript: 'messages.countTokens' },
};

const KEY = 'DRAGOMAN_KEY';

interface SdkUse extends SdkCall {
  readonly baseUrl: string;
}

/** OpenAI's SDKs have the version in their base URL, and none for the paths at the root. */
function sdkOf({ origin, operation = '', body, form }: ApiRequest): SdkUse | undefined {
  const call = SDK_CALLS[operation.replace(/\.root$/, '')];
  if (!call || !(body || form)) return undefined;
  return { ...call, baseUrl: call.sdk === 'openai' && !operation.endsWith('.root') ? `${origin}/v1` : origin };
}

export const codeOf = (request: ApiRequest): Readonly<Record<CodeLanguage, string>> => ({
  curl: curlOf(request),
  Python: pythonOf(request),
  JavaScript: javascriptOf(request),
});

const isStream = ({ path, body, headers }: ApiRequest): boolean =>
  body?.stream === true || path.includes('alt=sse') || headers?.Accept === 'text/event-stream';

/** One argument of a command has at most 128 KiB on Linux. */
const MAX_ARGUMENT = 100_000;

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function curlOf(request: ApiRequest): string {
  const { origin, method, path, headers = {}, body, form = [], output, isOpen } = request;
  const usual = body || form.length > 0 ? 'POST' : 'GET';
  const flags = `${isStream(request) ? '-N ' : ''}${method === usual ? '' : `-X ${method} `}`;
  const json = body && JSON.stringify(body, null, 2);
  const lines = [
    `curl ${flags}${quoted(origin + path)}`,
    ...(isOpen ? [] : [`-H "Authorization: Bearer $${KEY}"`]),
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(json ? [`-H 'Content-Type: application/json'`] : []),
    ...form.map(({ name, value, file }) => `-F ${quoted(`${name}=${file === undefined ? value : `@${file}`}`)}`),
    ...(output ? [`-o ${output}`] : []),
    ...(json ? [json.length > MAX_ARGUMENT ? `-d @- <<'JSON'\n${json}\nJSON` : `-d ${quoted(json)}`] : []),
  ];
  return lines.join(' \\\n  ');
}

/** JSON is JavaScript; Python spells three values differently. Strings are the same in all three. */
function pythonValue(value: unknown, indent = ''): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}    `;
  const lines = Array.isArray(value)
    ? value.map((one) => pythonValue(one, inner))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonValue(one, inner)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return lines.length === 0
    ? `${open}${close}`
    : `${open}\n${lines.map((line) => `${inner}${line},\n`).join('')}${indent}${close}`;
}

/** Fields of a form for an SDK, which takes the files of one name as a list. */
function formCall(form: readonly FormMember[], open: (file: string) => string): [name: string, value: string][] {
  const files = new Map<string, string[]>();
  const members: [string, string][] = [];
  for (const { name, value, file } of form) {
    if (file === undefined) members.push([name, JSON.stringify(value)]);
    else files.set(name, [...(files.get(name) ?? []), open(file)]);
  }
  for (const [name, all] of files)
    members.push([name.replace('[]', ''), name === 'mask' ? (all[0] ?? '') : `[${all.join(', ')}]`]);
  return members;
}

function pythonOf(request: ApiRequest): string {
  const { origin, method, path, headers = {}, body, form, output, isOpen } = request;
  const call = sdkOf(request);
  if (call) {
    const [from, name] = call.sdk === 'openai' ? ['openai', 'OpenAI'] : ['anthropic', 'Anthropic'];
    const members = form
      ? formCall(form, (file) => `open(${JSON.stringify(file)}, "rb")`)
      : Object.entries(body ?? {}).map(([key, value]) => [key, pythonValue(value, '    ')]);
    return `import os

from ${from} import ${name}

client = ${name}(base_url="${call.baseUrl}", api_key=os.environ["${KEY}"])
reply = client.${call.python}(
${members.map(([key, value]) => `    ${key}=${value},\n`).join('')})
${isStream(request) ? 'for event in reply:\n    print(event)' : 'print(reply.to_json())'}
`;
  }
  const sent = { ...headers, ...(body && { 'Content-Type': 'application/json' }) };
  const lines = [
    ...(isOpen ? [] : [`"Authorization": "Bearer " + os.environ["${KEY}"]`]),
    ...Object.entries(sent).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`),
  ];
  const reading = isStream(request)
    ? '    for line in response:\n        print(line.decode(), end="")'
    : output
      ? `    with open("${output}", "wb") as file:\n        file.write(response.read())`
      : '    print(response.read().decode())';
  return `${body ? 'import json\n' : ''}${isOpen ? '' : 'import os\n'}import urllib.request

request = urllib.request.Request(
    ${JSON.stringify(origin + path)},
    method="${method}",
${lines.length > 0 ? `    headers={\n${lines.map((line) => `        ${line},\n`).join('')}    },\n` : ''}${
  body ? `    data=json.dumps(${pythonValue(body, '    ')}).encode(),\n` : ''
})
with urllib.request.urlopen(request) as response:
${reading}
`;
}

/** A member without quotes where JavaScript needs none, and each level two spaces deeper. */
const scriptValue = (value: unknown, indent: string): string =>
  JSON.stringify(value, null, 2)
    .replaceAll(/^( *)"([A-Za-z_$][\w$]*)":/gm, '$1$2:')
    .replaceAll('\n', `\n${indent}`);

/** A stream has no type of its own, and the provider asks for one. */
const scriptFile = (file: string): string =>
  `await toFile(createReadStream(${JSON.stringify(file)}), ${JSON.stringify(file)}, { type: 'image/${
    /\.jpe?g$/i.test(file) ? 'jpeg' : (/\.(\w+)$/.exec(file)?.[1]?.toLowerCase() ?? 'png')
  }' })`;

function javascriptOf(request: ApiRequest): string {
  const { origin, method, path, headers = {}, body, form, output, isOpen } = request;
  const call = sdkOf(request);
  if (call) {
    const [from, name] = call.sdk === 'openai' ? ['openai', 'OpenAI'] : ['@anthropic-ai/sdk', 'Anthropic'];
    const members = form
      ? `{\n${formCall(form, scriptFile)
          .map(([key, value]) => `  ${key}: ${value},\n`)
          .join('')}}`
      : scriptValue(body, '');
    return `${form ? "import { createReadStream } from 'node:fs';\n" : ''}import ${name}${form ? ', { toFile }' : ''} from '${from}';

const client = new ${name}({ baseURL: '${call.baseUrl}', apiKey: process.env.${KEY} });
const reply = await client.${call.javascript}(${members});
${isStream(request) ? 'for await (const event of reply) console.log(event);' : 'console.log(reply);'}
`;
  }
  const sent = { ...headers, ...(body && { 'Content-Type': 'application/json' }) };
  const lines = [
    ...(isOpen ? [] : [`Authorization: \`Bearer \${process.env.${KEY}}\``]),
    ...Object.entries(sent).map(([name, value]) => `'${name}': ${JSON.stringify(value)}`),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(lines.length > 0 ? [`headers: {\n${lines.map((line) => `    ${line},\n`).join('')}  }`] : []),
    ...(body ? [`body: JSON.stringify(${scriptValue(body, '  ')})`] : []),
  ];
  const reading = isStream(request)
    ? 'for await (const text of response.body.pipeThrough(new TextDecoderStream())) process.stdout.write(text);'
    : output
      ? `await writeFile('${output}', new Uint8Array(await response.arrayBuffer()));`
      : 'console.log(await response.text());';
  return `${output ? "import { writeFile } from 'node:fs/promises';\n\n" : ''}const response = await fetch(${JSON.stringify(origin + path)}${
    options.length > 0 ? `, {\n${options.map((line) => `  ${line},\n`).join('')}}` : ''
  });
if (!response.ok) throw new Error(await response.text());
${reading}
`;
}
