/**
 * Options of hosted search tools: a restriction, which bounds reach or cost, is
 * rejected where it cannot be kept; a preference is dropped by name.
 */
import { rejectToolOption } from '../errors/rejection.ts';
import type { HubServerTool, ServerToolOptions } from '../hub/types.ts';

type Restriction = 'allowedDomains' | 'blockedDomains' | 'maxUses';
type Preference = 'userLocation' | 'contextSize';
export type SearchOptions = ReadonlySet<Restriction | Preference>;

/** Returns the dropped preferences under the client's names. Rejects a restriction that is not `supported`. */
export function checkSearchOptions(tool: HubServerTool, supported: SearchOptions): readonly string[] {
  const { options } = tool;
  for (const name of options.otherFilters ?? []) rejectOption(tool, `filters.${name}`);
  for (const option of RESTRICTIONS)
    if (isSet(options[option]) && !supported.has(option)) rejectOption(tool, nameOf(tool, option));
  const preferences = PREFERENCES.filter((option) => options[option] !== undefined && !supported.has(option));
  return [...preferences.map((option) => NAMES[option]), ...(options.otherOptions ?? [])];
}

const RESTRICTIONS: readonly Restriction[] = ['allowedDomains', 'blockedDomains', 'maxUses'];
const PREFERENCES: readonly Preference[] = ['userLocation', 'contextSize'];

const NAMES: Readonly<Record<Restriction | Preference, string>> = {
  allowedDomains: 'allowed_domains',
  blockedDomains: 'blocked_domains',
  maxUses: 'max_uses',
  userLocation: 'user_location',
  contextSize: 'search_context_size',
};

/** The responses dialect nests the domains. */
const nameOf = ({ raw }: HubServerTool, option: Restriction): string =>
  raw.filters === undefined ? NAMES[option] : `filters.${NAMES[option]}`;

/** An empty list of blocked domains blocks nothing. */
const isSet = (value: ServerToolOptions[Restriction]): boolean =>
  value !== undefined && (typeof value === 'number' || value.length > 0);

export function rejectOption({ tool }: HubServerTool, option: string, condition = 'with this model'): never {
  const section = tool === 'web_search' ? 'searchTool' : 'tools';
  return rejectToolOption(section, option, `The option ${option} of the tool '${tool}' cannot be kept ${condition}.`);
}
