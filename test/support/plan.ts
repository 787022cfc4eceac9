/** What the server does for a statement: which tables it reads, and how much of them. */
import pg from 'pg';

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Every statement that the task sends to any database, as the driver sends it. */
export async function statementsOf(task: () => Promise<unknown>): Promise<Statement[]> {
  const sent: Statement[] = [];
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const [first, second] = given;
    const { text, values } =
      typeof first === 'string' ? { text: first, values: second } : (first as Partial<Statement>);
    sent.push({ text: text ?? '', values: Array.isArray(values) ? values : [] });
    return (query as (...all: unknown[]) => unknown).apply(this, given);
  } as typeof query;
  try {
    await task();
  } finally {
    pg.Client.prototype.query = query;
  }
  return sent;
}

export interface Cost {
  readonly tables: ReadonlySet<string>;
  /** Blocks of 8 KB that it looked at, in memory or not. */
  readonly blocks: number;
  readonly ms: number;
}

export async function explain(client: pg.Client, { text, values }: Statement): Promise<Cost> {
  const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, [...values]);
  const [{ Plan: plan, 'Execution Time': ms }] = rows[0]['QUERY PLAN'] as [{ Plan: Node; 'Execution Time': number }];
  const tables = new Set<string>();
  gather(plan, tables);
  return { tables, blocks: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], ms };
}

interface Node {
  readonly 'Relation Name'?: string;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly Node[];
}

function gather(node: Node, tables: Set<string>): void {
  if (node['Relation Name'] !== undefined) tables.add(node['Relation Name']);
  for (const child of node.Plans ?? []) gather(child, tables);
}
