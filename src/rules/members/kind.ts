/**
 * The form of the tables of this folder. They say which members of a request are known not to raise its cost, or which
 * function bounds what they can cost. Every other member counts as the most that its model can cost
 * (docs/adr/0021-unknown-members.md).
 *
 * A member `name` is text, a number or a list of these; `name:kind` also holds objects of a kind; `name*` holds
 * anything, which is not looked at. `=tag` reports the value, `^tag` the object that has the member. `=model` names a
 * model, `=cut` is not forwarded.
 */
import type { ChatPreset } from '../chat-presets.ts';

/** Kinds of objects by name. `request` is the kind of the body itself. */
export type ObjectKinds = Readonly<Record<string, ObjectKind>>;

export interface ObjectKind {
  readonly members: readonly string[];
  readonly types: Readonly<Record<string, readonly string[]>>;
  readonly free: readonly string[];
  /** Tags by type; that of all objects has the empty name. */
  readonly tags: Readonly<Record<string, ObjectTag>>;
}

/**
 * `media`: `request-bounds.ts` counts it. `tool`: `tool-bounds.ts` does. `again`: the provider reads the input once
 * more. `untyped`: may be a reference to a stored item.
 */
export type ObjectTag = 'media' | 'tool' | 'again' | 'untyped';

/** A kind as a table writes it. */
interface KindRow {
  /** Of all objects of the kind. */
  readonly members?: readonly string[];
  /** By the value of `type`, without its date; the type `none` is that of objects without one. */
  readonly types?: Readonly<Record<string, readonly string[]>>;
  /** Types of which nothing matters beyond their bytes. */
  readonly free?: readonly string[];
  /** Reports the objects: all of them, or those of a type. */
  readonly tag?: ObjectTag;
  readonly tags?: Readonly<Record<string, ObjectTag>>;
}

/** Why a member of the body is known. */
type Reason =
  /** Text and turns count by their bytes; media inside by `request-bounds.ts`. */
  | 'text'
  /** Bounded by `output-bounds.ts`, `tool-bounds.ts` or `body-bounds.ts`. */
  | 'bounded'
  /** A tier has a price or is refused (`tiers.ts`). */
  | 'tier'
  /** Decides which tokens are written, within the output limit. */
  | 'sampling'
  /** What it makes the model write counts against the output limit. */
  | 'within'
  /** How the reply is sent, stored or named; it adds no tokens. */
  | 'delivery'
  /** Names the caller, a cache or a session. */
  | 'label'
  /** Changes what input costs, within its rates. */
  | 'caching'
  /** A summary of the conversation is a further pass over the input, which the bound adds. */
  | 'again'
  /** Names a model, which is resolved and priced like that of the request. */
  | 'model'
  /** The path names the model, and the body can only repeat it. */
  | 'path'
  /** Identifies the organisation of the operator; not forwarded. */
  | 'cut'
  /** Where or by whom the model is run, at the price of its line. */
  | 'place'
  /** A classifier that no provider bills. */
  | 'free'
  /** Makes the provider read or search less. */
  | 'narrowing'
  /** Bounded by `imageTokens` and by the tokens of an input image (`images.ts`). */
  | 'pictures'
  /** The form and the purpose of vectors. */
  | 'vectors';

/** Members of the body with the reason why they are known. */
interface RequestRow {
  readonly why: Reason;
  /** Presets of the servers that document the members; absent for those of the provider itself. */
  readonly servers?: readonly ChatPreset[];
  readonly members: readonly string[];
}

/** The kinds that a table names after a colon. */
type NamedKind<T> = T extends string
  ? T extends `${string}:${infer Rest}`
    ? HeadOf<Rest>
    : never
  : T extends readonly (infer Item)[]
    ? NamedKind<Item>
    : { [K in keyof T]: NamedKind<T[K]> }[keyof T];
type HeadOf<S extends string> = S extends `${infer K}*${string}`
  ? K
  : S extends `${infer K}=${string}`
    ? K
    : S extends `${infer K}^${string}`
      ? K
      : S;

type Table = { readonly request: readonly RequestRow[] } & { readonly [kind: string]: KindRow | readonly RequestRow[] };

/** A table that names a kind without a row does not compile. */
export function objectKinds<const T extends Table>(
  table: T & ([NamedKind<T>] extends [keyof T] ? unknown : { readonly lacks: Exclude<NamedKind<T>, keyof T> }),
): ObjectKinds {
  const { request, ...kinds }: Table = table;
  return {
    request: kindOf({ members: request.flatMap(({ members }) => members) }),
    ...Object.fromEntries(Object.entries(kinds).map(([name, row]) => [name, kindOf(row as KindRow)])),
  };
}

const kindOf = ({ members = [], types = {}, free = [], tag, tags }: KindRow): ObjectKind => ({
  members,
  types,
  free,
  tags: { ...(tag && { '': tag }), ...tags },
});
