/**
 * Password hashes: argon2id, keyed with the pepper so that a stolen dump alone cannot be guessed at, off the event
 * loop, a few at a time.
 */
import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { overloaded } from '../../core/index.ts';
import { PASSWORD_HASH, PASSWORD_QUEUE } from '../../rules/index.ts';

type Parameters = Omit<Argon2Parameters, 'message' | 'nonce'> & { readonly nonce: Buffer };

export class Passwords {
  readonly #pepper: Buffer;
  readonly #limits: { readonly running: number; readonly waiting: number };
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(pepper: Buffer, limits: { readonly running: number; readonly waiting: number } = PASSWORD_QUEUE) {
    this.#pepper = pepper;
    this.#limits = limits;
  }

  async hash(password: string): Promise<string> {
    const parameters = freshParameters();
    const { memory, passes, parallelism, nonce } = parameters;
    const tag = await this.#tagOf(password, parameters);
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(nonce)}$${base64(tag)}`;
  }

  /** Without a stored hash it takes as long and is false, so that the time does not show whether a person exists. */
  async verify(password: string, stored: string | null | undefined): Promise<boolean> {
    const known = parse(stored ?? '');
    const tag = await this.#tagOf(password, known?.parameters ?? freshParameters());
    return known !== undefined && timingSafeEqual(tag, known.tag);
  }

  async #tagOf(password: string, parameters: Parameters): Promise<Buffer> {
    await this.#acquire();
    try {
      return await new Promise<Buffer>((resolve, reject) => {
        const message = password.normalize('NFC');
        argon2('argon2id', { ...parameters, message, secret: this.#pepper }, (error, tag) =>
          error ? reject(error) : resolve(tag),
        );
      });
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #acquire(): Promise<void> {
    if (this.#running >= this.#limits.running) {
      if (this.#waiting.length >= this.#limits.waiting)
        throw overloaded('Too many sign-ins at once; retry shortly.', 2);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#running += 1;
  }
}

const freshParameters = (): Parameters => ({
  memory: PASSWORD_HASH.memoryKib,
  passes: PASSWORD_HASH.passes,
  parallelism: PASSWORD_HASH.parallelism,
  nonce: randomBytes(PASSWORD_HASH.saltBytes),
  tagLength: PASSWORD_HASH.hashBytes,
});

const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');

const FORM = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

function parse(text: string): { readonly parameters: Parameters; readonly tag: Buffer } | undefined {
  const [, memory, passes, parallelism, salt = '', hash = ''] = FORM.exec(text) ?? [];
  if (memory === undefined) return undefined;
  const tag = Buffer.from(hash, 'base64');
  const parameters = {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    nonce: Buffer.from(salt, 'base64'),
    tagLength: tag.length,
  };
  return { parameters, tag };
}
