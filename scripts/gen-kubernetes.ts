/**
 * The files of deploy/kubernetes, for kustomize: the templates of deploy/chart with its values. Understands the few
 * forms of Helm's language that the templates use and rejects others, so that `npm run gen` needs no Helm;
 * `npm run check` compares with it.
 */
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { at, DEPLOY, readDeploy } from './deploy-files.ts';

/** Parts that are off by default, by their template. kustomize users add them to `resources` themselves. */
const OPTIONAL: Readonly<Record<string, string>> = {
  'ingress.yaml': 'ingress',
  'autoscaler.yaml': 'autoscaler',
  'monitor.yaml': 'serviceMonitor',
};

/** Arguments of Helm that switch them on. */
export const ALL_PARTS = Object.values(OPTIONAL).map((part) => `--set=${part}.enabled=true`);
/** kustomize makes it from a file, with a name that changes with its content. */
const OWN_OF_HELM = new Set(['config.yaml']);

const HEAD = '# Generated from deploy/chart by "npm run gen".\n';
const SECRET_HEAD =
  '# Copy it to secret.yaml, fill it in, and do not commit it. Keep a copy of MASTER_KEY outside of the cluster.\n';

/** The content of each file by its path. */
export const renderKubernetes = (): [string, string][] =>
  globSync('chart/templates/*.yaml', { cwd: DEPLOY }).flatMap((path): [string, string][] => {
    const name = path.replace('chart/templates/', '');
    if (OWN_OF_HELM.has(name)) return [];
    const text = renderTemplate(readDeploy(path), valuesFor(name));
    return [
      name === 'secret.yaml'
        ? ['deploy/kubernetes/secret.example.yaml', SECRET_HEAD + text]
        : [`deploy/kubernetes/${name}`, HEAD + text],
    ];
  });

type Values = Record<string, unknown>;

function valuesFor(template: string): Values {
  const values = parse(readDeploy('chart/values.yaml')) as Values;
  const part = OPTIONAL[template];
  return part === undefined ? values : { ...values, [part]: { ...(values[part] as Values), enabled: true } };
}

const FILTERS: Readonly<Record<string, (value: unknown) => string>> = {
  quote: (value) => JSON.stringify(String(value)),
  lower: (value) => String(value).toLowerCase(),
  sha256sum: (value) => createHash('sha256').update(String(value)).digest('hex'),
};

const IF = /^\{\{- if (not )?\.Values\.([\w.]+) \}\}$/;
const END = '{{- end }}';
const YAML = /^\s*\{\{- toYaml \.Values\.([\w.]+) \| nindent (\d+) \}\}$/;
const VALUE = /\{\{ \.Values\.([\w.]+)(?: \| (\w+))? \}\}/g;

function renderTemplate(template: string, values: Values): string {
  const shown: boolean[] = [];
  const lines = template
    .trimEnd()
    .split('\n')
    .flatMap((line) => {
      const [isIf, not, condition = ''] = IF.exec(line) ?? [];
      if (isIf) shown.push(Boolean(at(values, condition)) !== Boolean(not));
      if (line === END) shown.pop();
      if (isIf || line === END || shown.includes(false)) return [];
      const [isYaml, path = '', indent = ''] = YAML.exec(line) ?? [];
      if (isYaml) return indented(stringify(at(values, path)), Number(indent));
      const text = line.replaceAll(VALUE, (_all, member: string, filter = '') =>
        (FILTERS[filter] ?? String)(at(values, member)),
      );
      if (text.includes('{{')) throw new Error(`the template has a form that is not known: ${line}`);
      return [text];
    });
  return `${lines.join('\n')}\n`;
}

const indented = (yaml: string, spaces: number): string[] =>
  yaml
    .trimEnd()
    .split('\n')
    .map((line) => ' '.repeat(spaces) + line);

interface KubernetesObject {
  readonly name: string;
  readonly text: string;
}

const objectsIn = (yaml: string): KubernetesObject[] =>
  parseAllDocuments(yaml).flatMap((document) => {
    const object = document.toJS() as Values | null;
    return object ? [{ name: `${object.kind} ${at(object, 'metadata.name')}`, text: canonical(object) }] : [];
  });

/**
 * Objects in which the chart differs from the generated files. Helm renders it with its own values, and with all parts.
 */
export function differingObjects(rendered: string, withAllParts: string): string[] {
  const own = renderKubernetes().flatMap(([, text]) => objectsIn(text));
  const usual = objectsIn(rendered).filter(({ name }) => name !== 'ConfigMap dragoman-config');
  const names = new Set(objectsIn(rendered).map(({ name }) => name));
  const helm = [...usual, ...objectsIn(withAllParts).filter(({ name }) => !names.has(name))];
  const textOf = new Map(helm.map(({ name, text }) => [name, text]));
  return [
    ...own.filter(({ name, text }) => textOf.get(name) !== text).map(({ name }) => `${name} is not what Helm renders`),
    ...helm.filter(({ name }) => !own.some((object) => object.name === name)).map(({ name }) => `${name} is missing`),
  ];
}

/** Helm sorts the members of values, so their order does not count. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
