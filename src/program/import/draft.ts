/**
 * What a source has, in the words of this gateway; `build.ts` makes a configuration of it. A reader of a source fills a
 * draft and nothing else.
 */
import type { z } from 'zod';
import type { StoredLimits } from '../../core/index.ts';
import type { CloudSettings, ForeignGateway, ImportedKind } from '../../rules/index.ts';
import type { SetupFile } from '../../schemas/index.ts';

/** `comes` unchanged, `changes` on its way, or is `lost`. */
export type RowOutcome = 'comes' | 'changes' | 'lost';

/** A line of the report: one object of the source. */
export interface ReportRow {
  readonly kind: 'group' | 'account' | 'model' | 'user' | 'key' | 'person' | 'other';
  readonly name: string;
  readonly outcome: RowOutcome;
  /** What it becomes, with exact amounts, and the reason of a change or loss. */
  readonly note: string;
}

/** Sentences about what changes. Those that do not apply are false or empty. */
export type Remarks = readonly (string | false | undefined)[];

/** A group of the source: accounts with a factor on every price. */
export interface DraftTariff {
  readonly id: string;
  readonly multiplier: string;
}

/** Credentials at one service. Each becomes an account. */
export interface DraftChannel {
  /** Its id in the source. */
  readonly ref: string;
  readonly name: string;
  readonly kind: ImportedKind;
  /** As in the source; undefined for the usual address of the service. */
  readonly baseUrl: string | undefined;
  readonly secrets: readonly (string | undefined)[];
  readonly cloud?: CloudSettings | undefined;
  readonly proxy?: string | undefined;
  readonly tariffs: readonly string[];
  /** Names at the service, by the names that clients use. */
  readonly models: ReadonlyMap<string, string>;
  /** Lower ones first. */
  readonly priority: number;
  readonly settings?: Pick<SetupFile['accounts'][number], 'weight' | 'max_concurrency' | 'rpm' | 'tpm'>;
  readonly remarks: Remarks;
}

export interface DraftUser {
  readonly ref: string;
  /** The name that it has in the source. */
  readonly name: string;
  readonly email: string | undefined;
  /** Decimal dollars. */
  readonly balance: string;
  readonly limits: StoredLimits;
  /** Whether a person signs in to the source with the e-mail address. */
  readonly isPerson: boolean;
  readonly remarks: Remarks;
}

export interface DraftKey {
  readonly ref: string;
  /** `ref` of the user. */
  readonly user: string;
  readonly name: string;
  readonly value: { readonly key: string } | { readonly key_sha256: string };
  readonly tariffs: readonly string[];
  readonly models: readonly string[] | undefined;
  readonly addresses: readonly string[] | undefined;
  readonly expiresAt: string | undefined;
  readonly limits: StoredLimits;
  readonly remarks: Remarks;
}

export type ModelPrices = SetupFile['models'][number]['prices'];

export class Draft {
  readonly source: ForeignGateway;
  readonly tariffs: DraftTariff[] = [];
  readonly channels: DraftChannel[] = [];
  /** Prices that the source sets itself, by the name of the model. Others come from the public list. */
  readonly prices = new Map<string, ModelPrices>();
  /** What of a model changes. */
  readonly modelRemarks = new Map<string, string>();
  readonly users: DraftUser[] = [];
  readonly keys: DraftKey[] = [];
  readonly rows: ReportRow[] = [];

  constructor(source: ForeignGateway) {
    this.source = source;
  }

  report(kind: ReportRow['kind'], name: string, note: string, remarks: Remarks = []): void {
    const changes = remarks.filter(Boolean);
    const parts = [note, ...changes].filter((part) => part !== '');
    this.rows.push({ kind, name, outcome: changes.length > 0 ? 'changes' : 'comes', note: parts.join('; ') });
  }

  lose(kind: ReportRow['kind'], name: string, note: string): void {
    this.rows.push({ kind, name, outcome: 'lost', note });
  }

  /** The value, or nothing and a line of the report: one bad row must not keep the others from coming. */
  accepted<T>(kind: ReportRow['kind'], name: string, { data, error }: z.ZodSafeParseResult<T>): T | undefined {
    const [issue] = error?.issues ?? [];
    if (error) this.lose(kind, name, `${issue?.path.join('.') ?? ''}: expected ${issue?.message ?? 'another value'}`);
    return data;
  }
}

/** A member of JSON text; undefined for text that is none. */
export function jsonOf(text: string | undefined): unknown {
  try {
    return text ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

/** The texts of a list; none for anything else. */
export function textList(text: string | undefined): readonly string[] {
  const list = jsonOf(text);
  return Array.isArray(list) ? list.map(String) : [];
}

export const jsonObjectOf = (text: string | undefined): Readonly<Record<string, unknown>> => {
  const value = jsonOf(text);
  // Some drivers store the text of an object as text once more.
  if (typeof value === 'string') return jsonObjectOf(value);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
};

/** Its members that are text. */
export const textsOf = (object: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(object).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])));

export const partsOf = (text: string | undefined, separator: RegExp): string[] =>
  (text ?? '')
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');

export const isTrue = (text: string | undefined): boolean => text === '1' || text === 'true' || text === 't';

export const orNone = <T>(list: readonly T[]): readonly T[] | undefined => (list.length > 0 ? list : undefined);

export const ADMINISTERS = 'it administers the source; "dragoman admin create" makes operators';
