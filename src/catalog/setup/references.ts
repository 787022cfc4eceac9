/** Checks of a configuration file beyond its schema: references between objects, duplicates, unchanged styles. */
import { FEATURES, kindOffers, OPT_IN_FEATURES, offerable, sheetOf, type VideoVariant } from '../../rules/index.ts';
import { isVideoCapability, type ModelCapabilities, type SetupFile } from '../../schemas/index.ts';
import { type CloudAccount, cloudErrors } from './cloud-errors.ts';

export interface Known {
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
      duplicates(file, list, ({ id }) => [id]),
    ),
    ...duplicates(file, 'keys', ({ user, group, name = 'default' }) => [`${user}/${group}/${name}`]),
    ...duplicates(file, 'keys', ({ key, key_sha256: hash }) => [key, hash].filter((one) => one !== undefined), '.key'),
    ...duplicates(file, 'models', ({ id, groups }) => groups.map((group) => `${id} in group ${group}`)),
    ...changedStyles(file, known),
    ...file.accounts.flatMap((account, n) => [
      ...groupsNamed(account).flatMap(([field, group]) => needGroup(`accounts[${n}].${field}`, group)),
      ...accountErrors(account, (id) => groups.get(id)?.style, `accounts[${n}].`),
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
      ...groupsNamed(key).flatMap(([field, group]) => needGroup(`keys[${n}].${field}`, group, 'provider')),
      ...(key.video_groups ?? []).flatMap((group, m) => needGroup(`keys[${n}].video_groups[${m}]`, group, 'video')),
      ...(users.has(key.user)
        ? []
        : [`keys[${n}].user: found "${key.user}", expected a user of the file or the database`]),
    ]),
  ];
}

const groupsNamed = ({ group, groups }: { readonly group: string; readonly groups?: readonly string[] | undefined }) =>
  groups ? groups.map((id, n) => [`groups[${n}]`, id] as const) : [['group', group] as const];

