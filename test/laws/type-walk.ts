/**
 * Every field of an SDK's type, each in a body that is minimal apart from it: every property path, every member of a union, every
 * value of an enumeration, lists by one element. A type does not occur twice on a path, so that recursion ends.
 */
import type { Dialect } from '../../src/rules/index.ts';
import type { JsonSchema } from '../support/json-schema.ts';
import { resolverOf, type Subject, sdkSchemas } from '../support/sdk-schemas.ts';

export type Json = Record<string, unknown>;

export interface FieldCase {
  /** Names from the body on, with the members of unions: `messages.content(image).source(base64).data`. */
  readonly label: string;
  /** The same without the members of unions, which is the form of `x-gateway-dropped`. */
  readonly path: string;
  readonly body: Json;
  /** The same body without the field, or with another value if the type requires the field. */
  readonly other: Json;
  readonly value: unknown;
}

/** What a type does not say about valid bodies. */
export interface BodyRules {
  /** Values of members, by the end of their path. */
  readonly examples: readonly (readonly [RegExp, unknown])[];
  /** Completes the members to a body that is valid. */
  place(members: Json): Json;
  /** Adds members that a valid object needs although its type does not require them. `field` is the one that the case sets. */
  complete(path: string, object: Json, field: string): Json;
  /** Members that are walked as one value, not inside. */
  readonly whole?: RegExp;
  /** Required members that may be null are null unless a case is about them, as in replies. */
  readonly prefersNull?: boolean;
}

/** Part of every text that a case sets. It is valid as a name, an id, Base64 and a part of a URL. */
export const MARK = 'markmark';
/** Takes its place in the field that the case is about. */
const OWN_MARK = 'ownowned';

/** Types nest no deeper than this; the bound only guards against a schema that does. */
const MAX_DEPTH = 24;

export function walkType(dialect: Dialect, subject: Subject, rules: BodyRules): readonly FieldCase[] {
  const walk = new Walk(dialect, rules);
  const place = (members: unknown): Json => rules.place(members as Json);
  walk.object(walk.plain(sdkSchemas(dialect)[subject]), { label: '', path: '', types: [], place });
  return walk.cases;
}

interface Position {
  readonly label: string;
  readonly path: string;
  /** Named types on the way here. */
  readonly types: readonly string[];
  /** Puts a value here into a complete body. */
  place(value: unknown): Json;
}

type ObjectSchema = Readonly<Record<string, unknown>>;

class Walk {
  readonly cases: FieldCase[] = [];
  readonly #rules: BodyRules;
  readonly #resolve: (ref: string) => JsonSchema;

  constructor(dialect: Dialect, rules: BodyRules) {
    this.#rules = rules;
    this.#resolve = resolverOf(dialect);
  }

  plain(schema: JsonSchema): ObjectSchema {
    let current = schema;
    while (typeof current === 'object' && typeof current.$ref === 'string') current = this.#resolve(current.$ref);
    return typeof current === 'object' ? current : {};
  }

  object(schema: ObjectSchema, at: Position): void {
    const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
    const required = (schema.required ?? []) as readonly string[];
    for (const [name, member] of Object.entries(properties)) {
      const minimal = at.path === '' ? {} : (this.#minimal(schema, at.path) as Json);
      const { [name]: _, ...base } = this.#rules.complete(at.path, minimal, name);
      const inner: Position = {
        label: at.label ? `${at.label}.${name}` : name,
        path: at.path ? `${at.path}.${name}` : name,
        types: at.types,
        place: (value) => at.place(value === undefined ? base : { ...base, [name]: value }),
      };
      this.#member(member, inner, required.includes(name) && !this.#isNull(member));
    }
  }

  #member(schema: JsonSchema, at: Position, isRequired: boolean): void {
    const types = typeof schema === 'object' && typeof schema.$ref === 'string' ? [...at.types, schema.$ref] : at.types;
    if (at.types.length > MAX_DEPTH || new Set(types).size < types.length) return;
    const form = this.plain(schema);
    const inner = { ...at, types };
    if (this.#rules.whole?.test(at.path)) this.#add(inner, this.#minimal(schema, at.path), undefined);
    else if (Array.isArray(form.anyOf)) this.#union(form.anyOf as JsonSchema[], inner, isRequired);
    else if (Array.isArray(form.enum)) this.#values(form.enum, inner, isRequired);
    else if (form.type === 'array') this.#list(form, inner, isRequired);
    else if (form.properties) this.#nested(form, inner, isRequired);
    else if ('const' in form) {
      // The members of a union are named by it; alone it has one value, which the body needs.
    } else this.#leaf(form, inner, isRequired);
  }

