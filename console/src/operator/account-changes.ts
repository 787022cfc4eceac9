/**
 * What the form of an account changes. The address is shown without secrets, so a field that was left as it is must not
 * be sent.
 */
import type { ShownAccount } from '../../../src/schemas/index.ts';
import { texts } from '../texts.ts';
import { operatorTexts } from './texts.ts';

type Values = Readonly<Record<string, unknown>>;
const LIMITS = ['max_concurrency', 'rpm', 'tpm', 'cost_day', 'cost_month', 'polls_per_second'] as const;

export function changesOf(account: Partial<ShownAccount>, values: Values): Record<string, unknown> {
  // An emptied limit is removed.
  const limitsOf = (from: Values): Values => Object.fromEntries(LIMITS.map((name) => [name, from[name] ?? null]));
  // A credential and a proxy are shown in part, or not at all: what was entered is new.
  const before: Values = {
    ...account,
    ...limitsOf(account),
    preset: account.preset ?? 'auto',
    cloud: inOrder(account.cloud),
    api_key: undefined,
    proxy: undefined,
  };
  const after: Values = {
    ...values,
    ...limitsOf(values),
    models: parseMap(values.models),
    capabilities: parseObject(values.capabilities),
    cloud: inOrder(values.cloud),
  };
  return Object.fromEntries(
    Object.entries(after).filter(
      ([name, value]) => value !== undefined && JSON.stringify(value) !== JSON.stringify(before[name]),
    ),
  );
}

/** The database has an order of its own. */
const inOrder = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
    : undefined;

/** One line for each name: `gpt-5 = my-deployment`. */
export const mapText = (map: Readonly<Record<string, string>>): string =>
  Object.entries(map)
    .map(([name, target]) => `${name} = ${target}`)
    .join('\n');

function parseMap(text: unknown): Record<string, string> {
  const lines = String(text ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', target = ''] = line.split('=', 2).map((part) => part.trim());
      if (name === '' || target === '') throw new Error(operatorTexts.account.badMap(line));
      return [name, target];
    }),
  );
}

function parseObject(text: unknown): unknown {
  if (text === undefined) return {};
  try {
    return JSON.parse(String(text));
  } catch (error) {
    throw new Error(texts.form.notJson(error instanceof Error ? error.message : String(error)));
  }
}
