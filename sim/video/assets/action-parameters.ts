/** Checked access to the parameters of an action. */
import { isObject, type JsonObject } from '../../json.ts';
import { invalid, missing } from '../errors.ts';

export class ActionParameters {
  readonly #values: JsonObject;
  readonly #prefix: string;

  /** Rejects members that are not in `known`. */
  constructor(values: JsonObject, known: readonly string[], prefix = '') {
    this.#values = values;
    this.#prefix = prefix;
    const unknown = Object.keys(values).find((name) => !known.includes(name));
    if (unknown !== undefined) throw invalid(`${prefix}${unknown}`, 'the parameter is unknown');
  }

  has(name: string): boolean {
    return this.#values[name] !== undefined;
  }

  text(name: string, longest = Number.POSITIVE_INFINITY): string | undefined {
    const value = this.#values[name];
    if (value === undefined) return undefined;
    if (typeof value !== 'string') throw this.#invalid(name, 'it must be a string');
    if ([...value].length > longest) throw this.#invalid(name, `it must not have more than ${longest} characters`);
    return value;
  }

  requiredText(name: string, longest?: number): string {
    const value = this.text(name, longest);
    if (value === undefined || value === '') throw missing(`${this.#prefix}${name}`);
    return value;
  }

  url(name: string): string {
    const url = this.requiredText(name);
    const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
    if (!isHttp) throw this.#invalid(name, 'it must be an HTTP or HTTPS URL');
    return url;
  }

  choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw this.#invalid(name, `it must be one of [${choices.join(' ')}]`);
    return found;
  }

  requiredChoice<T extends string>(name: string, choices: readonly T[]): T {
    const value = this.choice(name, choices);
    if (value === undefined) throw missing(`${this.#prefix}${name}`);
    return value;
  }

  integer(name: string, largest: number): number | undefined {
    const value = this.#values[name];
    if (value === undefined) return undefined;
    const isFitting = typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= largest;
    if (!isFitting) throw this.#invalid(name, `it must be an integer from 1 to ${largest}`);
    return value;
  }

  texts(name: string): string[] | undefined {
    const value = this.#values[name];
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) throw this.#invalid(name, 'it must be an array of strings');
    const texts = value.filter((item) => typeof item === 'string');
    if (texts.length < value.length) throw this.#invalid(name, 'it must be an array of strings');
    return texts;
  }

  /** The parameters in a member that is an object; an absent one has none. */
  inside(name: string, known: readonly string[]): ActionParameters {
    const value = this.#values[name] ?? {};
    if (!isObject(value)) throw this.#invalid(name, 'it must be an object');
    return new ActionParameters(value, known, `${this.#prefix}${name}.`);
  }

  #invalid(name: string, why: string): Error {
    return invalid(`${this.#prefix}${name}`, why);
  }
}
