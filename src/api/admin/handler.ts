/**
 * Definition of an operation of operators or people: the schemas of its query and body, and the handler that receives
 * them parsed.
 */
import { z } from 'zod';
import type { Actor, KeySecrets } from '../../access/keys/index.ts';
import type { Clock, MaybePromise } from '../../core/index.ts';
import type { Gateway } from '../../gateway/index.ts';
import type { Warnings } from '../../observe/warnings/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import type { SettingReport } from '../../schemas/index.ts';
import type { Video } from '../../video/index.ts';
import { readQuery } from './query-params.ts';
import { type ChangeServices, makeOnce } from './repeated-change.ts';
import { readExpected, readJson } from './request-body.ts';

/** What the admin API does to accounts beside the database. */
export interface AccountControl {
  readonly test: Gateway['testAccount'];
  /** This server applies the shared state now; the others within moments. */
  refresh(): Promise<void>;
}

export interface AdminServices {
  readonly db: Db;
  readonly clock: Clock;
  readonly secrets: KeySecrets;
  readonly video: Pick<Video, 'resolveReview' | 'assignSubmission' | 'dismissSubmission' | 'testCallback'>;
  /** The address of this installation, for links. */
  readonly publicUrl: () => string;
  readonly accounts: AccountControl;
  readonly explain: Gateway['explain'];
  readonly deleteAtProvider: Gateway['deleteAtProvider'];
  readonly maxTextBytes: number;
  readonly warnings: Warnings;
  readonly settings: readonly SettingReport[];
}

export interface Operator {
  readonly by: Actor;
}

/** What an operator decides about an object, and why. */
export interface Reasoned extends Operator {
  readonly id: string;
  readonly body: { readonly reason: string };
}

interface Input<Q, B> {
  readonly call: Call;
  /** What the path names, where it names an object. */
  readonly id: string;
  readonly query: Q;
  readonly body: B;
}

export interface AdminSchemas {
  readonly query: z.ZodObject;
  readonly body?: z.ZodType | undefined;
  /** Media types of the body; JSON by default. */
  readonly bodyTypes?: readonly string[] | undefined;
}

/** `C` is who makes the call, and `S` what its handler uses. */
export interface OperationHandler<C = Operator, S = AdminServices> extends AdminSchemas {
  readonly run: (call: Call, caller: C, services: S) => Promise<void>;
}

interface Definition<Q extends z.ZodObject, B extends z.ZodType, C, S> {
  readonly query?: Q;
  readonly body?: B;
  readonly bodyTypes?: readonly string[];
  /** Reads a body that is not always JSON. */
  readonly readBody?: (call: Call) => Promise<z.output<B>>;
  /** Of a success; 200 by default. */
  readonly status?: number;
  /** The kind of object that the response has, beside what the handler returns. */
  readonly object?: string;
  /** Returns the body of the response, unless it sends one. */
  readonly handle: (input: C & Input<z.output<Q>, z.output<B>>, services: S) => MaybePromise<unknown>;
}

const NO_QUERY = z.strictObject({});

/** The query is checked before the body is read. */
export const operationsOf =
  <C extends Operator, S extends ChangeServices>() =>
  <Q extends z.ZodObject = typeof NO_QUERY, B extends z.ZodType = z.ZodUndefined>({
    query,
    body,
    bodyTypes,
    readBody,
    status = 200,
    object,
    handle,
  }: Definition<Q, B, C, S>): OperationHandler<C, S> => {
    const querySchema = query ?? NO_QUERY;
    return {
      query: querySchema,
      body,
      bodyTypes,
      async run(call, caller, services) {
        const parsedQuery = readQuery(call.query, querySchema) as z.output<Q>;
        const parsedBody = readBody ? await readBody(call) : ((body && (await readJson(call, body))) as z.output<B>);
        const [id = ''] = Object.values(call.params);
        const by = { ...caller.by, expected: readExpected(call) };
        const input = { ...caller, by, call, id, query: parsedQuery, body: parsedBody };
        const make = async (): Promise<unknown> => {
          const made = await handle(input, services);
          return made && object !== undefined ? { object, ...made } : made;
        };
        const reply = await makeOnce(call, services, { by, body: parsedBody, make });
        if (reply) sendJson(call, status, reply as object);
      },
    };
  };

export const operation = operationsOf<Operator, AdminServices>();
