/** A line of the audit log in words: what, on which page, by whom, and the fields that differ. */
import type { ShownAuditLine } from '../../../src/schemas/index.ts';
import { language } from '../language.ts';
import type { Change } from '../parts/changes.tsx';
import { paths } from '../paths.ts';
import { operatorTexts } from './texts.ts';

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
/** Actions and fields are words of the API, in English; one without a translation stays as it is. */
const chinese = language === 'zh' ? await import('../zh/audit.ts') : undefined;
const plain = (name: string): string => sentence(name.replaceAll(/[._]+/g, ' '));
export const actionText = (action: string): string => chinese?.actions[action] ?? plain(action);
const fieldText = (name: string): string =>
  chinese
    ? name
        .split(' ')
        .map((word) => chinese.words[word] ?? word)
        .join(' ')
    : plain(name);

export const actorText = ({ actor, actor_name }: Pick<ShownAuditLine, 'actor' | 'actor_name'>): string =>
  actor_name ?? operatorTexts.audit.actors[actor] ?? operatorTexts.audit.someone;

/** `model:openai/gpt-5` has a page; `config` has none. */
export function subjectOf({ subject, before, after }: ShownAuditLine): {
  readonly text: string;
  readonly path: string | undefined;
} {
  const at = subject.indexOf(':');
  const [kind, id] = at === -1 ? [subject, ''] : [subject.slice(0, at), subject.slice(at + 1)];
  if (kind === 'model') {
    const slash = id.indexOf('/');
    const [group, model] = [id.slice(0, slash), id.slice(slash + 1)];
    return { text: operatorTexts.audit.modelOf(model, group), path: paths.model(group, model) };
  }
  const name = kind === 'person' ? ((after ?? before)?.name as string | undefined) : undefined;
  return { text: (name ?? id) || kind, path: PAGES[kind]?.(id) };
}

const PAGES: Readonly<Record<string, (id: string) => string>> = {
  account: paths.account,
  user: paths.user,
  key: paths.key,
  task: paths.task,
  callback: paths.callback,
  group: () => paths.groups,
  character: () => paths.characters,
  object: () => paths.objects,
  person: () => paths.people,
  record: () => paths.review,
  prices: () => paths.models,
  config: () => paths.models,
};

type Members = Readonly<Record<string, unknown>>;

/** The line has them in its other columns. */
const SAID: ReadonlySet<string> = new Set(['id', 'object', 'at', 'created_at', 'updated_at']);

/** Members that differ; of a created or deleted object all of them. */
export function changesOf({ action, before, after }: ShownAuditLine): Change[] {
  if (action === 'config.applied') return appliedChanges(after ?? {});
  const [left, right] = [flat(before ?? {}), flat(after ?? {})];
  return (
    [...new Set([...left.keys(), ...right.keys()])]
      .filter((name) => left.get(name) !== right.get(name) && !SAID.has(name))
      // What users pay comes first.
      .toSorted((one, other) => Number(one.startsWith('cost ')) - Number(other.startsWith('cost ')))
      .map((name) => ({ label: labelOf(name), before: left.get(name), after: right.get(name) }))
  );
}

/** `prices input` is the rate that users pay; `price` is the number of the version. */
const labelOf = (name: string): string =>
  name === 'price' ? operatorTexts.audit.priceVersion : fieldText(name.replace(/^prices /, 'price '));

/** What was created, changed and removed; the objects that changed have lines of their own. */
function appliedChanges({ changes }: Members): Change[] {
  const list = (Array.isArray(changes) ? changes : []) as readonly { readonly what: string; readonly object: string }[];
  return [...Map.groupBy(list, ({ what }) => what)].map(([what, ones]) => ({
    label: fieldText(what),
    before: undefined,
    after: ones.map(({ object }) => object).join('\n'),
  }));
}

/** Members of members have both names: `prices input`. */
function flat(members: Members, prefix = ''): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(members)) {
    const label = prefix === '' ? name : `${prefix} ${name}`;
    if (value === null || value === undefined || value === '') continue;
    if (typeof value === 'object' && !Array.isArray(value))
      for (const [inner, text] of flat(value as Members, label)) found.set(inner, text);
    else found.set(label, textOf(value));
  }
  return found;
}

const textOf = (value: unknown): string =>
  Array.isArray(value) && value.every((one) => typeof one !== 'object')
    ? value.join(', ')
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value);
