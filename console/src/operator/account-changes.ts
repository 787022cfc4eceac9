/** What the form of an account changes. The address is shown without secrets, so a field that was left as it is must not be sent. */
import type { Account } from '../api/types.ts';
import { texts } from '../texts.ts';

type Values = Readonly<Record<string, unknown>>;

export function changesOf(account: Account, values: Values): Record<string, unknown> {
  const { api_key, proxy } = values;
  const before: Values = { ...account, preset: account.preset ?? 'auto', models: account.models ?? {} };
  const after: Values = {
    base_url: values.base_url,
    weight: values.weight,
    priority: values.priority,
    max_concurrency: values.max_concurrency,
    cost_multiplier: values.cost_multiplier,
    preset: values.preset,
    features: values.features,
    models: parseMap(values.models),
    capabilities: parseObject(values.capabilities),
  };
  const changed = Object.entries(after).filter(
    ([name, value]) => value !== undefined && JSON.stringify(value) !== JSON.stringify(before[name]),
  );
  return {
    ...Object.fromEntries(changed),
    ...(api_key !== undefined && { api_key }),
    ...(proxy !== undefined && { proxy }),
  };
}

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
      if (name === '' || target === '') throw new Error(texts.account.badMap(line));
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
