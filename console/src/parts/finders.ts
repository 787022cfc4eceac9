/** What fields and the palette search in. */
import type { HitKind } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { mine } from '../api/user.ts';
import type { Finder } from './picker.tsx';

const PICKED = 20;

const finderOf = (kind: HitKind): Finder => ({
  name: kind,
  find: async (text, signal) => (await admin.search({ text, kinds: kind, limit: PICKED }, signal)).data,
});

export const finders = {
  user: finderOf('user'),
  key: finderOf('key'),
  account: finderOf('account'),
  group: finderOf('group'),
  model: finderOf('model'),
} as const;

export const ownKeys: Finder = {
  name: 'my-key',
  find: async (text, signal) => (await mine.search({ text, kinds: 'key', limit: PICKED }, signal)).data,
};
