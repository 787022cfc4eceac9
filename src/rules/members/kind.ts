/**
 * How the tables of this folder are written. They say which members of a request are known not to raise its cost, or which function bounds
 * what they can cost. Every other member counts as the most that its model can cost (docs/adr/0021-unknown-members.md).
 *
 * A line is `kind: members`, or `kind(types): members` for objects by the value of `type`, without its date; the type `none` is that of objects
 * without one. `kind free: types` lists types of which nothing matters beyond its bytes. `^tag` before the colon reports the objects. Lines that begin
 * with a space go on. `@name: members` is a list that others repeat as `@name`. The kind `request` is the body itself; each of its lines
 * has a reason of `WHY`, and in brackets the presets of the servers that document the members.
 *
 * A member `name` is text, a number or a list of these; `name:kind` also holds objects of a kind; `name*` holds anything, which is not looked at.
 * `=tag` reports the value, `^tag` the object that has the member. `=model` names a model, `=cut` is not forwarded.
 */
import { CHAT_PRESET_NAMES } from '../chat-presets.ts';

/** Kinds of objects by name. `request` is the kind of the body itself. */
export type ObjectKinds = Readonly<Record<string, ObjectKind>>;

export interface ObjectKind {
  readonly members: readonly string[];
  readonly types: Readonly<Record<string, readonly string[]>>;
  readonly free: readonly string[];
  /** Tags by type; that of all objects has the empty name. */
  readonly tags: Readonly<Record<string, ObjectTag>>;
}

/** `media`: `request-bounds.ts` counts it. `tool`: `tool-bounds.ts` does. `again`: the provider reads the input once more.
 * `untyped`: may be a reference to a stored item. */
export type ObjectTag = 'media' | 'tool' | 'again' | 'untyped';

const WHY: Readonly<Record<string, string>> = {
  text: 'text and turns count by their bytes; media inside by `request-bounds.ts`',
  bounded: 'bounded by `output-bounds.ts`, `tool-bounds.ts` or `body-bounds.ts`',
  tier: 'a tier has a price or is refused (`tiers.ts`)',
  sampling: 'decides which tokens are written, within the output limit',
  within: 'what it makes the model write counts against the output limit',
  delivery: 'how the reply is sent, stored or named; it adds no tokens',
  label: 'names the caller, a cache or a session',
  caching: 'changes what input costs, within its rates',
  again: 'a summary of the conversation is a further pass over the input, which the bound adds',
  model: 'names a model, which is resolved and priced like that of the request',
  path: 'the path names the model, and the body can only repeat it',
  cut: 'identifies the organisation of the operator; not forwarded',
  place: 'where or by whom the model is run, at the price of its line',
  free: 'a classifier that no provider bills',
  narrowing: 'makes the provider read or search less',
  pictures: 'bounded by `imageTokens` and by the tokens of an input image (`images.ts`)',
  vectors: 'the form and the purpose of vectors',
};

const LINE = /^(@?\w+)(?:\(([\w ]+)\))?(?: (\w+))?(?: \[([\w ]+)\])?(?:\^(\w+))?:(.*)$/s;

interface OpenKind {
  readonly members: string[];
  readonly types: Record<string, readonly string[]>;
  readonly free: string[];
  readonly tags: Record<string, ObjectTag>;
}

/** Throws on a line that is not valid. */
export function readKinds(text: string): ObjectKinds {
  const lists = new Map<string, readonly string[]>();
  const kinds: Record<string, OpenKind> = {};
  for (const line of text.split(/\n(?=\S)/).filter((one) => one.trim() !== '')) {
    const [, name = '', types, word, presets, tag, rest = ''] = LINE.exec(line.trim()) ?? [];
    const isReasoned = name === 'request' ? WHY[word ?? ''] !== undefined : word === undefined || word === 'free';
    if (name === '' || !isReasoned || wordsIn(presets).some((one) => !CHAT_PRESET_NAMES.some((known) => known === one)))
      throw new TypeError(`Not a line of a table of members: ${line}`);
    const members = wordsIn(rest).flatMap((one) => lists.get(one) ?? one);
    if (name.startsWith('@')) lists.set(name, members);
    else {
      kinds[name] ??= { members: [], types: {}, free: [], tags: {} };
      const kind = kinds[name];
      if (word === 'free' && name !== 'request') kind.free.push(...members);
      else if (types === undefined) kind.members.push(...members);
      for (const type of wordsIn(types)) kind.types[type] = members;
      for (const type of tag ? (types === undefined ? [''] : wordsIn(types)) : []) kind.tags[type] = tag as ObjectTag;
    }
  }
  return kinds;
}

const wordsIn = (text = ''): string[] => text.split(/\s+/).filter((word) => word !== '');
