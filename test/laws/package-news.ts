/** What packages of SDKs and agent CLIs have, found in their files: paths, headers, betas, and members of Python's types. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BEDROCK_BETAS, ENDPOINTS, NOT_FORWARDED, PASSED_BACK, VIDEO_PARAMETERS } from '../../src/rules/index.ts';

const ROOT = join(import.meta.dirname, '../..');
const SDKS = ['openai', '@anthropic-ai/sdk', '@google/genai', '@anthropic-ai'];
/** `*.strings` has what was found in a binary. */
const SOURCES = '**/*.{mjs,js,strings}';

type Find = (
  folder: string,
  files: string,
  pattern: RegExp,
  nameOf: (match: RegExpMatchArray) => string | undefined,
) => Map<string, string>;

/** Names that no table has, with the package where each stands. */
export type Found = ReadonlyMap<string, string>;

/** What a pattern finds in files, each with the package where it stands. */
export const findIn =
  (cache: string): Find =>
  (folder, files, pattern, nameOf) => {
    const found = new Map<string, string>();
    for (const file of globSync(files, { cwd: join(cache, folder) }))
      for (const match of readFileSync(join(cache, folder, file), 'utf8').matchAll(pattern)) {
        const name = nameOf(match);
        if (name !== undefined && !found.has(name))
          found.set(name, folder === 'python' ? `Python ${file.split('/')[0]}` : folder.replace('node_modules/', ''));
      }
    return found;
  };

/** Paths that the SDKs call and no row of the endpoint table has. */
export function pathsOfSdks(find: Find): Found {
  const rows = Object.values(ENDPOINTS).flatMap(({ method, path }) =>
    [method, 'ANY'].map((one) => `${one} ${path.replaceAll(/\{\w+\}/g, '{}')}`),
  );
  const add = (method: string, path: string): string | undefined => {
    const whole = `${method.toUpperCase().replace('GETAPILIST', 'GET')} ${/^\/v\d/.test(path) ? path : `/v1${path}`}`
      .replaceAll(/\$\{[^}]*\}|\{\w+\}/g, '{}')
      .replace(/\?.*/, '');
    return rows.includes(whole) ? undefined : whole;
  };
  const stainless = /_client\.(get|post|delete|put|patch|getAPIList)\((?:path)?\s*[`'"](\/[^`'"]+)/g;
  return new Map([
    ...find('node_modules/openai', 'resources/**/*.mjs', stainless, ([, method = '', path = '']) => add(method, path)),
    ...find('node_modules/@anthropic-ai/sdk', 'resources/**/*.mjs', stainless, ([, method = '', path = '']) =>
      add(method, path),
    ),
    ...find('node_modules/@anthropic-ai', '*/*.strings', /"(\/v1\/[^"]+[^"/])"/g, ([, path = '']) => add('any', path)),
    ...find(
      'node_modules/@google/genai',
      'dist/node/index.mjs',
      /(?:formatMap|pathToFunc)\(['"]([^'"]+)['"]/g,
      ([, path = '']) =>
        add(
          'any',
          path.startsWith('/')
            ? path.replace('{api_version}', 'v1beta')
            : `/v1beta/${path}`.replace('{model}', 'models/{}'),
        ),
    ),
  ]);
}

export function headersOf(find: Find): Found {
  const name = /['"`]((?:x|anthropic|openai|chatgpt|codex|session|thread|conversation)-[a-z][a-z0-9-]{2,40})['"`]/gi;
  const headerIn = ([, found = '']: RegExpMatchArray): string | undefined => {
    const header = found.toLowerCase();
    return NOT_FORWARDED.has(header) || PASSED_BACK.has(header) ? undefined : header;
  };
  return new Map(SDKS.flatMap((folder) => [...find(`node_modules/${folder}`, SOURCES, name, headerIn)]));
}

export function betasOf(find: Find): Found {
  return find(
    'node_modules/@anthropic-ai',
    '**/*.{mjs,js,d.ts}',
    /['"`]([a-z][a-z0-9-]+-20\d\d-\d\d-\d\d)['"`]/g,
    ([, beta = '']) => (BEDROCK_BETAS.has(beta) ? undefined : beta),
  );
}

/** Members of Python's types of requests; the types of JavaScript are compared in full. */
export function membersOfPython(find: Find): Found {
  const tables = globSync('src/rules/members/*.ts', { cwd: ROOT }).map((file) =>
    readFileSync(join(ROOT, file), 'utf8'),
  );
  const known = new Set(tables.join('\n').match(/\w+/g));
  const camel = (name: string): string => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const files =
    '{openai,anthropic}/types/{chat/completion,responses/response,message,image,embedding,beta/message}*_params.py';
  return find(
    'python',
    files,
    /^ {4}(\w+): (?:Required\[|Optional\[|Union\[|Iterable|str|int|float|bool)/gm,
    ([, name = '']) => (known.has(name) || known.has(camel(name)) ? undefined : name),
  );
}

export function parametersOfArk(find: Find): Found {
  const known = new Set<string>(VIDEO_PARAMETERS);
  return find(
    'python',
    '*arkruntime/types/content_generation/create_task*params.py',
    /^ {4}(\w+): /gm,
    ([, name = '']) => (known.has(name) ? undefined : name),
  );
}
