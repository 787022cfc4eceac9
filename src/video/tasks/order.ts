/** A create request on its way to becoming a task. */
import type { Key } from '../../access/keys/index.ts';
import type { IdempotentRequest } from '../idempotency/records.ts';
import type { ResolvedReferences } from '../references.ts';
import type { TaskRequest } from '../request/task-request.ts';
import type { UpstreamTemplate } from '../request/upstream-template.ts';
import type { VideoTarget } from '../target.ts';
import type { TaskRow } from './task.ts';

/** A checked request on its way to becoming a task. */
export interface Order {
  /** Named in usage reports. */
  readonly operation: 'tasks.create' | 'videos.create';
  readonly key: Key;
  readonly target: VideoTarget;
  readonly request: TaskRequest;
  readonly template: UpstreamTemplate;
  readonly references: ResolvedReferences;
  readonly idempotent: IdempotentRequest | undefined;
}

export interface InsertedTask {
  readonly task: TaskRow;
  /** Owner of the claim: this replica and this request. */
  readonly owner: string;
  /** The secret part of the path at which the provider reports the task. */
  readonly callbackToken: string;
}

/** An order whose task exists and is to be sent to a provider. */
export type Submission = Order & InsertedTask;

/** A task was created (200), or created without confirmation by the provider (202, V 4.2 r3). */
export interface CreatedTask {
  readonly status: 200 | 202;
  readonly task: TaskRow;
}
