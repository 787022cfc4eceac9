/** A stream of events before it is framed for the wire. Types only. */

/** A text, or its pieces in order. Pictures are buffers, which responses share instead of copying them. */
export type Body = string | readonly (string | Buffer)[];

/** One encoded event. */
export interface Frame {
  event?: string;
  data: Body;
  /** Carries content: the `*_mid` faults count these. */
  content?: boolean;
  /** Belongs to the end of the stream: a `*_mid` fault that has not happened yet happens now. */
  last?: boolean;
}

export interface Stream {
  frames: Iterable<Frame> | AsyncIterable<Frame>;
  /** The frames that report a failure in this dialect; `first` if nothing was sent before. */
  failure: (first: boolean) => Frame[];
}

/** `array`: a JSON array of all events. `frame`: one WebSocket message per event. `aws`: the binary frames of AWS. */
export type Framing = 'sse' | 'array' | 'frame' | 'aws';
