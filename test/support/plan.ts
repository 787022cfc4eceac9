/** Query plans: the statements that a task sends, and the tables and blocks that each reads. */
import pg from 'pg';

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Records every statement that the task sends through the driver. */
export async function statementsOf(task: () => Promise<unknown>): Promise<Statement[]> {
  const sent: Statement[] = [];
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [first, second] = args;
    const { text, values } =
      typeof first === 'string' ? { text: first, values: second } : (first as Partial<Statement>);
    sent.push({ text: text ?? '', values: Array.isArray(values) ? values : [] });
    return (query as (...args: unknown[]) => unknown).apply(this, args);
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
  /** Tables that were read from end to end. */
  readonly scanned: ReadonlySet<string>;
  /** Blocks of 8 KB that were read, from memory or from disk. */
  readonly blocks: number;
  readonly ms: number;
}

export async function explain(client: pg.Client, { text, values }: Statement): Promise<Cost> {
  const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, [...values]);
  const [{ Plan: plan, 'Execution Time': ms }] = rows[0]['QUERY PLAN'] as [{ Plan: Node; 'Execution Time': number }];
  const tables = new Set<string>();
  const scanned = new Set<string>();
  visitNodes(plan, ({ 'Relation Name': table, 'Node Type': type }) => {
    if (table !== undefined) tables.add(table);
    if (table !== undefined && type === 'Seq Scan') scanned.add(table);
  });
  return { tables, scanned, blocks: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], ms };
}

/**
 * Explains statements that write, in order, and takes back what they wrote. Skips transaction control, and writes of
 * the request log: a timer sends those, with rows of any earlier call.
 */
export async function explainWrites(client: pg.Client, statements: readonly Statement[]): Promise<Cost[]> {
  const costs: Cost[] = [];
  await client.query('begin');
  try {
    for (const statement of statements)
      if (/^\s*(?:insert|update|delete|select|with)\b/i.test(statement.text) && !REQUEST_LOG.test(statement.text))
        costs.push(await explain(client, statement));
  } finally {
    await client.query('rollback');
  }
  return costs;
}

const REQUEST_LOG = /\binto (?:requests|request_\w+)\b/;

interface Node {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly Node[];
}

function visitNodes(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const child of node.Plans ?? []) visitNodes(child, visit);
}
