// What a spec has besides Playwright: a server, people who look at it, a network that
// can be lost. README.md says how to write one.

import { AxeBuilder } from '@axe-core/playwright'
import {
  expect,
  test as base,
  type Browser,
  type BrowserContext,
  type ConsoleMessage,
  type Page,
} from '@playwright/test'
import { join } from 'node:path'

import { shots, stack } from './env.ts'
import { Network } from './network.ts'
import { Server, type Role } from './server.ts'

export { expect, stack }
export type { Page }
export type { Network } from './network.ts'
export type { Ask, Login, Role, Server, Session } from './server.ts'

/** How somebody looks at Tandian. */
export interface Looks {
  /** 390×844 with touch, or 1280×900. Default: phone. */
  device?: 'phone' | 'desktop'
  /** Default: en-US. */
  locale?: 'en-US' | 'zh-CN'
  /** Default: light. */
  colorScheme?: 'light' | 'dark'
  /** Default: no-preference. */
  reducedMotion?: 'reduce' | 'no-preference'
  /** Where they stand, or null for somebody who does not tell. Default: the demo town's centre. */
  geolocation?: { latitude: number; longitude: number } | null
  /** The zone of their clock. Default: Asia/Shanghai. */
  timezoneId?: string
  /** As whom they are signed in when the page opens: a role's account, or a session. Default: nobody. */
  as?: Role | { token: string; userId: string; device?: string | undefined }
  /** Where they find the server. Default: server.url; `network.url` goes over a way that can be cut. */
  url?: string
}

/** Somebody who looks at Tandian. What goes wrong in any of their pages fails the test at its end. */
export interface Person {
  page: Page
  context: BrowserContext
  /** From here on the network may fail: the test cuts it, kills the server or goes offline. */
  expectNetworkErrors(): void
  /** Lets pass what matches in the browser's console; why is for the reader. */
  expectConsole(pattern: RegExp, why: string): void
  /** Takes what their browser has complained of so far: it does not fail the test any more. */
  complaints(): string[]
}

/** The centre of the demo town. */
export const centre = { latitude: 30.2448, longitude: 120.151 }

interface Fixtures {
  /** Opens a browser for somebody. */
  person: (looks?: Looks) => Promise<Person>
  /** A way to the server that can be cut. */
  network: Network
}

interface WorkerFixtures {
  server: Server
}

export const test = base.extend<Fixtures, WorkerFixtures>({
  server: [
    // oxlint-disable-next-line no-empty-pattern -- Playwright reads the fixture's needs from it
    async ({}, use, worker) => {
      const server = await Server.open(worker.workerIndex)
      await use(server)
      await server.close()
    },
    { scope: 'worker', timeout: 240_000 },
  ],
  network: async ({ server }, use) => {
    const network = await Network.open(server.url)
    await use(network)
    await network.cut()
  },
  person: async ({ browser, server }, use, info) => {
    const watches: Watch[] = []
    await use(async (looks = {}) => {
      const watch = new Watch(`person ${watches.length + 1}`)
      watches.push(watch)
      return open(browser, server, looks, watch)
    })
    await Promise.all(watches.map((watch) => watch.context?.close()))
    const troubles = watches.flatMap((watch) => watch.troubles())
    if (info.status !== info.expectedStatus) {
      const body = server.output.slice(-20_000)
      await info.attach('server', { body, contentType: 'text/plain' })
    }
    expect(troubles, 'what went wrong in the browsers').toEqual([])
  },
})

/** The cookie by which the server knows a device again, as a login sets it. */
function deviceCookies(url: string, value: string | undefined) {
  if (value === undefined) return []
  const { hostname: domain } = new URL(url)
  const rest = { path: '/graphql', expires: -1, httpOnly: true, secure: false } as const
  return [{ name: 'tandian_device', value, domain, sameSite: 'Strict' as const, ...rest }]
}

