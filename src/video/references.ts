/**
 * References to private assets and public characters in a request (V 4.1): checked against their owner, kind, state and service group,
 * and translated to the provider's ids. An account that holds an asset must also run the task.
 */
import type { Group } from '../catalog/index.ts';
import { fail } from '../core/index.ts';
import type { Key } from '../identity/index.ts';
import type { MediaReference } from './request/task-request.ts';

export interface ResolvedReferences {
  /** The provider's id of each reference, by the index of its content item. */
  readonly upstreamIds: ReadonlyMap<number, string>;
  /** The account that holds the assets; undefined when any account of the group may run the task. */
  readonly accountId: string | undefined;
}

export interface ReferenceResolver {
  /** Throws the first error in the order of V 4.1: form, found, kind, invalid, ready, binding, space, usable, service group. */
  resolve(key: Key, group: Group, references: readonly MediaReference[]): Promise<ResolvedReferences>;
}

/** Until assets and characters are offered, no id can be found: the error of an unknown id. */
export const noReferences: ReferenceResolver = {
  async resolve(_key, _group, [first]) {
    if (first) throw fail(first.form === 'character' ? 'public_character_not_found' : 'asset_not_found');
    return { upstreamIds: new Map(), accountId: undefined };
  },
};
