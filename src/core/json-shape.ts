/**
 * What is known of the objects in a JSON text (`src/rules/members/`). `scanMembers`
 * compares a body with it, and reports the first unknown member.
 */
import type { ObjectKinds } from '../rules/index.ts';
import type { ScanMark, ScanTrail, Tagged } from './scan-trail.ts';
import type { StepBudget } from './step-budget.ts';

export interface MemberShape {
  readonly name: string;
  readonly objects: Shape | undefined;
  readonly isFree: boolean;
  /** Reports the value where it is text, or free. */
  readonly tag: string | undefined;
  /** Reports the object that has the member. */
  readonly objectTag: string | undefined;
}

export interface TypeShape {
  readonly isFree: boolean;
  readonly tag: string | undefined;
  has(member: MemberShape): boolean;
}

export interface BodyShape {
  readonly request: Shape;
  /** Names of members and types that a scan reports wherever they stand. */
  readonly watched: NameTable<true>;
}

export interface Shape {
  readonly members: NameTable<MemberShape>;
  /** Undefined for objects without types. */
  readonly types: NameTable<TypeShape> | undefined;
  readonly untyped: TypeShape | undefined;
  readonly tag: string | undefined;
}

export class ShapeFindings {
  readonly shape: BodyShape;
  /** The body has a watched name, or one with an escape, which may be any. */
  isWatched = false;
  /** The first member or type that is not known. */
  unknown: string | undefined;
  readonly tagged: Tagged[] = [];
  /** Of the request whose body is compared. */
  readonly steps: StepBudget;
  /** Where the scan begins: the bytes in front of it were scanned before. */
  readonly known: ScanMark | undefined;
  /** Where a later scan could begin; undefined when it should not. */
  readonly marks: ScanMark[] | undefined;

  /** `trail`: of a scan of the same first bytes, or an empty one; without it no marks are kept. */
  constructor(shape: BodyShape, steps: StepBudget, trail?: ScanTrail) {
    this.steps = steps;
    this.shape = shape;
    this.known = trail?.marks.at(-1);
    this.marks = trail && [...trail.marks];
    if (!trail || !this.known) return;
    this.isWatched = this.known.isWatched;
    this.unknown = this.known.unknown;
    this.tagged.push(...trail.tagged);
  }
}

/** Values by name, found by the bytes of a name: a body has thousands of names, and no string is made of them. */
export class NameTable<T> {
  /** By the place that a name is given. */
  readonly #rows: ({ readonly bytes: Buffer; readonly value: T }[] | undefined)[] = Array(PLACES).fill(undefined);
  readonly #byName: ReadonlyMap<string, T>;

  constructor(entries: Iterable<readonly [string, T]>) {
    this.#byName = new Map(entries);
    for (const [name, value] of this.#byName) {
      const bytes = Buffer.from(name);
      const place = placeOf(bytes, 0, bytes.length);
      this.#rows[place] = [...(this.#rows[place] ?? []), { bytes, value }];
    }
  }

  at(bytes: Buffer, start: number, end: number): T | undefined {
    const rows = this.#rows[placeOf(bytes, start, end)];
    if (rows === undefined) return undefined;
    for (const row of rows) {
      if (row.bytes.length === end - start && isSame(row.bytes, bytes, start)) return row.value;
    }
    return undefined;
  }

  get(name: string): T | undefined {
    return this.#byName.get(name);
  }
}

const PLACES = 256;
/** By the length with the first and the last byte, between which few names of a table differ. */
const placeOf = (bytes: Buffer, start: number, end: number): number =>
  ((end - start) * 41 + (bytes[start] ?? 0) * 7 + (bytes[end - 1] ?? 0)) & (PLACES - 1);

function isSame(name: Buffer, bytes: Buffer, start: number): boolean {
  for (let at = 0; at < name.length; at += 1) {
    if (name[at] !== bytes[start + at]) return false;
  }
  return true;
}

const UNTYPED = 'none';
/** The member that decides about the others, in objects with types. */
export const TYPE_MEMBER: MemberShape = {
  name: 'type',
  objects: undefined,
  isFree: false,
  tag: undefined,
  objectTag: undefined,
};

/** `spellings` returns all names under which a member is read. */
export function shapeOf(
  kinds: ObjectKinds,
  watched: readonly string[] = [],
  spellings: (name: string) => readonly string[] = (name) => [name],
): BodyShape {
  const shapes = new Map<string, Shape>();
  const shapeOfKind = (name: string): Shape => {
    const known = shapes.get(name);
    if (known) return known;
    const kind = kinds[name];
    if (!kind) throw new TypeError(`${name} is not a kind of objects`);
    // Filled below, because kinds refer to themselves.
    const shape: { -readonly [K in keyof Shape]: Shape[K] } = { ...NOTHING, tag: kind.tags[''] };
    shapes.set(name, shape);
    const isTyped = Object.keys(kind.types).length > 0;
    const members = new Map<string, MemberShape>(isTyped ? [[TYPE_MEMBER.name, TYPE_MEMBER]] : []);

    const add = (words: readonly string[]): MemberShape[] =>
      words.flatMap((word) => {
        const [, own = '', inner, star, tag, objectTag] = MEMBER.exec(word) ?? [];
        return spellings(own).map((spelling) => {
          const member = members.get(spelling) ?? {
            name: own,
            objects: inner === undefined ? undefined : shapeOfKind(inner),
            isFree: star !== undefined,
            tag,
            objectTag,
          };
          members.set(spelling, member);
          return member;
        });
      });
    const common = add(kind.members);
    const rows = Object.entries(kind.types).map(
      ([type, text]) => [type, typeShape(new Set([...common, ...add(text)]), kind.tags[type])] as const,
    );
    const free = kind.free.map((type) => [type, freeType(kind.tags[type])] as const);
    shape.members = new NameTable(members);
    if (isTyped) shape.types = new NameTable([...rows, ...free]);
    shape.untyped = rows.find(([type]) => type === UNTYPED)?.[1];
    return shape;
  };
  return { request: shapeOfKind('request'), watched: new NameTable(watched.map((name) => [name, true])) };
}

/** `name:kind*=tag^tag` */
const MEMBER = /^([^:*=^]+)(?::(\w+))?(\*)?(?:=(\w+))?(?:\^(\w+))?$/;
const NOTHING: Shape = { members: new NameTable([]), types: undefined, untyped: undefined, tag: undefined };

const typeShape = (members: ReadonlySet<MemberShape>, tag: string | undefined): TypeShape => ({
  isFree: false,
  tag,
  has: (member) => members.has(member),
});
const freeType = (tag: string | undefined): TypeShape => ({ isFree: true, tag, has: () => true });
