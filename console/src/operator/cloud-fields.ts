/**
 * The fields of an account at a cloud, from the tables of its kinds: what the kind and the way to sign in need and
 * take.
 */

import {
  ACCOUNT_KIND_NAMES,
  type AccountKind,
  accountKind,
  CLOUD_SETTINGS,
  type CloudSetting,
  cloudAuth,
  settingsOfCloud,
} from '../../../src/rules/account-kinds.ts';
import type { GroupStyle, ShownAccount } from '../../../src/schemas/index.ts';
import { t } from '../language.ts';
import type { FieldSpec, FormValues } from '../parts/form.tsx';
import { operatorTexts } from './texts.ts';

export type CloudChoice = AccountKind | 'none';
const PREFIX = 'cloud.';

/** Empty for a style that no cloud hosts. */
export const cloudChoices = (style: GroupStyle): readonly (readonly [CloudChoice, string])[] => {
  const kinds = ACCOUNT_KIND_NAMES.filter((kind) => accountKind(kind).styles.some((one) => one === style));
  if (kinds.length === 0) return [];
  return [['none', operatorTexts.account.noCloud], ...kinds.map((kind) => [kind, accountKind(kind).label] as const)];
};

export const authChoices = (kind: AccountKind): readonly (readonly [string, string])[] =>
  Object.entries(accountKind(kind).auths).map(([auth, { label }]) => [auth, t(label)] as const);

/** Where the account is, and how it signs in. */
export const cloudText = ({ kind, auth }: NonNullable<ShownAccount['cloud']>): string =>
  `${accountKind(kind).label} · ${t(cloudAuth({ kind, auth })?.label ?? auth)}`;

/** What a new account offers, where its cloud has another API for the same style. */
export const apiFeatures = (kind: AccountKind, style: GroupStyle): readonly string[] | undefined => {
  const { speaksConverse, features } = accountKind(kind);
  return speaksConverse && style !== 'video' ? features[style] : undefined;
};

/** The address, the settings and the credential of a new account. */
export const newCloudFields = (kind: AccountKind, auth: string): readonly FieldSpec[] => [
  { name: 'base_url', label: 'Base URL', isRequired: true, value: accountKind(kind).baseUrl },
  ...settingFields(kind, auth),
  ...secretField(kind, auth, operatorTexts.account.add),
];

/** What an operator changes of a stored account. Other settings need the credential again. */
export const storedCloudFields = (cloud: NonNullable<ShownAccount['cloud']>): readonly FieldSpec[] => [
  ...settingFields(cloud.kind, cloud.auth, cloud),
  ...secretField(cloud.kind, cloud.auth, operatorTexts.account.keepCredential).map((field) => ({
    ...field,
    isRequired: false,
  })),
];

function settingFields(
  kind: AccountKind,
  auth: string,
  stored: Readonly<Record<string, string | undefined>> = {},
): readonly FieldSpec[] {
  const { needed, possible } = settingsOfCloud(kind, auth);
  return possible.map((name) => {
    const { label, about, fallback }: CloudSetting = CLOUD_SETTINGS[name];
    return {
      name: PREFIX + name,
      label,
      hint: t(about.replaceAll('`', '')),
      isRequired: needed.includes(name),
      value: stored[name],
      ...(fallback !== undefined && {
        placeholder: fallback.includes(' ') ? t(fallback.replaceAll('`', '')) : fallback,
      }),
    };
  });
}

function secretField(kind: AccountKind, auth: string, hint: string): readonly FieldSpec[] {
  const way = cloudAuth({ kind, auth });
  if (way?.secret === undefined) return [];
  return [
    {
      name: 'api_key',
      label: 'Credential',
      kind: way.isDocument ? 'area' : 'password',
      isRequired: true,
      hint: `${operatorTexts.account.holds(t(way.secret))} ${hint}`,
      autoComplete: 'off',
    },
  ];
}

/** The values of a form with the fields of the cloud in one member. */
export function withCloud(values: FormValues, kind: string, auth: string): Record<string, unknown> {
  const entries = Object.entries(values);
  const settings = entries.filter(([name]) => name.startsWith(PREFIX));
  return {
    ...Object.fromEntries(entries.filter(([name]) => !name.startsWith(PREFIX))),
    cloud: { kind, auth, ...Object.fromEntries(settings.map(([name, value]) => [name.slice(PREFIX.length), value])) },
  };
}
