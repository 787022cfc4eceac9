/**
 * `npm run gen -- schemas`: writes JSON schemas of the SDKs' types to test/schemas. Takes half a minute, so
 * `npm run gen` leaves it out; `npm run check` compares the versions and the source that the committed files name.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './modules.ts';

type Json = Readonly<Record<string, unknown>>;

/** Root type of each file, and the packages that its types come from. */
const FILES = {
  messages: { type: 'MessagesTypes', packages: ['@anthropic-ai/sdk', 'anthropic-0'] },
  chat: { type: 'ChatTypes', packages: ['openai'] },
  responses: { type: 'ResponsesTypes', packages: ['openai'] },
  generate: { type: 'GenerateTypes', packages: ['@google/genai'] },
  objects: { type: 'ObjectTypes', packages: ['@google/genai', 'openai'] },
} as const;
type FileName = keyof typeof FILES;
const NAMES = Object.keys(FILES) as FileName[];

const TYPES = 'test/schemas/types.ts';
const pathOf = (name: FileName): string => `test/schemas/${name}.json`;
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

export function checkSchemas(): string[] {
  return NAMES.filter((name) => {
    const { madeFrom } = JSON.parse(read(pathOf(name))) as { madeFrom: unknown };
    return JSON.stringify(madeFrom) !== JSON.stringify(sourcesOf(name));
  }).map((name) => `${pathOf(name)} belongs to other SDK versions or types; run "npm run gen -- schemas"`);
}

export function writeSchemas(): void {
  for (const name of NAMES) {
    writeFileSync(join(ROOT, pathOf(name)), schemaOf(name));
    console.log(`wrote ${pathOf(name)}`);
  }
}

/** The same of the packages that another folder has installed, into that folder. */
export function writeSchemasIn(folder: string): void {
  mkdirSync(join(folder, 'test/schemas'), { recursive: true });
  for (const file of [TYPES, 'tsconfig.json']) copyFileSync(join(ROOT, file), join(folder, file));
  for (const name of NAMES) writeFileSync(join(folder, `${name}.json`), schemaOf(name, folder));
}

/** What the schemas depend on: the installed versions of the SDKs, and the file that selects the types. */
function sourcesOf(name: FileName): Json {
  const versions = FILES[name].packages.map((sdk) => {
    const { version } = JSON.parse(read(`node_modules/${sdk}/package.json`)) as { version: string };
    return [sdk, version];
  });
  const hash = createHash('sha256').update(read(TYPES)).digest('hex').slice(0, 16);
  return { ...Object.fromEntries(versions), [TYPES]: hash };
}

/** Members that an SDK adds to what it receives. */
const ADDED_BY_SDK: Readonly<Record<string, readonly string[]>> = {
  Response: ['output_text'],
  GenerateContentResponse: ['sdkHttpResponse', 'automaticFunctionCallingHistory'],
};

function without(schema: unknown, members: readonly string[]): Json {
  const { properties, required, ...rest } = schema as { properties: Json; required?: readonly string[] };
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !members.includes(name))),
    ...(required && { required: required.filter((name) => !members.includes(name)) }),
  };
}

function schemaOf(name: FileName, folder = ROOT): string {
  const generator = join(ROOT, 'node_modules/ts-json-schema-generator/bin/ts-json-schema-generator.js');
  const options = ['--path', TYPES, '--type', FILES[name].type, '--tsconfig', 'tsconfig.json'];
  const output = execFileSync(
    process.execPath,
    [generator, ...options, '--no-type-check', '--expose', 'all', '--jsDoc', 'none', '--functions', 'hide'],
    { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 26 },
  );
  const { definitions } = JSON.parse(output) as { definitions: Json };
  const { [FILES[name].type]: root, ...named } = definitions;
  const { properties } = root as { properties: Json };
  // One definition per line, so that a new SDK version shows what it changes.
  const lines = Object.entries(named).map(([type, schema]) => {
    const members = ADDED_BY_SDK[type];
    return `${JSON.stringify(type)}:${JSON.stringify(members ? without(schema, members) : schema)}`;
  });
  const roots = Object.entries(properties).map(([root, schema]) => `"${root}":${JSON.stringify(schema)},\n`);
  return `{"madeFrom":${JSON.stringify(sourcesOf(name))},
${roots.join('')}"definitions":{
${lines.sort().join(',\n')}
}}
`;
}
