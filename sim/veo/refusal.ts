/** An error of Google, thrown by any part of the simulated Veo. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly reason: string | undefined;

  constructor(status: number, code: string, message: string, reason?: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.reason = reason;
  }

  get body(): object {
    const details = this.reason && [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: this.reason }];
    return { error: { code: this.status, message: this.message, status: this.code, ...(details && { details }) } };
  }
}
