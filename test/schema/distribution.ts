/**
 * How each table could be distributed over several PostgreSQL servers by user, as Citus does: rows of a user on one server, with the user in every
 * unique key and every foreign key between such tables. The compiler demands a row for a new table, and a test checks the keys.
 */
import type { Rows } from '../../src/platform/db/index.ts';

export interface Distribution {
  /** `user`: by the user of each row. `reference`: small and read everywhere, so that every server has a copy. `local`: on one server. */
  readonly by: 'user' | 'reference' | 'local';
  /** The column of the user; `user_id` by default. */
  readonly column?: 'id' | 'debit';
  /** Keys without the user, and what has to change before the table can be distributed. */
  readonly except?: Readonly<Record<string, string>>;
}

const user: Distribution = { by: 'user' };
/** Configuration, and what replicas share: thousands of rows at most. */
const reference: Distribution = { by: 'reference' };
/** Written by jobs or operators, not by calls. */
const local: Distribution = { by: 'local' };

const TIME_FIRST =
  'becomes (user_id, at, id); the lists of all users by time then merge the servers, which Citus does by itself';

export const DISTRIBUTION: Readonly<Record<keyof Rows, Distribution>> = {
  users: { by: 'user', column: 'id' },
  schema_versions: reference,
  wallets: user,
  leases: user,
  wishes: user,
  usage_daily: user,
  usage_monthly: user,
  idempotency_records: user,
  video_tasks: user,
  video_task_assets: user,
  provider_tasks: {
    by: 'user',
    except: {
      'provider,upstream_id':
        'a task of the provider has one owner among all users: distributed by the provider, without the foreign key',
    },
  },
  callback_events: user,
  callback_attempts: user,
  callback_circuits: user,
  callback_defaults: user,
  asset_accounts: user,
  asset_groups: user,
  assets: user,
  captures: user,
  erasures: user,
  batches: user,
  batch_lines: user,
  conversations: user,
  provider_batches: user,
  provider_batch_lines: user,
  provider_objects: user,
  conversation_items: user,
  conversation_pages: user,
  files: user,
  file_parts: user,
  kept_objects: user,
  stored_bytes: user,
  notices: user,
  notice_deliveries: user,
  warning_destinations: user,
  warning_rules: user,
  warning_states: user,

  usage_records: { by: 'user', except: { 'at,id': TIME_FIRST } },
  requests: { by: 'user', except: { 'at,id': TIME_FIRST } },
  holds: {
    by: 'user',
    except: {
      id: 'becomes (user_id, id)',
      reference: 'becomes (user_id, reference): every reference is of one user, so that it stays unique',
    },
  },
  entries: {
    by: 'user',
    column: 'debit',
    except: {
      id: 'a column user_id for the side of the wallet, and (user_id, id); segments of the check of the ledger then run by server',
      reference: 'becomes (user_id, reference)',
      'hold_id -> holds': 'becomes (user_id, hold_id)',
    },
  },
  stored_responses: { by: 'user' },
  background_responses: { by: 'user', except: { reference: 'becomes (user_id, reference)' } },
  authorization_sessions: {
    by: 'user',
    except: {
      return_token_hash:
        'a browser returns with the token alone: the token has to name its user, or a reference table does',
    },
  },

  groups: reference,
  accounts: reference,
  account_groups: reference,
  models: reference,
  prices: reference,
  characters: reference,
  keys: reference,
  revisions: reference,
  secrets: reference,
  replicas: reference,
  account_cooldowns: reference,
  account_parks: reference,
  account_tests: reference,
  account_loads: reference,
  ledger_identity: reference,
  usage_quarantine: reference,
  usage_kept: reference,
  file_charges: reference,
  usage_totals_days: reference,
  usage_monthly_months: reference,

  // By hour, account and model, and summed over all users.
  request_faults: local,
  request_hours: local,
  request_hours_due: local,
  request_fault_hours: local,
  usage_totals: local,
  ledger_balances: local,
  ledger_checkpoint: local,
  ledger_segments: local,
  ledger_sums: local,
  ledger_suspects: local,
  alarms: local,
  audit: local,
  change_replies: local,
  people: local,
  person_links: local,
  person_sessions: local,
};
