/** Cookies of the console. Behind HTTPS their names have the prefix `__Host-`, so that no other host can set them. */
import type { Call } from '../../platform/web/index.ts';

export type CookieName = 'dragoman_session' | 'dragoman_browser' | 'dragoman_oidc';

interface CookieOptions {
  readonly maxAgeMs: number;
  /** `Lax` is sent with links from other sites; `Strict` is not. */
  readonly sameSite: 'Strict' | 'Lax';
}

export class Cookies {
  readonly #publicUrl: () => string;

  constructor(publicUrl: () => string) {
    this.#publicUrl = publicUrl;
  }

  read(call: Pick<Call, 'header'>, name: CookieName): string | undefined {
    const wanted = `${this.#nameOf(name)}=`;
    for (const part of (call.header('cookie') ?? '').split(';')) {
      const text = part.trim();
      if (text.startsWith(wanted)) return text.slice(wanted.length);
    }
    return undefined;
  }

  /** The value of a `set-cookie` header. */
  write(name: CookieName, value: string, { maxAgeMs, sameSite }: CookieOptions): string {
    const attributes = `Path=/; Max-Age=${Math.floor(maxAgeMs / 1_000)}; HttpOnly; SameSite=${sameSite}`;
    return `${this.#nameOf(name)}=${value}; ${attributes}${this.#isSecure ? '; Secure' : ''}`;
  }

  remove(name: CookieName): string {
    return this.write(name, '', { maxAgeMs: 0, sameSite: 'Strict' });
  }

  get #isSecure(): boolean {
    return this.#publicUrl().startsWith('https:');
  }

  #nameOf(name: CookieName): string {
    return this.#isSecure ? `__Host-${name}` : name;
  }
}
