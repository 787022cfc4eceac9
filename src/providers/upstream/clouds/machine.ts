/** What the machine offers for signing in to a cloud. Paths come from the environment only: an account could send any file elsewhere. */
export interface Machine {
  /** The file with the token of a federated identity, by the kind of cloud. */
  readonly tokenFiles: {
    readonly azure?: string | undefined;
    readonly google?: string | undefined;
    readonly aws?: string | undefined;
  };
  /** The endpoint of managed identities in App Service and Container Apps. */
  readonly identityEndpoint?: string | undefined;
  readonly identityHeader?: string | undefined;
  /** The credentials of a container: a path at the address of its agent, or a URL, and what proves that the request comes from it. */
  readonly containerPath?: string | undefined;
  readonly containerUrl?: string | undefined;
  readonly containerToken?: string | undefined;
  readonly containerTokenFile?: string | undefined;
}

export const NO_MACHINE: Machine = { tokenFiles: {} };
