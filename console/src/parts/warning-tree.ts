/** What differs between the warnings of operators and those of a user. */
import type { WarningAudience, WarningScope } from '../../../src/rules/warnings.ts';
import type { WarningsApi } from '../api/warnings.ts';
import type { Finder } from './picker.tsx';

export interface WarningTree {
  readonly api: WarningsApi;
  readonly audience: WarningAudience;
  /** The first part of the keys of its queries. */
  readonly name: string;
  /** Find what a rule can be about. */
  readonly finders: Partial<Readonly<Record<WarningScope, Finder>>>;
}
