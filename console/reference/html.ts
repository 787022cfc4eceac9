/**
 * HTML of the reference. Every text is escaped; of Markdown it knows code, links and paragraphs, which is what
 * openapi.json has.
 */
import { type Document, nameOf, type Schema } from './document.ts';

export const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

export const inline = (text: string): string =>
  escapeText(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\[([^\]]+)\]\((https?:[^)\s]+|\/[^)\s]*)\)/g, '<a href="$2">$1</a>');

export const paragraphs = (text: string): string =>
  text
    .split(/\n\s*\n/)
    .map((part) => `<p>${inline(part.trim())}</p>`)
    .join('');

/** Scrolls on a phone, also by the keyboard. */
export const wideTable = (rows: string): string =>
  `<div class="wide" tabindex="0" role="region" aria-label="Table"><table>${rows}</table></div>`;

/** Ids in addresses: letters and digits. */
export const slug = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '');

/** Fields of schemas. Objects with a name are shown once on a page, and collected in `named`. */
export class SchemaHtml {
  readonly #document: Document;
  readonly named = new Set<string>();

  constructor(document: Document) {
    this.#document = document;
  }

  /** The members of an object, those that are required first. */
  fields(schema: Schema, depth = 0): string {
    const whole = schema.$ref === undefined ? schema : (this.#document.components.schemas[nameOf(schema.$ref)] ?? {});
    const members = Object.entries(this.#membersOf(whole));
    if (members.length === 0) {
      const choices = whole.anyOf ?? whole.oneOf;
      return choices
        ? choices.map((one) => `<div class="choice">${this.fields(one, depth)}</div>`).join('')
        : `<p>${this.type(schema)}</p>`;
    }
    const required = new Set([whole, ...(whole.allOf ?? [])].flatMap((part) => part.required ?? []));
    const ordered = members.toSorted(([a], [b]) => Number(required.has(b)) - Number(required.has(a)));
    return `<dl class="fields">${ordered.map(([name, member]) => this.#field(name, member, required.has(name), depth)).join('')}</dl>`;
  }

  #membersOf(schema: Schema): Readonly<Record<string, Schema>> {
    const parts = (schema.allOf ?? []).map((part) =>
      part.$ref === undefined ? part : (this.#document.components.schemas[nameOf(part.$ref)] ?? {}),
    );
    return Object.assign({}, ...parts.map((part) => part.properties), schema.properties);
  }

  #field(name: string, schema: Schema, isRequired: boolean, depth: number): string {
    const inner = innerOf(schema);
    const nested = inner && depth < MAX_DEPTH ? this.fields(inner, depth + 1) : '';
    return `<dt><code>${escapeText(name)}</code> <span>${this.type(schema)}</span>${isRequired ? ' <b>required</b>' : ''}</dt><dd>${
      schema.description ? inline(schema.description) : ''
    }${nested}</dd>`;
  }

  /** "list of Account", "text or null", "one of a, b". */
  type(schema: Schema): string {
    if (schema.$ref !== undefined) {
      const name = nameOf(schema.$ref);
      this.named.add(name);
      return `<a href="#o-${slug(name)}">${escapeText(name)}</a>`;
    }
    if (schema.const !== undefined) return `<code>${escapeText(JSON.stringify(schema.const))}</code>`;
    if (schema.enum)
      return schema.enum.map((value) => `<code>${escapeText(JSON.stringify(value))}</code>`).join(' or ');
    const choice = schema.anyOf ?? schema.oneOf;
    if (choice) return [...new Set(choice.map((one) => this.type(one)))].join(' or ');
    if (schema.allOf) return schema.allOf.map((one) => this.type(one)).join(' and ');
    const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
    const words = types.map((type) =>
      type === 'array' && schema.items ? `list of ${this.type(schema.items)}` : (WORDS[type] ?? type),
    );
    const range = [
      ...(schema.format ? [schema.format] : []),
      ...(schema.minimum === undefined ? [] : [`from ${schema.minimum}`]),
      ...(schema.maximum === undefined || schema.maximum >= Number.MAX_SAFE_INTEGER ? [] : [`to ${schema.maximum}`]),
    ];
    return `${words.join(' or ') || 'any value'}${range.length > 0 ? `, ${escapeText(range.join(' '))}` : ''}`;
  }
}

const WORDS: Readonly<Record<string, string>> = { string: 'text', integer: 'whole number', boolean: 'true or false' };
/** Deeper members are in the raw document. */
const MAX_DEPTH = 2;

/** The object without a name whose members are shown below a field. */
function innerOf(schema: Schema): Schema | undefined {
  if (schema.properties) return schema;
  if (schema.items) return innerOf(schema.items);
  return (schema.anyOf ?? schema.oneOf)?.map(innerOf).find((one) => one !== undefined);
}
