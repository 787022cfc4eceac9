/**
 * Reads the files in deploy/ for the checks that they are not stale: steps of the Dockerfile, and settings wherever
 * they are named.
 */
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ROOT } from './modules.ts';

export const DEPLOY = join(ROOT, 'deploy');

export const readDeploy = (name: string): string => readFileSync(join(DEPLOY, name), 'utf8');

/** deploy/kubernetes with all parts, and examples of the files that an operator makes. */
export function copyKustomization(folder: string): void {
  cpSync(join(DEPLOY, 'kubernetes'), folder, { recursive: true });
  cpSync(join(folder, 'secret.example.yaml'), join(folder, 'secret.yaml'));
  cpSync(join(DEPLOY, 'dragoman.example.yaml'), join(folder, 'dragoman.yaml'));
  const path = join(folder, 'kustomization.yaml');
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/^ {2}# (?=- \w+\.yaml$)/gm, '  '));
}

export interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** The instructions of the Dockerfile, by stage. */
export function dockerStages(): Instruction[][] {
  const lines = readDeploy('Dockerfile')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stages: Instruction[][] = [];
  for (const line of lines) {
    const [, name = '', text = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    if (name === 'FROM') stages.push([]);
    stages.at(-1)?.push({ name, text });
  }
  return stages;
}

type Yaml = Record<string, unknown>;

/**
 * The documents of all YAML files, with the name of their file. Templates of the chart are none; deploy/kubernetes is
 * made from them.
 */
export const yamlDocuments = (): { file: string; content: Yaml }[] =>
  globSync('**/*.yaml', { cwd: DEPLOY })
    .filter((file) => !file.startsWith('chart/'))
    .sort()
    .flatMap((file) =>
      parseAllDocuments(readDeploy(file)).map((document) => {
        if (document.errors[0]) throw document.errors[0];
        return { file, content: document.toJS() as Yaml };
      }),
    );

/** The member at a path such as `spec.template.spec`; a list is entered by number. */
export const at = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((inner, name) => (inner as Yaml | undefined)?.[name], value);

/** Values of settings in deploy/, by place. */
export function namedSettings(): { place: string; name: string; value: string }[] {
  const pairs = (place: string, text: string): { place: string; name: string; value: string }[] =>
    [...text.matchAll(/(?:^|\s)([A-Z][A-Z0-9_]+)=(\S*)/gm)].map(([, name = '', value = '']) => ({
      place,
      name,
      value,
    }));
  const members = (place: string, object: unknown) =>
    Object.entries((object ?? {}) as Yaml).map(([name, value]) => ({ place, name, value: String(value) }));
  const unit = readDeploy('dragoman.service');
  const docker = dockerStages().flat();
  return [
    ...docker.filter(({ name }) => name === 'ENV').flatMap(({ text }) => pairs('Dockerfile', text)),
    ...pairs('dragoman.service', [...unit.matchAll(/^Environment=(.*)$/gm)].map(([, text]) => text).join('\n')),
    ...pairs('dragoman.env.example', readDeploy('dragoman.env.example').replaceAll(/^#.*$/gm, '')),
    ...yamlDocuments().flatMap(({ file, content }) => [
      ...members(file, at(content, 'services.dragoman.environment')),
      ...members(file, content.data),
      ...members(file, content.stringData),
    ]),
  ];
}
