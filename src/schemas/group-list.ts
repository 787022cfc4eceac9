/**
 * The groups of a key or an account: `group` names one, `groups` several in order. An entry has at least one of both.
 */
import { z } from 'zod';
import { MAX_GROUPS } from '../rules/index.ts';
import * as f from './field.ts';

export const groupList = z.array(f.text).min(1).max(MAX_GROUPS);

interface Grouped {
  readonly group?: string | undefined;
  readonly groups?: readonly string[] | undefined;
}

/** An entry with its group: the first of several, unless it names another of them. */
export const withGroup = <S extends z.ZodType<Grouped>>(schema: S) =>
  schema.transform((entry, context): z.output<S> & { readonly group: string } => {
    const { group = entry.groups?.[0], groups } = entry;
    const report = (path: string, expected: string): void =>
      context.addIssue({ code: 'custom', path: [path], message: expected });
    if (group === undefined) report('group', 'a group, or several in `groups`');
    else if (groups && !groups.includes(group)) report('groups', `"${group}" among them, as \`group\` says`);
    else if (groups && new Set(groups).size < groups.length) report('groups', 'each group once');
    return { ...entry, group: group ?? '' };
  });

interface StorableGroups {
  readonly group: string;
  readonly groups?: readonly string[] | null | undefined;
}

/** As it is stored: null for one group, which another column has. */
export function storedGroups({ group, groups }: StorableGroups): string[] | null | undefined {
  if (groups === undefined) return undefined;
  const isOne = groups === null || (groups.length === 1 && groups[0] === group);
  return isOne ? null : [...groups];
}

export const shownGroups = (row: { readonly group_id: string; readonly groups: readonly string[] | null }) =>
  row.groups ?? [row.group_id];
