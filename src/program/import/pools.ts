/**
 * Groups of accounts from the channels of a source. There each channel lists its models; here every account of a group
 * serves every model of the group. So models that the same channels serve form a group, and a channel is in as many
 * groups as its models need.
 */
import { hash } from 'node:crypto';
import { entryOf } from '../../core/index.ts';
import { type ImportedKind, importedKind, type Style } from '../../rules/index.ts';
import type { DraftChannel, DraftTariff } from './draft.ts';

export interface DraftPool {
  readonly id: string;
  readonly tariff: DraftTariff;
  readonly style: Style;
  readonly channels: readonly DraftChannel[];
  readonly models: readonly string[];
  /** Of its best channel. */
  readonly priority: number;
}

const ID_CHARS = 64;

/** In the order in which keys of the tariff use them. `label` begins every id. */
export function poolsOf(tariff: DraftTariff, channels: readonly DraftChannel[], label: string): DraftPool[] {
  const served = new Map<string, { style: Style; model: string; channels: DraftChannel[] }>();
  for (const channel of channels.filter(({ tariffs }) => tariffs.includes(tariff.id)))
    for (const model of channel.models.keys()) {
      const style = styleOf(channel.kind, channel.models.get(model) ?? model);
      entryOf(served, `${style} ${model}`, () => ({ style, model, channels: [] })).channels.push(channel);
    }
  const sets = Map.groupBy(served.values(), (one) => `${one.style} ${one.channels.map(({ ref }) => ref).join('.')}`);
  return [...sets.values()]
    .flatMap((entries): DraftPool[] => {
      const [first] = entries;
      if (!first) return [];
      const { style, channels: own } = first;
      const priority = Math.min(...own.map((channel) => channel.priority));
      return [
        {
          id: poolId(label, tariff, first),
          tariff,
          style,
          channels: own,
          models: entries.map((one) => one.model),
          priority,
        },
      ];
    })
    .sort((a, b) => a.priority - b.priority);
}

/** The same for the same channels, whatever else the source has at the next import. */
function poolId(
  label: string,
  tariff: DraftTariff,
  { style, channels }: { readonly style: Style; readonly channels: readonly DraftChannel[] },
): string {
  const refs = channels.map(({ ref }) => ref).join('.');
  const isUsual = channels.every(({ kind }) => importedKind(kind).style === style);
  const id = `${label}-${slugOf(tariff.id)}-${refs}${isUsual ? '' : `-${style}`}`;
  return id.length <= ID_CHARS ? id : `${id.slice(0, ID_CHARS - 9)}-${hash('sha256', id, 'hex').slice(0, 8)}`;
}

/** Vertex AI and Bedrock have models of several families behind one credential. */
function styleOf(kind: ImportedKind, model: string): Style {
  const isClaude = /claude|anthropic/.test(model);
  if (kind === 'vertex' && isClaude) return 'messages';
  return kind === 'bedrock' && !isClaude ? 'responses' : importedKind(kind).style;
}

/** Text as a part of an id. What has other letters keeps a short hash of them, so that two names stay two. */
export function slugOf(text: string): string {
  const slug = text
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+|-+$/g, '')
    .slice(0, 40);
  return slug === text ? slug : `${slug || 'x'}-${hash('sha256', text, 'hex').slice(0, 6)}`;
}
