/** The accounts of the video provider, by credential. */
import type { VideoCall } from './call.ts';
import { VideoFailure } from './errors.ts';

const SIMULATED = /^sk-simulated(?:-([a-z0-9-]+))?$/;
const DEFAULT_ACCOUNT = 'default';

export class Accounts {
  readonly #names: Readonly<Record<string, string>>;

  /** `names` are account names by credential. */
  constructor(names: Readonly<Record<string, string>>) {
    this.#names = names;
  }

  /** The name of the account that sends a call. */
  authenticate(call: VideoCall): string {
    const credential = /^Bearer\s+(\S+)$/i.exec(call.headers.authorization ?? '')?.[1] ?? '';
    if (Object.hasOwn(this.#names, credential)) return this.#names[credential] ?? DEFAULT_ACCOUNT;
    if (credential === 'sk-forbidden') throw new VideoFailure('AccessDenied');
    if (credential === 'sk-broke') throw new VideoFailure('AccountOverdueError');
    const match = SIMULATED.exec(credential);
    if (!match) throw new VideoFailure('AuthenticationError');
    return match[1] ?? DEFAULT_ACCOUNT;
  }
}
