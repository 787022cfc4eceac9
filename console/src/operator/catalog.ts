/** Lists that filters and forms choose from. They come from the catalog, never from logs. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { admin } from '../api/admin.ts';
import { allOf } from '../api/paths.ts';

const KEPT_MS = 30_000;

export const useGroups = () =>
  useQuery({ queryKey: ['groups', 'all'], queryFn: () => allOf(admin.groups), staleTime: KEPT_MS });
export const useAccounts = (refetchInterval: number | false = false) =>
  useQuery({ queryKey: ['accounts', 'all'], queryFn: () => allOf(admin.accounts), refetchInterval });
/** By account. The roll-ups are built every few seconds; a minute is soon enough for their readers. */
export const useAccountStats = (range: string) =>
  useQuery({
    queryKey: ['account-stats', range],
    queryFn: async () => new Map((await admin.accountStats({ range })).data.map((stats) => [stats.account, stats])),
    refetchInterval: 60_000,
    placeholderData: keepPreviousData,
  });
export const useModels = () =>
  useQuery({ queryKey: ['models', 'all'], queryFn: () => allOf(admin.models), staleTime: KEPT_MS });
/** Ids of the text groups, which keys belong to. */
export function useGroupIds(kind: 'all' | 'text' | 'video' = 'all'): string[] {
  const { data } = useGroups();
  return (data?.data ?? [])
    .filter(({ style }) => kind === 'all' || (kind === 'video') === (style === 'video'))
    .map(({ id }) => id);
}
