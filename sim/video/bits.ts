/** A writer of single bits and Exp-Golomb codes, most significant bit first. */
export class BitWriter {
  #bytes = Buffer.alloc(1024);
  #length = 0;
  #current = 0;
  #filled = 0;

  /** Writes the lowest `count` bits of `value`; `count` is at most 31. */
  bits(value: number, count: number): void {
    for (let bit = count - 1; bit >= 0; bit--) {
      this.#current = (this.#current << 1) | ((value >> bit) & 1);
      this.#filled += 1;
      if (this.#filled === 8) this.#flush();
    }
  }

  flag(value: boolean): void {
    this.bits(value ? 1 : 0, 1);
  }

  /** Unsigned Exp-Golomb, `ue(v)` in the H.264 specification. */
  unsigned(value: number): void {
    const length = 32 - Math.clz32(value + 1);
    this.bits(0, length - 1);
    this.bits(value + 1, length);
  }

  /** Pads with zeros to the next whole byte; writes nothing at a byte boundary. */
  align(): void {
    while (this.#filled > 0) this.bits(0, 1);
  }

  /** Appends whole bytes; the position must be aligned. */
  append(bytes: Uint8Array): void {
    for (const byte of bytes) this.bits(byte, 8);
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #flush(): void {
    if (this.#length === this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#length)]);
    this.#bytes[this.#length] = this.#current;
    this.#length += 1;
    this.#current = 0;
    this.#filled = 0;
  }
}
