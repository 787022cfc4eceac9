/** The asset groups of all accounts. */

import type { Chance } from '../../chance.ts';
import type { Owner } from '../accounts.ts';
import type { SimClock } from '../clock.ts';
import type { VideoSettings } from '../settings.ts';
import type { AssetPlan, CallFault } from '../triggers.ts';
import { Collection, type LibraryItem } from './collection.ts';

/** `LivenessFace` groups belong to one person and come only from a validation. */
export const GROUP_TYPES = ['AIGC', 'LivenessFace'] as const;
export type GroupType = (typeof GROUP_TYPES)[number];

export interface Group extends LibraryItem {
  readonly type: GroupType;
  description: string;
}

interface NewGroup {
  owner: Owner;
  name: string;
  type: GroupType;
  description?: string;
  plan?: AssetPlan;
  faults?: CallFault[];
}

export class Groups extends Collection<Group> {
  readonly #clock: SimClock;
  readonly #settings: VideoSettings;
  readonly #chance: Chance;
  /** Called after a group is gone. */
  onRemove: (id: string) => void = () => {};

  constructor(clock: SimClock, settings: VideoSettings, chance: Chance) {
    super('group');
    this.#clock = clock;
    this.#settings = settings;
    this.#chance = chance;
  }

  create({ owner, name, type, description = '', plan = {}, faults = [] }: NewGroup): Group {
    const now = this.#clock.now();
    const id = this.#chance.id('group', now);
    const group: Group = {
      id,
      order: this.nextOrder(),
      account: owner.account,
      project: owner.project,
      name,
      type,
      description,
      createdAt: now,
      updatedAt: now,
      faults,
    };
    this.add(group);
    const lifetimeMs = plan.lifetimeMs ?? this.#settings.groupLifetimeMs;
    if (lifetimeMs > 0) this.#clock.at(now + lifetimeMs, () => this.remove(id));
    return group;
  }

  update(group: Group, change: Partial<Pick<Group, 'name' | 'description'>>): void {
    Object.assign(group, change, { updatedAt: this.#clock.now() });
  }

  /** Removes a group with all its assets. */
  remove(id: string): void {
    this.drop(id);
    this.onRemove(id);
  }

  /** For tests: the group disappears, as groups of some resellers do after a time. */
  vanish(id: string): void {
    this.remove(this.known(id).id);
  }
}
