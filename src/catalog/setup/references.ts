/** Checks of a configuration file beyond its schema: references between objects, duplicates, unchanged styles. */
import { FEATURES, kindOffers, OPT_IN_FEATURES } from '../../rules/index.ts';
import type { SetupFile } from '../../schemas/index.ts';
import { type CloudAccount, cloudErrors } from './cloud-errors.ts';
import { checkModelCapabilities, type GroupKind } from './model-capabilities.ts';

/** Objects in the database that a file may refer to. */
export interface Known {
  /** By the id of the group. */
  readonly groups: ReadonlyMap<string, GroupKind>;
  readonly users: ReadonlySet<string>;
}

/** With `prune`, groups that the file does not name are removed, so the file must not refer to them. */
export function checkReferences(file: SetupFile, known: Known, { prune = false } = {}): string[] {
  const named = file.groups.map(({ id, style, variant }): [string, GroupKind] => [id, { style, variant }]);
  const groups = new Map(prune ? named : [...known.groups, ...named]);
  const needGroup = groupCheck(groups, prune ? 'the file; pruning removes the others' : 'the file or the database');
  const users = new Set([...known.users, ...file.users.map((user) => user.id)]);
  return [
    ...(['groups', 'accounts', 'users', 'characters'] as const).flatMap((list) =>
      duplicates(
        list,
        file[list].map(({ id }) => [id]),
      ),
    ),
    ...duplicates(
      'keys',
      file.keys.map(({ user, group, name = 'default' }) => [`${user}/${group}/${name}`]),
    ),
    ...duplicates(
      'keys',
      file.keys.map(({ key }) => (key === undefined ? [] : [key])),
      '.key',
    ),
    ...duplicates(
      'models',
      file.models.map(({ id, groups }) => groups.map((group) => `${id} in group ${group}`)),
    ),
    ...changedStyles(file, known),
    ...file.accounts.flatMap((account, n) => [
      ...needGroup(`accounts[${n}].group`, account.group),
      ...accountErrors(account, groups.get(account.group)?.style, `accounts[${n}].`),
    ]),
    ...file.models.flatMap((model, n) =>
      model.groups.flatMap((group, m) => needGroup(`models[${n}].groups[${m}]`, group)),
    ),
    ...checkModelCapabilities(file, groups),
    ...file.characters.flatMap((character, n) => needGroup(`characters[${n}].group`, character.group, 'video')),
    ...file.users.flatMap((user, n) =>
      (user.key_groups ?? []).flatMap((group, m) => needGroup(`users[${n}].key_groups[${m}]`, group)),
    ),
    ...file.keys.flatMap((key, n) => [
      ...needGroup(`keys[${n}].group`, key.group, 'provider'),
      ...(key.video_groups ?? []).flatMap((group, m) => needGroup(`keys[${n}].video_groups[${m}]`, group, 'video')),
      ...(users.has(key.user)
        ? []
        : [`keys[${n}].user: found "${key.user}", expected a user of the file or the database`]),
    ]),
  ];
}

/** An entry may have several names; each name must be unique. `field` is a secret, so that its value is not shown. */
function duplicates(list: keyof SetupFile, names: readonly (readonly string[])[], field = ''): string[] {
  const seen = new Set<string>();
  return names.flatMap((own, index) =>
    own.flatMap((name) => {
      const shown = field === '' ? `"${name}"` : 'the same key value';
      if (seen.has(name)) return [`${list}[${index}]${field}: found ${shown} a second time, expected it once`];
      seen.add(name);
      return [];
    }),
  );
}

/** The style of a group cannot change, because its keys and accounts depend on it. */
const changedStyles = (file: SetupFile, known: Known): string[] =>
  file.groups.flatMap((group, n) => {
    const style = known.groups.get(group.id)?.style;
    return style === undefined || style === group.style
      ? []
      : [`groups[${n}].style: found "${group.style}", expected "${style}" as before; create a new group instead`];
  });

const groupCheck =
  (groups: Known['groups'], where: string) =>
  (path: string, id: string, kind?: 'video' | 'provider'): string[] => {
    const style = groups.get(id)?.style;
    if (style === undefined) return [`${path}: found "${id}", expected a group of ${where}`];
    if (kind === undefined || (style === 'video') === (kind === 'video')) return [];
    return [`${path}: found "${id}", expected a ${kind} group`];
  };

type CheckedAccount = Pick<SetupFile['accounts'][number], 'adapter' | 'base_url' | 'features' | 'preset' | 'assets'> &
  CloudAccount;

/** What an account must not have in a group of this style. `path` goes before the name of each field. */
export const accountErrors = (account: CheckedAccount, style: string | undefined, path = ''): string[] => [
  ...unsupportedFeatures(path, account, style),
  ...adapterErrors(path, account, style),
  ...presetErrors(path, account, style),
  ...cloudErrors(path, account, style),
];

function unsupportedFeatures(path: string, account: CheckedAccount, style: string | undefined): string[] {
  const all: readonly string[] =
    style !== undefined && style in FEATURES
      ? [...FEATURES[style as keyof typeof FEATURES], ...OPT_IN_FEATURES[style as keyof typeof FEATURES]]
      : [];
  const possible = all.filter((feature) => kindOffers(account.cloud?.kind, style ?? '', feature));
  return (account.features ?? [])
    .filter((feature) => !possible.includes(feature))
    .map((feature) => `${path}features: found "${feature}", expected some of ${possible.join(', ')}`);
}

/** Chat completions are a dialect of the responses style only. */
function presetErrors(path: string, account: CheckedAccount, style: string | undefined): string[] {
  if (account.preset === undefined || style === undefined || style === 'responses') return [];
  return [`${path}preset: found "${account.preset}", expected it only in a group of style responses`];
}

/** Accounts whose upstream is another Dragoman. Their tasks and assets have different paths below one address. */
function adapterErrors(path: string, account: CheckedAccount, style: string | undefined): string[] {
  if (account.adapter !== 'dragoman') return [];
  const suffix = /\/(?:api\/v3|v1)\/*$/.exec(new URL(account.base_url).pathname)?.[0];
  return [
    ...(style === 'video' ? [] : [`${path}adapter: found "dragoman", expected it only in a video group`]),
    ...(suffix === undefined
      ? []
      : [`${path}base_url: found "${suffix}" at the end, expected the address of the other gateway without it`]),
    ...(account.assets ? [`${path}assets: found settings, expected none; the other gateway uses api_key`] : []),
  ];
}
