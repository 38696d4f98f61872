// A server for the tests: the real program on its own port.

import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { binary, data, demoShops, stack } from './env.ts'

export type Role = 'CUSTOMER' | 'MERCHANT' | 'ADMIN'

/** An account with a password. */
export interface Login {
  role: Role
  phone: string
  password: string
  nickname: string
}

/** Sends a GraphQL request. It throws if the response has errors. */
export type Api = <Data = any>(query: string, variables?: object) => Promise<Data>

/** A session and its authenticated client. */
export interface Session {
  token: string
  userId: string
  /** Value of the cookie that identifies the device. */
  device?: string | undefined
  api: Api
}

const startTimeout = 60_000 // ms for one start, including the demo town and its pictures
const password = 'a secret for the browser'

export class Server {
  readonly url: string
  readonly #port: number
  readonly #folder: string
  readonly #sessions = new Map<Role, Promise<Session>>()
  readonly #codesRead = new Map<string, number>()
  #child: ChildProcess | undefined
  #exit: Promise<number | null> | undefined
  #output = ''
  #waiters: (() => void)[] = []
  #logins: Login[] = []
  #shop = ''

  private constructor(port: number, folder: string) {
    this.url = `http://127.0.0.1:${port}`
    this.#port = port
    this.#folder = folder
  }

  /**
   * Starts a server: embedded with the demo town, or on the stores of the run, which it seeds
   * first. `worker` must be unique per run.
   */
  static async open(worker: number): Promise<Server> {
    if (!binary) throw new Error('TANDIAN_E2E_BINARY names no program; see README.md')
    const server = new Server(await freePort(), data ?? (await mkdtemp(join(tmpdir(), 'tandian-'))))
    if (stack === 'embedded') {
      await server.start()
      server.#readLogins()
    } else {
      await server.#seed()
      await server.start()
      await server.#createAccounts(worker)
    }
    server.#shop = await server.#shopOfMerchant()
    return server
  }

  /** One account per role. */
  get logins(): readonly Login[] {
    return this.#logins
  }

  /** The global id of a shop owned by the merchant account. */
  get shop(): string {
    return this.#shop
  }

  /** The server's output so far: terminal and log. */
  get output(): string {
    return this.#output
  }

  /** Returns the account of a role. */
  as(role: Role): Login {
    const login = this.#logins.find((l) => l.role === role)
    if (!login) throw new Error(`there is no account with the role ${role}`)
    return login
  }

  /**
   * Returns the session of a role's account, the same each time. It survives `kill` and `start`.
   */
  login(role: Role): Promise<Session> {
    let session = this.#sessions.get(role)
    if (!session) {
      const { phone, password: secret } = this.as(role)
      session = this.loginWith({ phone, password: secret })
      this.#sessions.set(role, session)
    }
    return session
  }

  /** Starts a new session. */
  async loginWith(input: { phone: string; password?: string; code?: string }): Promise<Session> {
    let device: string | undefined
    const { login } = await this.api(
      undefined,
      undefined,
      (value) => (device = value),
    )(
      `mutation ($input: LoginInput!) { login(input: $input) { token user { id } userErrors { code message } } }`,
      { input },
    )
    if (!login.token) throw new Error(`not logged in: ${JSON.stringify(login.userErrors)}`)
    const { token, user } = login
    return { token, userId: user.id, device, api: this.api(token, device) }
  }

