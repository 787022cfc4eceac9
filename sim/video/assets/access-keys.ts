/** The accounts of the video provider, by access key. */
import { VideoFailure } from '../errors.ts';
import type { AccessKey, VideoSettings } from '../settings.ts';
import { readCredential, type SignedRequest, verifySignature } from './signature.ts';

const SIMULATED = /^AK-simulated(?:-([a-z0-9-]+))?$/;
const SIMULATED_SECRET = 'SK-simulated';
/** Access keys whose signature is valid but which may do nothing. */
const DENIED: Readonly<Record<string, string>> = {
  'AK-forbidden': 'AccessDenied',
  'AK-unsubscribed': 'SubscriptionRequired',
};

export class AccessKeys {
  readonly #keys: Readonly<Record<string, AccessKey>>;
  readonly #settings: VideoSettings;

  constructor(keys: Readonly<Record<string, AccessKey>>, settings: VideoSettings) {
    this.#keys = keys;
    this.#settings = settings;
  }

  /** The name of the account that signed a request. Its time is compared with real time, as that of the signer is. */
  authenticate(request: SignedRequest): string {
    const credential = readCredential(request);
    const { accessKey } = credential;
    const found = this.#find(accessKey);
    if (!found) throw new VideoFailure('InvalidAccessKeyId', `The access key ${accessKey} does not exist.`);
    verifySignature(request, credential, { secret: found.secret, region: this.#settings.region, now: Date.now() });
    const denied = DENIED[accessKey];
    if (denied !== undefined) throw new VideoFailure(denied);
    return found.account;
  }

  #find(accessKey: string): AccessKey | undefined {
    if (Object.hasOwn(this.#keys, accessKey)) return this.#keys[accessKey];
    const match = SIMULATED.exec(accessKey);
    if (match) return { secret: SIMULATED_SECRET, account: match[1] ?? 'default' };
    return Object.hasOwn(DENIED, accessKey) ? { secret: SIMULATED_SECRET, account: 'default' } : undefined;
  }
}