async function open(browser: Browser, server: Server, looks: Looks, watch: Watch): Promise<Person> {
  const { device = 'phone', geolocation = centre, url = server.url, as } = looks
  const session = typeof as === 'string' ? await server.login(as) : as
  const kept = session && JSON.stringify({ token: session.token, userId: session.userId })
  const localStorage = kept ? [{ name: 'tandian.session', value: kept }] : []
  const context = await browser.newContext({
    baseURL: url,
    locale: looks.locale ?? 'en-US',
    timezoneId: looks.timezoneId ?? 'Asia/Shanghai',
    colorScheme: looks.colorScheme ?? 'light',
    reducedMotion: looks.reducedMotion ?? 'no-preference',
    storageState: {
      cookies: deviceCookies(url, session?.device),
      origins: [{ origin: url, localStorage }],
    },
    ...(device === 'phone'
      ? { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
      : { viewport: { width: 1280, height: 900 } }),
    ...(geolocation ? { geolocation, permissions: ['geolocation'] } : {}),
  })
  await watch.over(context, url)
  return {
    context,
    page: await context.newPage(),
    expectNetworkErrors: () => watch.expectNetworkErrors(),
    expectConsole: (pattern) => watch.expectConsole(pattern),
    complaints: () => watch.take(),
  }
}

interface Trouble {
  text: string
  /** Whether a network that failed explains it. */
  network: boolean
  /** Whether it was in the console, where a test may expect something. */
  console: boolean
}

// How Chromium tells of requests and sockets that fail.
const networkError = /net::ERR_|Failed to load resource|WebSocket connection to|Failed to fetch/

/** Notes what goes wrong in one context. */
class Watch {
  context: BrowserContext | undefined
  readonly #who: string
  readonly #troubles: Trouble[] = []
  readonly #expected: RegExp[] = []
  #network = false

  constructor(who: string) {
    this.#who = who
  }

  async over(context: BrowserContext, url: string): Promise<void> {
    this.context = context
    const { host } = new URL(url)
    const elsewhere = (address: string) => {
      const to = new URL(address)
      return /^(http|ws)s?:$/.test(to.protocol) && to.host !== host
    }
    // The binding is in the page before its first script.
    await context.exposeBinding('tandianViolation', (_, text: string) => {
      this.#note(`content security policy: ${text}`)
    })
    await context.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (e) => {
        const tell = (window as unknown as { tandianViolation(text: string): void })
          .tandianViolation
        tell(`${e.effectiveDirective} refuses ${e.blockedURI} (${e.sourceFile}:${e.lineNumber})`)
      })
    })
    context.on('console', (message) => this.#hear(message))
    context.on('weberror', (e) => {
      const { stack: lines, message } = e.error()
      this.#note(`error in the page: ${lines ?? message}`, networkError.test(message))
    })
    context.on('request', (request) => {
      if (elsewhere(request.url())) this.#note(`asks another host: ${request.url()}`)
    })
    context.on('page', (page) => {
      page.on('websocket', (socket) => {
        if (elsewhere(socket.url())) this.#note(`asks another host: ${socket.url()}`)
      })
    })
  }

  expectNetworkErrors(): void {
    this.#network = true
  }

  expectConsole(pattern: RegExp): void {
    this.#expected.push(pattern)
  }

  troubles(): string[] {
    return this.#troubles
      .filter((t) => !t.console || !this.#expected.some((pattern) => pattern.test(t.text)))
      .map((t) => `${this.#who}: ${t.text}`)
  }

  take(): string[] {
    const taken = this.troubles()
    this.#troubles.length = 0
    return taken
  }

  #hear(message: ConsoleMessage): void {
    if (message.type() !== 'error') return
    const { url, lineNumber } = message.location()
    const text = message.text()
    this.#note(`console: ${text} (${url}:${lineNumber})`, networkError.test(text), true)
  }

  #note(text: string, network = false, console = false): void {
    if (network && this.#network) return
    this.#troubles.push({ text, network, console })
  }
}

/**
 * Fails with a readable list if axe finds anything against WCAG 2.1 A and AA or good
 * practice in the page as it is now. `exclude` are selectors of what is not ours.
 */
export async function a11y(page: Page, exclude: string[] = []): Promise<void> {
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']
  let axe = new AxeBuilder({ page }).withTags(tags)
  for (const selector of exclude) axe = axe.exclude(selector)
  const { violations } = await axe.analyze()
  const list = violations.flatMap(({ id, help, nodes }) =>
    nodes.map((n) => `${id}: ${help}\n  ${n.target.join(' ')}\n  ${n.html}\n  ${n.failureSummary}`),
  )
  // The rest of the test may find more.
  expect.soft(list.join('\n\n'), `axe on ${page.url()}`).toBe('')
}

/** Keeps a picture of the page as results/STACK/NAME.png. */
export async function shot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(shots, `${name}.png`), animations: 'disabled' })
}
