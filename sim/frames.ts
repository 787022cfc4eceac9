/** A stream of events before it is framed for the wire. Types only. */

/** One encoded event. */
export interface Frame {
  event?: string;
  data: string;
  /** Carries content: the `*_mid` faults count these. */
  content?: boolean;
  /** Belongs to the end of the stream: a `*_mid` fault that has not happened yet happens now. */
  last?: boolean;
}

export interface Stream {
  frames: Iterable<Frame>;
  /** The frames that report a failure in this dialect; `first` if nothing was sent before. */
  failure: (first: boolean) => Frame[];
}

/** `array`: a JSON array of all events. `frame`: one WebSocket message per event. */
export type Framing = 'sse' | 'array' | 'frame';
