/** A gateway with a polite and an impolite provider of every dialect. */
import { type Sim, startSim } from '../../../sim/index.ts';
import type { Dialect } from '../../../src/rules/index.ts';
import { type LogLine, startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/wait.ts';

/** `polite`: only the polite provider. `impolite`: the impolite one, and behind it the polite one. */
export type Behaviour = 'polite' | 'impolite';

/** `socket`: responses, also by WebSocket. */
export type Provider = Dialect | 'socket';
interface ProviderForm {
  readonly style: string;
  readonly features?: readonly string[];
}
const PROVIDERS: Readonly<Record<Provider, ProviderForm>> = {
  messages: { style: 'messages' },
  chat: { style: 'responses', features: ['chat'] },
  responses: { style: 'responses', features: ['responses'] },
  socket: { style: 'responses' },
  generate: { style: 'generate-content' },
};
/** Whose ids must not meet. */
const USERS = ['ana', 'ben'] as const;

export interface Charge {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly nanos: number;
  readonly isEstimated: boolean;
}

/** What a call left behind: its log line and its record. */
export interface Trace {
  readonly line: LogLine;
  readonly record: Charge | undefined;
}

export class Stage {
  readonly #gateway: TestGateway;
  readonly #sims: Readonly<Record<Behaviour, Sim>>;
  readonly #lines = new Map<string, LogLine>();
  readonly internalErrors: LogLine[] = [];
  /** One after the other: all of them wait for one lock of the configuration. */
  #applying: Promise<unknown> = Promise.resolve();
  #groups = 0;

  private constructor(gateway: TestGateway, sims: Readonly<Record<Behaviour, Sim>>) {
    this.#gateway = gateway;
    this.#sims = sims;
    gateway.log.push = (...added) => {
      for (const line of added) {
        if (line.msg === 'request.completed') this.#lines.set(String(line.model), line);
        if (line.msg === 'request.internal_error') this.internalErrors.push(line);
      }
      return 0;
    };
  }

  static async open(): Promise<Stage> {
    const polite = await startSim({ name: 'polite', faults: false, seed: false });
    const impolite = await startSim({ name: 'rude', seed: false });
    return new Stage(await startGateway(), { polite, impolite });
  }

  get url(): string {
    return this.#gateway.url;
  }

  /** Returns the key of a new group. */
  addGroup(provider: Provider, behaviour: Behaviour): Promise<string> {
    const { style, features } = PROVIDERS[provider];
    const { polite, impolite } = this.#sims;
    const number = this.#groups++;
    const id = `${provider}-${behaviour}-${number}`;
    const user = USERS[number % USERS.length];
    const sims = behaviour === 'polite' ? [polite] : [impolite, polite];
    const added = this.#applying.then(() =>
      this.#gateway.apply({
        groups: [{ id, style }],
        accounts: sims.map(({ url }, priority) => ({
          id: `${id}-${priority}`,
          group: id,
          base_url: style === 'responses' ? `${url}/v1` : url,
          api_key: 'sk-upstream',
          priority,
          ...(features && { features }),
        })),
        models: [{ id: '*', groups: [id], prices: { input: '1', output: '2' } }],
        users: [{ id: user, balance: '1000000' }],
        keys: [{ user, group: id, name: id }],
      }),
    );
    this.#applying = added;
    return added.then((keys) => keys[id] ?? '');
  }

  /** Waits for the log line of the model, and for its record where the call is charged. */
  async traceOf(model: string, isCharged: boolean): Promise<Trace> {
    const line = await until(`the log line of ${model}`, () => this.#lines.get(model));
    this.#lines.delete(model);
    const read = (): Promise<Charge | undefined> => this.#recordOf(String(line.request));
    return { line, record: isCharged ? await until(`the record of ${model}`, read) : await read() };
  }

  async #recordOf(request: string): Promise<Charge | undefined> {
    const rows = await this.#gateway.context.database.db
      .selectFrom('usage_records')
      .selectAll()
      .where('request_id', '=', request)
      .execute();
    const [row] = rows;
    return (
      row && {
        input: Number(row.input_tokens),
        cached: Number(row.cached_input_tokens),
        output: Number(row.output_tokens),
        nanos: rows.reduce((sum, { nanos }) => sum + Number(nanos), 0),
        isEstimated: row.estimated,
      }
    );
  }

  async close(): Promise<void> {
    await this.#gateway.stop();
    await Promise.all(Object.values(this.#sims).map((sim) => sim.close()));
  }
}

/** Keys of one sequence of cases. A group whose account has failed is replaced, so that its cooldown does not hide the next case. */
export class StageLane {
  readonly stage: Stage;
  readonly #keys = new Map<string, Promise<string>>();

  constructor(stage: Stage) {
    this.stage = stage;
  }

  key(provider: Provider, behaviour: Behaviour): Promise<string> {
    const name = `${provider} ${behaviour}`;
    const known = this.#keys.get(name) ?? this.stage.addGroup(provider, behaviour);
    this.#keys.set(name, known);
    return known;
  }

  renew(provider: Provider): void {
    this.#keys.delete(`${provider} impolite`);
  }
}