/** An entry may have several names; each name must be unique. `field` is a secret, so that its value is not shown. */
function duplicates<L extends keyof SetupFile>(
  file: SetupFile,
  list: L,
  namesOf: (entry: SetupFile[L][number]) => readonly string[],
  field = '',
): string[] {
  const seen = new Set<string>();
  return file[list].flatMap((entry, index) =>
    namesOf(entry).flatMap((name) => {
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
  Pick<SetupFile['accounts'][number], 'group' | 'groups' | 'group_features'> &
  CloudAccount;

/** What an account must not have in its groups. `path` goes before the name of each field. */
export function accountErrors(
  account: CheckedAccount,
  styleOf: (group: string) => string | undefined,
  path = '',
): string[] {
  const { group, groups = [group] } = account;
  const styles = [...new Set(groups.map(styleOf))];
  const ofOne = (style: string | undefined): string[] => [
    ...adapterErrors(path, account, style),
    ...cloudErrors(path, account, style),
  ];
  return [
    ...(styles.length > 1 && styles.includes('video')
      ? [`${path}groups: found video groups beside others, expected groups of one kind`]
      : []),
    ...unsupportedFeatures(`${path}features`, account, styles),
    ...Object.entries(account.group_features ?? {}).flatMap(([id, features]) =>
      groups.includes(id)
        ? unsupportedFeatures(`${path}group_features.${id}`, { ...account, features }, [styleOf(id)])
        : [`${path}group_features.${id}: found features, expected a group of the account`],
    ),
    ...presetErrors(path, account, styles),
    ...new Set(styles.flatMap(ofOne)),
  ];
}

export const possibleFeatures = ({ cloud }: CloudAccount, style: string | undefined): string[] =>
  style !== undefined && style in FEATURES
    ? [...FEATURES[style as keyof typeof FEATURES], ...OPT_IN_FEATURES[style as keyof typeof FEATURES]].filter(
        (feature) => kindOffers(cloud?.kind, style, feature),
      )
    : [];

function unsupportedFeatures(path: string, account: CheckedAccount, styles: readonly (string | undefined)[]): string[] {
  const possible = [...new Set(styles.flatMap((style) => possibleFeatures(account, style)))];
  return (account.features ?? [])
    .filter((feature) => !possible.includes(feature))
    .map((feature) => `${path}: found "${feature}", expected some of ${possible.join(', ')}`);
}

/** Chat completions are a dialect of the responses style only. */
function presetErrors(path: string, account: CheckedAccount, styles: readonly (string | undefined)[]): string[] {
  if (account.preset === undefined || styles.includes(undefined) || styles.includes('responses')) return [];
  return [`${path}preset: found "${account.preset}", expected it only in a group of style responses`];
}

function adapterErrors(path: string, account: CheckedAccount, style: string | undefined): string[] {
  const { adapter = 'ark', cloud, assets } = account;
  if (style !== 'video')
    return [
      ...(adapter === 'ark' ? [] : [`${path}adapter: found "${adapter}", expected it only in a video group`]),
      ...(cloud?.storage === undefined
        ? []
        : [`${path}cloud.storage: found a value, expected it only in a video group`]),
    ];
  if (adapter === 'dragoman') return dragomanErrors(path, account);
  const misplaced =
    cloud && adapter !== 'veo' ? [`${path}cloud: found one, expected it only with the adapter veo`] : [];
  if (adapter === 'ark') return misplaced;
  const library = assets ? [`${path}assets: found settings, expected none; ${adapter} has no asset library`] : [];
  return [...misplaced, ...library, ...storageErrors(path, account)];
}

/** Without a bucket the cloud sends videos inside of its answers, which have no limit. An API key opens no bucket. */
function storageErrors(path: string, { cloud }: CheckedAccount): string[] {
  if (!cloud) return [];
  return [
    ...(cloud.storage === undefined ? [`${path}cloud.storage: not found, expected a bucket for the videos`] : []),
    ...(cloud.auth === 'api-key' ? [`${path}cloud.auth: found "api-key", expected a way that opens the bucket`] : []),
  ];
}

/** The tasks and assets of another Dragoman have different paths below one address. */
function dragomanErrors(path: string, account: CheckedAccount): string[] {
  const suffix = /\/(?:api\/v3|v1)\/*$/.exec(new URL(account.base_url).pathname)?.[0];
  return [
    ...(suffix === undefined
      ? []
      : [`${path}base_url: found "${suffix}" at the end, expected the address of the other gateway without it`]),
    ...(account.assets ? [`${path}assets: found settings, expected none; the other gateway uses api_key`] : []),
    ...(account.cloud ? [`${path}cloud: found one, expected none with the adapter dragoman`] : []),
  ];
}

export interface GroupKind {
  readonly style: string;
  readonly variant: VideoVariant | undefined;
}

export function checkModelCapabilities(file: SetupFile, groups: ReadonlyMap<string, GroupKind>): string[] {
  return file.models.flatMap(({ id, capabilities = {}, free, groups: ids }, index) => {
    const kinds = ids.flatMap((id) => groups.get(id) ?? []);
    const variants = kinds.flatMap(({ variant }) => variant ?? []);
    if (free && variants.length > 0)
      return [`models[${index}].free: found true, expected a price; video models have one`];
    const foreign = Object.keys(capabilities).filter((name) =>
      kinds.some(({ style }) => (style === 'video') !== isVideoCapability(name)),
    );
    return [
      ...foreign.map((name) => `models[${index}].capabilities.${name}: no such field of ${kindOf(kinds)} models`),
      ...variants.flatMap((variant) =>
        beyondSheet(capabilities, variant, id).map((problem) => `models[${index}].capabilities.${problem}`),
      ),
    ];
  });
}

const kindOf = (kinds: readonly GroupKind[]): string =>
  kinds.some(({ style }) => style === 'video') ? 'video' : 'text and image';

/**
 * A model cannot offer more than the sheet that it extends. A list without a valid value would leave nothing to offer.
 */
function beyondSheet(capabilities: ModelCapabilities, variant: VideoVariant, id: string): string[] {
  const possible = offerable(variant, capabilities, id);
  const owner = possible.name === variant ? `variant ${variant}` : `the sheet ${possible.name}`;
  const words = (['resolutions', 'ratios'] as const).flatMap((name) =>
    (capabilities[name] ?? []).flatMap((word, n) =>
      (possible[name] as readonly string[]).includes(word)
        ? []
        : [`${name}[${n}]: found "${word}", expected one of ${possible[name].join(', ')}, which ${owner} has`],
    ),
  );
  const { min, max } = sheetOf(variant, capabilities, id).parameters.duration;
  const { default_duration: length = min } = capabilities;
  const bound = length < min ? `at least ${min}` : `at most ${max}`;
  return length < min || length > max ? [...words, `default_duration: found ${length}, expected ${bound}`] : words;
}
