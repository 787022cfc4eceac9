/** What a chart shows. */

export interface Series {
  readonly label: string;
  /** Undefined breaks the line. */
  readonly values: readonly (number | undefined)[];
  readonly color: 1 | 2 | 3 | 4;
  readonly dash?: boolean;
}

export interface ChartProps {
  readonly title: string;
  /** ISO times. */
  readonly times: readonly string[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** Tints the gap of the first two series; hatched where the second one is higher. */
  readonly isGapTinted?: boolean;
}