  #union(parts: readonly JsonSchema[], at: Position, isRequired: boolean): void {
    const members = parts.filter((part) => this.plain(part).type !== 'null');
    for (const part of members)
      this.#member(part, members.length > 1 ? { ...at, label: `${at.label}(${this.#nameOf(part)})` } : at, isRequired);
  }

  #nameOf(schema: JsonSchema): string {
    const form = this.plain(schema);
    const properties = (form.properties ?? {}) as Record<string, { const?: unknown }>;
    const named = properties.type?.const ?? properties.role?.const ?? form.const;
    if (named !== undefined) return String(named);
    if (typeof schema === 'object' && typeof schema.$ref === 'string') return schema.$ref.split('/').at(-1) ?? '';
    return String(form.type ?? 'any');
  }

  #values(values: readonly unknown[], at: Position, isRequired: boolean): void {
    const given = values.filter((value) => value !== null);
    for (const value of given) {
      const another = isRequired ? given.find((one) => one !== value) : undefined;
      this.#add({ ...at, label: `${at.label}=${value}` }, value, another);
    }
  }

  #list(form: ObjectSchema, at: Position, isRequired: boolean): void {
    const items = (form.items ?? {}) as JsonSchema;
    this.#member(items, { ...at, place: (value) => at.place(value === undefined ? undefined : [value]) }, isRequired);
  }

  #nested(form: ObjectSchema, at: Position, isRequired: boolean): void {
    const value = this.#rules.complete(at.path, this.#minimal(form, at.path) as Json, '');
    // An object without members says nothing.
    if (!isRequired && Object.values(value).some((member) => member !== null)) this.#add(at, value, undefined);
    this.object(form, at);
  }

  #leaf(form: ObjectSchema, at: Position, isRequired: boolean): void {
    const value = this.#minimal(form, at.path);
    const another = isRequired ? anotherValue(value) : undefined;
    this.#add(at, value, another);
    if ([form.type].flat().includes('boolean'))
      this.#add({ ...at, label: `${at.label}=false` }, false, isRequired ? true : undefined);
  }

  #add({ label, path, place }: Position, value: unknown, another: unknown): void {
    const own = typeof value === 'string' ? value.replace(MARK, OWN_MARK) : value;
    const [body, other] = [place(own), place(another)];
    // A value that the rest of the body depends on, such as the id of a call, has no other.
    if (JSON.stringify(body) === JSON.stringify(other)) return;
    this.cases.push({ label, path, value: own, body, other });
  }

  /** The smallest value of the type; objects have their required members only. */
  #minimal(schema: JsonSchema, path: string, depth = 0): unknown {
    const form = this.plain(schema);
    const example = this.#rules.examples.find(([end]) => end.test(path))?.[1];
    const isFitting = example !== undefined && (typeof example !== 'string' || isText(form));
    if (form.type === 'array')
      return depth > 6 ? [] : [this.#minimal((form.items ?? {}) as JsonSchema, path, depth + 1)];
    if (isFitting && !Array.isArray(form.anyOf)) return example;
    if ('const' in form) return form.const;
    if (Array.isArray(form.enum)) return form.enum[0];
    if (Array.isArray(form.anyOf)) return this.#minimalOf(form.anyOf as JsonSchema[], path, depth);
    if (form.type === 'boolean') return true;
    if (form.type === 'number' || form.type === 'integer') return 1;
    if (isText(form)) return MARK;
    if (Array.isArray(form.type)) return form.type.includes('boolean') ? true : 1;
    if (!form.properties) return { [MARK]: MARK };
    const members = ((form.required ?? []) as string[]).map((name) => {
      const member = (form.properties as Record<string, JsonSchema>)[name] ?? {};
      return [name, this.#isNull(member) ? null : this.#minimal(member, `${path}.${name}`, depth + 1)];
    });
    return Object.fromEntries(members) as Json;
  }

  /** A text if the union allows one, else its first member. */
  #minimalOf(parts: readonly JsonSchema[], path: string, depth: number): unknown {
    const members = parts.filter((part) => this.plain(part).type !== 'null');
    const text = members.find((part) => this.plain(part).type === 'string' && !('const' in this.plain(part)));
    return this.#minimal(text ?? members[0] ?? {}, path, depth);
  }

  #isNull(schema: JsonSchema): boolean {
    if (!this.#rules.prefersNull) return false;
    const { type, anyOf } = this.plain(schema);
    return [type].flat().includes('null') || ((anyOf ?? []) as JsonSchema[]).some((part) => this.#isNull(part));
  }
}

const isText = ({ type }: ObjectSchema): boolean => [type].flat().includes('string');
const anotherValue = (value: unknown): unknown =>
  typeof value === 'string' ? value.replace(MARK, 'other') : typeof value === 'number' ? value + 1 : value === false;
