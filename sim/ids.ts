/** Ids come from a counter, never from chance, so that two runs of a test see the same ids. */
export class Ids {
  private count = 0;
  private readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  next(prefix: string): string {
    this.count += 1;
    return `${prefix}${this.name}${String(this.count).padStart(8, '0')}`;
  }
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
