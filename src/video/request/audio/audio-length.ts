/** Seconds between which the playing time of a file lies; equal when the format states it exactly. */
export interface AudioLength {
  readonly min: number;
  readonly max: number;
}
