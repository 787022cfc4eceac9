/** Types of parts that hold media, in all dialects, and what each is said to be. What it is called counts only where its bytes do not tell. */

export const MEDIA_TYPES: ReadonlyMap<unknown, 'image' | 'audio' | 'file'> = new Map([
  ...['image', 'image_url', 'input_image', 'computer_screenshot'].map((type) => [type, 'image'] as const),
  ...['input_audio', 'audio_url'].map((type) => [type, 'audio'] as const),
  ...['file', 'input_file', 'document', 'container_upload', 'file_url', 'document_url'].map(
    (type) => [type, 'file'] as const,
  ),
  // Frames or a film, of any length.
  ...['video', 'video_url', 'input_video', 'audio'].map((type) => [type, 'file'] as const),
]);
