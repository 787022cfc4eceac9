/** What the upstream client knows of an account. Types only. */
import type { CloudSettings, Style } from '../../rules/index.ts';

/** Where requests of an account go, and with what. */
export interface ReachedAccount {
  readonly id: string;
  readonly baseUrl: string;
  readonly credential: string;
  readonly cloud?: CloudSettings | undefined;
  readonly proxy?: string | undefined;
}

/** One request of an account at a cloud, in the form of the provider's own API. */
export interface CloudUse {
  readonly account: ReachedAccount;
  readonly cloud: CloudSettings;
  readonly style: Style;
  /** The account's name of the model; empty for requests without one. */
  readonly model: string;
}
