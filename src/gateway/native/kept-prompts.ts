/**
 * The newest prompts of each key with the trails of their scans:
 * the next turn is scanned from its new part on. Only while bodies do not need the room.
 */
import { type Clock, commonTrail, type ScanTrail } from '../../core/index.ts';
import type { BodyBudget, SpareMemory } from '../../platform/web/index.ts';
import { KEPT_PROMPTS } from '../../rules/index.ts';

interface Kept {
  readonly owner: string;
  readonly body: Buffer;
  readonly trail: ScanTrail;
  readonly bytes: number;
  readonly until: number;
}

/** Of a scan: the trail that it goes on from, and the prompt that had it. */
interface Beginning {
  readonly owner: string;
  readonly trail: ScanTrail;
  readonly before?: Kept;
}

const NOTHING: ScanTrail = { marks: [], tagged: [] };
/** A value that was reported, with its path. */
const TAGGED_BYTES = 300;

export interface KeptPromptsOptions {
  readonly clock: Clock;
  readonly bodyBudget: BodyBudget;
  readonly maxBytes: number;
}

export class KeptPrompts implements SpareMemory {
  readonly #options: KeptPromptsOptions;
  readonly #kept = new Set<Kept>();
  readonly #byOwner = new Map<string, Kept[]>();
  #isWaiting = false;
  bytes = 0;

  constructor(options: KeptPromptsOptions) {
    this.#options = options;
    options.bodyBudget.spare = this;
  }

  /** Where a scan of the body begins. Undefined where nothing is kept of such a body. */
  beginning(owner: string, body: Buffer): Beginning | undefined {
    const { length } = body;
    if (this.#options.maxBytes === 0 || length < KEPT_PROMPTS.minBytes || length > KEPT_PROMPTS.maxBytes)
      return undefined;
    let longest: Beginning = { owner, trail: NOTHING };
    for (const before of this.#byOwner.get(owner) ?? []) {
      const trail = commonTrail(before.trail, before.body, body);
      if (trail && endOf(trail) > endOf(longest.trail)) longest = { owner, trail, before };
    }
    return longest;
  }

  /** In the place of the prompt that it continues. */
  keep({ owner, before }: Beginning, body: Buffer, trail: ScanTrail): void {
    const { bodyBudget, maxBytes, clock } = this.#options;
    const bytes = body.buffer.byteLength + trail.tagged.length * TAGGED_BYTES;
    if (trail.marks.length === 0 || bytes > maxBytes) return;
    this.#remove(before);
    const own = this.#byOwner.get(owner) ?? [];
    if (own.length >= KEPT_PROMPTS.perKey) this.#remove(own[0]);
    for (const oldest of this.#kept) {
      if (this.bytes + bytes <= maxBytes) break;
      this.#remove(oldest);
    }
    if (bodyBudget.reservedBytes + this.bytes + bytes > bodyBudget.maxBytes) return;
    const kept = { owner, body, trail, bytes, until: clock.elapsed() + KEPT_PROMPTS.ms };
    this.#kept.add(kept);
    this.#byOwner.set(owner, [...(this.#byOwner.get(owner) ?? []), kept]);
    this.bytes += bytes;
    this.#waitForOldest();
  }

  drop(): void {
    for (const kept of this.#kept) this.#remove(kept);
  }

  #remove(kept: Kept | undefined): void {
    if (!kept || !this.#kept.delete(kept)) return;
    this.bytes -= kept.bytes;
    const others = (this.#byOwner.get(kept.owner) ?? []).filter((one) => one !== kept);
    if (others.length > 0) this.#byOwner.set(kept.owner, others);
    else this.#byOwner.delete(kept.owner);
  }

  #waitForOldest(): void {
    const [oldest] = this.#kept;
    if (this.#isWaiting || !oldest) return;
    const { clock } = this.#options;
    this.#isWaiting = true;
    clock.after(Math.max(0, oldest.until - clock.elapsed()), () => {
      this.#isWaiting = false;
      for (const kept of this.#kept) {
        if (kept.until > clock.elapsed()) break;
        this.#remove(kept);
      }
      this.#waitForOldest();
    });
  }
}

const endOf = ({ marks }: ScanTrail): number => marks.at(-1)?.at ?? 0;
