/** What this browser keeps for its reader. Storage may be full, or refused. */
const PREFIX = 'dragoman-';

export function readStored<T>(name: string, otherwise: T): T {
  try {
    return (JSON.parse(localStorage.getItem(PREFIX + name) ?? 'null') as T | null) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function writeStored(name: string, value: unknown): void {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // The choice lasts as long as the page.
  }
}
