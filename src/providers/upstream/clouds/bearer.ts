/** Requests with a credential of the account that is fetched, and renewed before it ends. */
import type { HttpRequest } from '../../../platform/http/index.ts';
import type { CloudUse } from '../account-url.ts';
import type { Cloud, CloudServices } from './cloud.ts';
import type { Expiring } from './token-cache.ts';

export type CloudIdentity = Pick<CloudUse, 'account' | 'cloud'>;

type Fetched<T> = (services: CloudServices, identity: CloudIdentity) => Promise<Expiring<T>>;

/** `signed` runs when the request is sent: a signature is valid for five minutes. */
export function fetchedCredential<T>(
  services: CloudServices,
  identity: CloudIdentity,
  fetch: Fetched<T>,
  signed: (request: HttpRequest, credential: T) => HttpRequest,
): Pick<Cloud, 'sign' | 'forget'> {
  const { account, cloud } = identity;
  const text = JSON.stringify([cloud, account.credential, account.proxy]);
  return {
    sign(request) {
      const found = services.tokens.get(account.id, text, () => fetch(services, identity));
      return found instanceof Promise ? found.then((value) => signed(request, value)) : signed(request, found);
    },
    forget: () => services.tokens.forget(account.id),
  };
}

export const bearer = (services: CloudServices, identity: CloudIdentity, fetch: Fetched<string>) =>
  fetchedCredential(services, identity, fetch, withBearer);

export const withBearer = (request: HttpRequest, token: string): HttpRequest => ({
  ...request,
  headers: [...request.headers, 'authorization', `Bearer ${token}`],
});
