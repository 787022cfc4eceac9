/** Responses that several operations have, as components: most errors are the same everywhere. */

type Responses = Readonly<Record<string, object>>;

export class SharedResponses {
  readonly #uses = new Map<string, number>();
  readonly #names = new Map<string, string>();
  readonly #count = new Map<string, number>();
  readonly components: Record<string, object> = {};

  /** Call it for the responses of every operation, before the first `refer`. */
  count(responses: Responses): void {
    for (const [status, response] of Object.entries(responses)) {
      const key = keyOf(status, response);
      this.#uses.set(key, (this.#uses.get(key) ?? 0) + 1);
    }
  }

  /** The responses of one operation, with references to those that others have too. */
  refer(responses: Responses): Responses {
    return Object.fromEntries(
      Object.entries(responses).map(([status, response]) => {
        const key = keyOf(status, response);
        if ((this.#uses.get(key) ?? 0) < 2) return [status, response];
        return [status, { $ref: `#/components/responses/${this.#nameOf(key, status, response)}` }];
      }),
    );
  }

  #nameOf(key: string, status: string, response: object): string {
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const number = (this.#count.get(status) ?? 0) + 1;
    this.#count.set(status, number);
    const name = `Response${status}_${number}`;
    this.#names.set(key, name);
    this.components[name] = response;
    return name;
  }
}

const keyOf = (status: string, response: object): string => status + JSON.stringify(response);
