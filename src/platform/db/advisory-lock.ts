/** The namespace of the project's PostgreSQL advisory locks: "drag" in ASCII. */
export const ADVISORY_LOCK = 0x64726167;
