/** The accounts of the video provider, by API key. */
import type { VideoCall } from './call.ts';
import { VideoFailure } from './errors.ts';

const SIMULATED = /^sk-simulated(?:-([a-z0-9-]+))?(?:\.([a-z0-9-]+))?$/;
const DEFAULT_ACCOUNT = 'default';
const DEFAULT_PROJECT = 'default';

/** What an asset belongs to and an API key may use. */
export interface Owner {
  readonly account: string;
  readonly project: string;
}

export class Accounts {
  readonly #names: Readonly<Record<string, string>>;

  /** `names` are account names by credential. */
  constructor(names: Readonly<Record<string, string>>) {
    this.#names = names;
  }

  /** The name of the account that sends a call. */
  authenticate(call: VideoCall): string {
    return this.owner(call).account;
  }

  /** The account and the project of the API key. */
  owner(call: VideoCall): Owner {
    const credential = /^Bearer\s+(\S+)$/i.exec(call.headers.authorization ?? '')?.[1] ?? '';
    if (Object.hasOwn(this.#names, credential)) {
      return { account: this.#names[credential] ?? DEFAULT_ACCOUNT, project: DEFAULT_PROJECT };
    }
    if (credential === 'sk-forbidden') throw new VideoFailure('AccessDenied');
    if (credential === 'sk-broke') throw new VideoFailure('AccountOverdueError');
    const match = SIMULATED.exec(credential);
    if (!match) throw new VideoFailure('AuthenticationError');
    return { account: match[1] ?? DEFAULT_ACCOUNT, project: match[2] ?? DEFAULT_PROJECT };
  }
}
