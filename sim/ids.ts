/** Ids from a counter, so that every run of a test gets the same ids. */
export class Ids {
  #count = 0;
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  next(prefix: string): string {
    this.#count += 1;
    return `${prefix}${this.#name}${String(this.#count).padStart(8, '0')}`;
  }
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