  /** Creates an account by login code. A phone number can request one code per minute. */
  async newUser(phone: string): Promise<Session> {
    return this.loginWith({ phone, code: await this.#newCode(this.api(), phone) })
  }

  async #newCode(api: Api, phone: string): Promise<string> {
    const { sendLoginCode } = await api(
      `mutation ($phone: String!) { sendLoginCode(phone: $phone) { userErrors { code message } } }`,
      { phone },
    )
    if (sendLoginCode.userErrors.length > 0)
      throw new Error(`no code for ${phone}: ${JSON.stringify(sendLoginCode.userErrors)}`)
    return this.code(phone)
  }

  /**
   * Returns a GraphQL client with a token and a device cookie. `onCookie` receives a new cookie's
   * value.
   */
  api(token?: string, device?: string, onCookie?: (value: string | undefined) => void): Api {
    return async (query, variables = {}) => {
      const response = await fetch(`${this.url}/graphql`, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          ...(token ? { Authorization: `Bearer ${token}` } : {}),
          ...(device ? { Cookie: `tandian_device=${device}` } : {}),
        },
        body: JSON.stringify({ query, variables }),
      })
      onCookie?.(/\btandian_device=([^;]+)/.exec(response.headers.get('set-cookie') ?? '')?.[1])
      const text = await response.text()
      let answer
      try {
        answer = JSON.parse(text)
      } catch {
        throw new Error(`/graphql answered ${response.status}: ${text}`)
      }
      if (answer.errors) throw new Error(`${JSON.stringify(answer.errors, null, 2)}\n${query}`)
      return answer.data
    }
  }

  /**
   * Returns the next login code for a phone from the terminal. It waits for a request in progress
   * and returns each code once.
   */
  async code(phone: string): Promise<string> {
    const shown = new RegExp(`login code for \\S*${phone.slice(-4)}: (\\d{6}) `, 'g')
    const read = this.#codesRead.get(phone) ?? 0
    const code = await this.#waitForOutput(`a login code for ${phone}`, (output) => {
      const codes = [...output.matchAll(shown)].map((match) => match[1])
      return codes[read]
    })
    this.#codesRead.set(phone, read + 1)
    return code
  }

  /** Starts the server at the same address with the same data and waits until it is ready. */
  async start(): Promise<void> {
    if (this.#child) throw new Error('the server runs already')
    const child = spawn(binary, ['--data-dir', this.#folder], { env: this.#env(), cwd: tmpdir() })
    const before = this.#output.length
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text
        for (const wake of this.#waiters.splice(0)) wake()
      })
    }
    this.#exit = new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code) => {
        this.#child = undefined
        resolve(code)
        for (const wake of this.#waiters.splice(0)) wake()
      })
    })
    const begin = Date.now()
    while (!(await this.#ready())) {
      if (!this.#child) throw new Error(`the server ended at its start:\n${this.#output}`)
      if (Date.now() - begin > startTimeout)
        throw new Error(`the server is not ready:\n${this.#output}`)
      await pause(50)
    }
    // It is ready slightly before the terminal shows this and the logins.
    await this.#waitForOutput('that it is ready', (output) =>
      output.slice(before).includes('Press Ctrl-C to stop.') ? output : undefined,
    )
    if (stack === 'embedded' && this.#logins.length > 0) this.#readLogins()
  }

  /** Kills the server, like a crash. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#exit
  }

  /** Stops the server gracefully and throws if that fails. */
  async stop(): Promise<void> {
    if (!this.#child) return
    this.#child.kill('SIGTERM')
    const code = await this.#exit
    if (code !== 0) throw new Error(`the server ended with ${code}:\n${this.#output.slice(-4000)}`)
  }

  /** Stops the server and deletes its data. */
  async close(): Promise<void> {
    try {
      await this.stop()
    } finally {
      if (this.#folder !== data) await rm(this.#folder, { recursive: true, force: true })
    }
  }

  /** Runs a subcommand such as `grant` on the server's stores. */
  async command(...args: string[]): Promise<string> {
    const child = spawn(binary, ['--data-dir', this.#folder, ...args], { env: this.#env() })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    }
    const code = await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    if (code !== 0) throw new Error(`tandian ${args.join(' ')} ended with ${code}:\n${output}`)
    return output
  }

  #env(): NodeJS.ProcessEnv {
    return {
      ...process.env,
      TANDIAN_ADDR: `127.0.0.1:${this.#port}`,
      // Orders are answered before they are stored, as under load.
      TANDIAN_ORDER_WAIT: '0',
      // As on embedded stores.
      TANDIAN_FAKE_PAYMENTS: 'true',
      // The accounts on stores are new, and each writes for all tests of a run.
      TANDIAN_NOTES_PER_USER: '0',
      TANDIAN_SHOPS_PER_USER: '0',
      TANDIAN_VOUCHERS_PER_USER: '0',
    }
  }

  async #ready(): Promise<boolean> {
    try {
      return (await fetch(`${this.url}/readyz`)).ok
    } catch {
      return false
    }
  }

  /** Waits until the output contains a match. */
  async #waitForOutput(
    what: string,
    find: (output: string) => string | undefined,
  ): Promise<string> {
    const until = AbortSignal.timeout(15_000)
    for (;;) {
      const found = find(this.#output)
      if (found !== undefined) return found
      if (until.aborted || !this.#child) {
        throw new Error(`the terminal does not show ${what}:\n${this.#output.slice(-4000)}`)
      }
      await new Promise<void>((resolve) => {
        this.#waiters.push(resolve)
        until.addEventListener('abort', () => resolve(), { once: true })
      })
    }
  }

  /** Reads the demo logins from the terminal. They change at each start, so the last ones count. */
  #readLogins(): void {
    const lines = [
      ...this.#output.matchAll(/^ +(customer|merchant|admin) +phone (\S+) +password (\S+)$/gm),
    ]
    if (lines.length < 3) throw new Error(`the terminal shows no logins:\n${this.#output}`)
    this.#logins = lines.slice(-3).map(([, role, phone, secret]) => ({
      role: role!.toUpperCase() as Role,
      phone: phone!,
      password: secret!,
      nickname: `Demo ${role}`,
    }))
  }

  /** Seeds empty stores like the demo town: its shops, more shops, and what users do. */
  async #seed(): Promise<void> {
    await this.command('import', demoShops)
    const sizes =
      '--users 30 --shops 120 --notes 120 --follows 120 --check-ins 10 --visits 300 --ratings 900 --saves 200'
    await this.command('seed', ...sizes.split(' '))
  }

  /**
   * Creates an account per role. The merchant creates a shop, and the customer follows three
   * authors.
   */
  async #createAccounts(worker: number): Promise<void> {
    const roles: Role[] = ['ADMIN', 'MERCHANT', 'CUSTOMER']
    for (const [i, role] of roles.entries()) {
      const phone = `+9990090${String(worker).padStart(3, '0')}${i + 1}`
      const nickname = `Demo ${role.toLowerCase()}`
      const { api } = await this.newUser(phone)
      const code = await this.#newCode(api, phone)
      const { setPassword } = await api(
        `mutation ($password: String!, $code: String!, $nickname: String!) {
          setPassword(password: $password, code: $code) { userErrors { message } }
          updateProfile(input: {nickname: $nickname}) { userErrors { message } }
        }`,
        { password, code, nickname },
      )
      if (setPassword.userErrors.length > 0)
        throw new Error(`no password for ${phone}: ${JSON.stringify(setPassword.userErrors)}`)
      if (role !== 'CUSTOMER') await this.command('grant', phone, role)
      this.#logins.push({ role, phone, password, nickname })
    }
    const { api } = await this.login('CUSTOMER')
    const { hotNotes } = await api(`{ hotNotes(first: 20) { edges { node { author { id } } } } }`)
    const authors = new Set<string>(hotNotes.edges.map((e: any) => e.node.author.id))
    for (const userId of [...authors].slice(0, 3)) {
      await api(`mutation ($userId: ID!) { follow(userId: $userId) { userErrors { message } } }`, {
        userId,
      })
    }
  }

  async #shopOfMerchant(): Promise<string> {
    const { api } = await this.login('MERCHANT')
    const { me } = await api(`{ me { shops(first: 1) { edges { node { id } } } } }`)
    const own = me.shops.edges[0]?.node.id
    if (own) return own
    const { shopTypes } = await api(`{ shopTypes { id } }`)
    const { createShop } = await api(
      `mutation ($input: CreateShopInput!) { createShop(input: $input) { shop { id } userErrors { message } } }`,
      {
        input: {
          name: '桥头小馆 Bridge End Kitchen',
          typeId: shopTypes[0].id,
          area: 'Old Bell 古钟',
          address: '1 Bridge Street 桥街1号',
          location: { lat: 30.2449, lng: 120.1511 },
          avgPrice: 4800,
          openHours: '09:00-22:00',
        },
      },
    )
    if (!createShop.shop) throw new Error(`no shop: ${JSON.stringify(createShop.userErrors)}`)
    return createShop.shop.id
  }
}

/** Returns a free port on the loopback interface. */
async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve, reject) => {
    listener.once('listening', resolve)
    listener.once('error', reject)
  })
  const address = listener.address()
  await new Promise((resolve) => listener.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** Delay between polls. */
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
