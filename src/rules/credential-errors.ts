/**
 * Errors that say that the credential, its project or organization is dead. Only these cool a whole account; any other
 * 401 or 403 concerns one request.
 */

export type ProviderFamily = 'openai' | 'messages' | 'generate';

/** What a provider's JSON says about an error. Pages of proxies have none of it, so they match no row. */
export interface ReportedError {
  readonly status: number;
  /** Codes, types, status names and reasons, as the body spells them. */
  readonly codes: readonly string[];
  readonly message: string;
}

/** A row matches by one of its codes, or by its message. */
interface CredentialErrorRow {
  readonly status: number;
  readonly codes?: readonly string[];
  readonly message?: RegExp;
  /** Codes of errors about credentials that the request carries beside the account's own. */
  readonly except?: RegExp;
}

const CREDENTIAL_ERRORS: Readonly<Record<ProviderFamily, readonly CredentialErrorRow[]>> = {
  openai: [
    { status: 400, codes: ['invalid_api_key'] },
    {
      status: 401,
      codes: [
        'invalid_api_key',
        'authentication_error',
        'invalid_authentication',
        'invalid_organization',
        'account_deactivated',
        'organization_deactivated',
        'token_expired',
        'token_invalidated',
        'token_revoked',
      ],
      // An error of a server or connector that the request names, with a credential of the caller.
      except: /^(?:external_connector_error|http_error)$/,
      // Many compatible servers send a message without a code.
      message:
        /\b(?:api|subscription)[ _-]?key\b|authenticat|unauthori[sz]ed|\b(?:invalid|expired|revoked) (?:bearer )?token\b/i,
    },
    {
      status: 403,
      codes: ['invalid_api_key', 'account_deactivated', 'organization_deactivated', 'ip_not_authorized'],
      message:
        /\b(?:organization|account|project|api key) (?:has been|is|was) (?:deactivated|disabled|suspended|revoked)/i,
    },
  ],
  messages: [
    { status: 401, codes: ['authentication_error'], message: /invalid x-api-key|invalid bearer token/i },
    {
      status: 403,
      message:
        /\b(?:organization|account|workspace|api key) (?:has been|is|was) (?:deactivated|disabled|suspended|revoked)/i,
    },
    // The provider reports a disabled organization as an invalid request.
    { status: 400, message: /^this organization has been disabled/i },
  ],
  generate: [
    { status: 400, codes: ['API_KEY_INVALID'], message: /^api key (?:not valid|expired)/i },
    { status: 401, codes: ['UNAUTHENTICATED', 'API_KEY_INVALID'], except: /^ACCESS_TOKEN_/ },
    // Disabled services are left out: a request may use a tool whose service the project lacks.
    {
      status: 403,
      codes: [
        'API_KEY_INVALID',
        'API_KEY_IP_ADDRESS_BLOCKED',
        'API_KEY_HTTP_REFERRER_BLOCKED',
        'CONSUMER_SUSPENDED',
        'CONSUMER_INVALID',
        'BILLING_DISABLED',
      ],
      message: /^your api key was reported as leaked/i,
    },
  ],
};

export const isCredentialError = (family: ProviderFamily, { status, codes, message }: ReportedError): boolean =>
  CREDENTIAL_ERRORS[family].some(
    (row) =>
      row.status === status &&
      !codes.some((code) => row.except?.test(code)) &&
      (codes.some((code) => row.codes?.includes(code)) || row.message?.test(message) === true),
  );
