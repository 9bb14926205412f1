// What the library of older TypeScript compilers does not have.

declare global {
  class DecompressionStream {
    constructor(format: "gzip");
    readonly readable: ReadableStream<Uint8Array>;
    readonly writable: WritableStream<Uint8Array>;
  }
}

export {};
