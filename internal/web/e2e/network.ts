// A proxy to the server that can be cut. Offline browsers keep sockets open and frozen. A cut
// closes them, as a lost network eventually does.

import { connect, createServer, type Server as Listener, type Socket } from 'node:net'

export class Network {
  readonly #upstream: URL
  readonly #open = new Set<Socket>()
  #listener: Listener | undefined
  #port = 0

  private constructor(upstream: string) {
    this.#upstream = new URL(upstream)
  }

  /** Opens a proxy to the server at a URL. */
  static async open(upstream: string): Promise<Network> {
    const network = new Network(upstream)
    await network.restore()
    return network
  }

  /** The proxy's URL. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Closes all connections and refuses new ones. */
  async cut(): Promise<void> {
    const listener = this.#listener
    if (!listener) return
    this.#listener = undefined
    const closed = new Promise((resolve) => listener.close(resolve))
    for (const socket of this.#open) socket.destroy()
    await closed
  }

  /** Accepts connections again at the same address. */
  async restore(): Promise<void> {
    if (this.#listener) return
    const listener = createServer((here) => {
      const there = connect(Number(this.#upstream.port), this.#upstream.hostname)
      for (const [socket, other] of [
        [here, there],
        [there, here],
      ] as const) {
        this.#open.add(socket)
        socket.on('error', () => other.destroy())
        socket.on('close', () => {
          this.#open.delete(socket)
          other.destroy()
        })
      }
      here.pipe(there).pipe(here)
    })
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject)
      listener.listen(this.#port, '127.0.0.1', resolve)
    })
    const address = listener.address()
    if (address !== null && typeof address !== 'string') this.#port = address.port
    this.#listener = listener
  }
}
