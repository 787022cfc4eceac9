/** Why there is no credential. */
export class SignInError extends Error {
  /** False when a later try may succeed. */
  readonly isRefused: boolean;
  /** For the log. */
  readonly code: string;

  constructor(message: string, code: string, isRefused: boolean) {
    super(message);
    this.code = code;
    this.isRefused = isRefused;
  }
}
